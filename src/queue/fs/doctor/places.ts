import { isVivError } from "../../../base/errors.ts";
import { isListedName, isName } from "../../../base/names.ts";
import { TASK_STATES, type TaskState } from "../../states.ts";
import { MAX_TASK_BYTES } from "../../task.ts";
import { parseIn } from "../enqueue/task-file.ts";
import { namesIn, readRegular, statIfThere } from "../files/atomic.ts";
import { quarantine } from "../files/quarantine.ts";
import { below, type Layout } from "../layout.ts";
import type { Examination } from "./doctor.ts";

/** Where each task was seen, by path below the run. */
export type Places = Map<string, { state: TaskState; path: string }[]>;

/** If a task is in two states, the one further on is true, and failed only if nothing else is. */
const KEEP_FIRST: TaskState[] = ["done", "review", "claimed", "pending", "waiting", "failed"];
const GRACE_MS = 5_000;

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
          await reportForeign(examination, path, "only workers' folders belong in claimed/");
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
    if (name.startsWith(".")) continue; // heartbeats, and temporary files (checked elsewhere)
    const path = `${folder}/${name}`;
    const id = idOf(examination.run.paths.layout, state, name);
    if (id === "no task, but in order") continue;
    examination.checked[state] = (examination.checked[state] ?? 0) + 1;
    if (id === null || !isName(id)) {
      const stats = statIfThere(path);
      const isYoung = stats !== undefined && Date.now() - stats.mtimeMs < GRACE_MS;
      if (!isYoung) await reportForeign(examination, path, "its name is not that of a task file");
      continue;
    }
    const problem = problemWith(examination.run, path, id);
    if (problem === "gone" || problem === "unripe") continue;
    if (problem === null) {
      places.set(id, [...(places.get(id) ?? []), { state, path }]);
      continue;
    }
    const where = below(examination.run.paths, path);
    await examination.find(
      { code: "unreadable", path: where, message: problem, repair: "move it to quarantine/" },
      () => quarantine(examination.run, path, problem),
    );
  }
}

/** A pit keeps results beside what is done, and may explain itself in food/. */
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

async function reportForeign(examination: Examination, path: string, why: string): Promise<void> {
  await examination.find(
    {
      code: "foreign_file",
      path: below(examination.run.paths, path),
      message: why,
      repair: "move it to quarantine/",
    },
    () => quarantine(examination.run, path, why),
  );
}

async function checkTwoStates(
  examination: Examination,
  id: string,
  seen: { state: TaskState; path: string }[],
): Promise<{ state: TaskState; path: string }[]> {
  // Tasks move while we look: only what is in both places now is in two.
  const present = () => {
    const found = seen.map((place) => ({ ...place, ino: statIfThere(place.path)?.ino }));
    return found.filter((place) => place.ino !== undefined);
  };
  let there = present();
  // The same file in two places may be one that moved between two looks: look again.
  if (new Set(there.map(({ ino }) => ino)).size < there.length) there = present();
  if (there.length < 2) return there;
  there.sort((a, b) => KEEP_FIRST.indexOf(a.state) - KEEP_FIRST.indexOf(b.state));
  const [kept, ...others] = there;
  for (const other of others) {
    const message = `${id} is ${other.state} here and ${kept?.state} in ${below(examination.run.paths, kept?.path ?? "")}`;
    await examination.find(
      {
        code: "two_states",
        path: below(examination.run.paths, other.path),
        message,
        repair: `keep the ${kept?.state} one, move this one to quarantine/`,
      },
      () => quarantine(examination.run, other.path, message, other.ino),
    );
  }
  return there;
}
