import { isVivError } from "../../../base/errors.ts";
import { isListedName, isName } from "../../../base/names.ts";
import { TASK_STATES, type TaskState } from "../../states.ts";
import { MAX_TASK_BYTES } from "../../task.ts";
import { isAnotherTask, isEnded, noteForeignRound } from "../enqueue/rounds.ts";
import { parseIn } from "../enqueue/task-file.ts";
import { namesIn, readRegular, statIfThere } from "../files/atomic.ts";
import { quarantine } from "../fs-run.ts";
import { below, type Layout } from "../layout.ts";
import type { Place } from "../locate.ts";
import type { Examination } from "./examination.ts";

/** Where each task was seen. */
export type Places = Map<string, Place[]>;

/** Of a task in two states, the one further on is kept, and failed only if there is no other. */
const KEEP_FIRST: TaskState[] = ["done", "review", "claimed", "pending", "waiting", "failed"];
const GRACE_MS = 5_000;
const ONLY_WORKERS = "only workers' folders belong in claimed/";
const NO_TASK_NAME = "its name is not that of a task file";

export async function checkPlaces(examination: Examination): Promise<Places> {
  const { run } = examination;
  const places: Places = new Map();
  for (const state of TASK_STATES) {
    const folder = run.paths.state[state];
    if (state === "claimed" && !run.paths.layout.isFlat) {
      for (const worker of namesIn(folder)) {
        const path = `${folder}/${worker}`;
        if (isListedName(worker) && statIfThere(path)?.isDirectory()) {
          await checkFolder(examination, places, state, path);
        } else if (worker !== ".lock") {
          await examination.findMisplaced("foreign_file", path, ONLY_WORKERS);
        }
      }
    } else await checkFolder(examination, places, state, folder);
  }
  for (const [id, seen] of places) {
    if (seen.length > 1) places.set(id, await checkTwoStates(examination, id, seen));
  }
  return places;
}

async function checkFolder(
  examination: Examination,
  places: Places,
  state: TaskState,
  folder: string,
): Promise<void> {
  for (const name of namesIn(folder)) {
    await examination.rest();
    if (name.startsWith(".")) continue; // heartbeats, and temporary files (checked elsewhere)
    const path = `${folder}/${name}`;
    const id = idOf(examination.run.paths.layout, state, name);
    if (id === "no task, but in order") continue;
    examination.checked[state] = (examination.checked[state] ?? 0) + 1;
    if (id === null || !isName(id)) {
      const stats = statIfThere(path);
      const isYoung = stats !== undefined && Date.now() - stats.mtimeMs < GRACE_MS;
      if (!isYoung) await examination.findMisplaced("foreign_file", path, NO_TASK_NAME);
      continue;
    }
    const problem = problemWith(examination.run, path, id);
    if (problem === "gone" || problem === "unripe") continue;
    if (problem === null) places.set(id, [...(places.get(id) ?? []), { state, path }]);
    else await examination.findMisplaced("unreadable", path, problem);
  }
}

/** A pit keeps results in done/ and may have a readme in food/. */
function idOf(layout: Layout, state: TaskState, name: string): string | null {
  if (layout.isFlat && state === "claimed") return layout.splitClaim(name)?.id ?? null;
  const id = layout.idOf(state, name);
  return id === null && layout.isBeside(state, name) ? "no task, but in order" : id;
}

function problemWith(run: Examination["run"], path: string, id: string): string | null {
  try {
    const file = readRegular(path, MAX_TASK_BYTES);
    if (file === null) return "gone";
    try {
      parseIn(run, file, id);
      return null;
    } catch (error) {
      if (Date.now() - file.stats.mtimeMs < GRACE_MS) return "unripe";
      throw error;
    }
  } catch (error) {
    if (!isVivError(error)) throw error;
    return error.message;
  }
}

async function checkTwoStates(
  { run, find }: Examination,
  id: string,
  seen: readonly Place[],
): Promise<Place[]> {
  // Tasks move meanwhile: only a task that is in both places now is in two.
  const present = () => {
    const found = seen.map((place) => ({ ...place, ino: statIfThere(place.path)?.ino }));
    return found.filter((place) => place.ino !== undefined);
  };
  let there = present();
  // The same file in two places may have moved between two looks: look again.
  if (new Set(there.map(({ ino }) => ino)).size < there.length) there = present();
  there.sort((a, b) => KEEP_FIRST.indexOf(a.state) - KEEP_FIRST.indexOf(b.state));
  const open = there.find((place) => !isEnded(place));
  const ended = there.find(isEnded);
  if (
    !run.paths.layout.isFlat &&
    there.length === 2 &&
    open &&
    ended &&
    isAnotherTask(ended, open)
  ) {
    const message = `${id} is ${ended.state} here, and was enqueued again: ${below(run.paths, open.path)}`;
    const repair = `keep both: this one becomes an earlier round, in artifacts/${id}.rounds/`;
    const path = below(run.paths, ended.path);
    await find({ code: "two_states", path, message, repair }, () =>
      noteForeignRound(run, id, open),
    );
    return [open];
  }
  const [kept, ...others] = there;
  for (const { state, path, ino } of others) {
    const keptAt = below(run.paths, kept?.path ?? "");
    const message = `${id} is ${state} here and ${kept?.state} in ${keptAt}`;
    const repair = `keep the ${kept?.state} one, move this one to quarantine/`;
    await find({ code: "two_states", path: below(run.paths, path), message, repair }, () =>
      quarantine(run, path, message, ino),
    );
  }
  return there;
}
