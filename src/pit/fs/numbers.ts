import { closeSync } from "node:fs";
import { unlessTaken } from "../../base/errno.ts";
import { claimedTasks } from "../../queue/fs/claims/claimed.ts";
import {
  namesIn,
  openNew,
  overwrite,
  readDerived,
  translate,
} from "../../queue/fs/files/atomic.ts";
import type { FsRun } from "../../queue/fs/fs-run.ts";
import type { TaskSpec } from "../../queue/spec.ts";
import { TASK_STATES } from "../../queue/states.ts";
import { foodId, numberOf, resultIdOf, slugOf } from "../food-names.ts";

/**
 * `.viv/numbers/<n>`: a file for each number in use, made exclusively, so that concurrent tosses get
 * different numbers. The last one is only a hint; if it is lost, the whole pit is searched.
 */
const HINT = ".last";

export function newFoodId(run: FsRun, spec: TaskSpec): string {
  const task = spec.payload?.task;
  try {
    return foodId(takeNumber(run), slugOf(typeof task === "string" ? task : spec.type));
  } catch (error) {
    throw translate(error, "taking the next number for a food");
  }
}

/** The highest number that is known to be taken. */
const lastNumber = new WeakMap<FsRun, number>();

function takeNumber(run: FsRun): number {
  let number =
    lastNumber.get(run) ?? Math.max(hintOf(run) ?? highest(run, true), highest(run, false));
  for (;;) {
    lastNumber.set(run, ++number);
    if (!reserveNumber(run, number)) continue;
    overwrite(`${run.paths.viv}/numbers/${HINT}`, String(number));
    return number;
  }
}

/** False when it is taken. */
export function reserveNumber(run: FsRun, number: number): boolean {
  return unlessTaken(() => closeSync(openNew(`${run.paths.viv}/numbers/${number}`)));
}

function hintOf(run: FsRun): number | null {
  const text = readDerived(`${run.paths.viv}/numbers/${HINT}`, 64)?.text ?? "";
  return /^\d+$/.test(text) ? Number(text) : null;
}

/**
 * The highest number in use. Food that we have seen has its file in numbers/; newer food lies in
 * food/ or claimed/.
 */
function highest(run: FsRun, everywhere: boolean): number {
  const { layout, state } = run.paths;
  let most = 0;
  const see = (id: string | null) => {
    const number = id === null ? null : numberOf(id);
    if (number !== null && Number.isSafeInteger(number) && number > most) most = number;
  };
  for (const { id } of claimedTasks(run.paths)) see(id);
  const states = everywhere
    ? TASK_STATES.filter((name) => name !== "claimed")
    : ["pending" as const];
  for (const name of states) for (const file of namesIn(state[name])) see(layout.idOf(name, file));
  // The number of a result is taken, even if its food is unknown.
  if (everywhere) for (const file of namesIn(state.done)) see(resultIdOf(file));
  if (everywhere) for (const name of namesIn(`${run.paths.viv}/numbers`)) see(`food-${name}`);
  return most;
}
