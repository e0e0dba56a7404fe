import { isVivError } from "../../../base/errors.ts";
import { isName } from "../../../base/names.ts";
import { MAX_TASK_BYTES, type Task } from "../../task.ts";
import { parseIn, reserveAgain } from "../enqueue/task-file.ts";
import { namesIn, readRegular, statIfThere } from "../files/atomic.ts";
import { quarantine } from "../files/quarantine.ts";
import { adopt } from "../lanes/adopt.ts";
import { ANY, LaneReader } from "../lanes/lane-reader.ts";
import { below, fileOf, idOfLink, quarantinedOf } from "../layout.ts";
import { locate } from "../locate.ts";
import { dependentsOf, findCycle } from "../waiting/dependents.ts";
import { hasDue } from "../waiting/due.ts";
import { readyAt, unmetOf, wake } from "../waiting/promote.ts";
import type { Examination } from "./doctor.ts";
import type { Places } from "./places.ts";

/** What is derived, against what is there. */
export async function checkIndexes(
  examination: Examination,
  places: Places,
  ours: ReadonlySet<string>,
): Promise<void> {
  await checkIds(examination, places, ours);
  await checkLanes(examination, places);
  await checkWaiting(examination, places);
  await checkVanished(examination, places);
}

/** A task that only foreigners ever touched has no entry, and needs none. */
async function checkIds(
  { run, find }: Examination,
  places: Places,
  ours: ReadonlySet<string>,
): Promise<void> {
  const known = new Set(namesIn(run.paths.ids).map((name) => idOfLink(run.paths, name)));
  const missing = [...places].filter(([id]) => !known.has(id) && ours.has(id));
  if (missing.length === 0) return;
  await find(
    {
      code: "missing_index",
      path: ".viv/ids",
      message: `${count(missing.length, "task")} not registered there, the first is ${missing[0]?.[0]}`,
      repair: "register them",
    },
    () => {
      for (const [id, [place]] of missing) {
        if (place) reserveAgain(run, id, place);
      }
      return true;
    },
  );
}

async function checkLanes({ run, find }: Examination, places: Places): Promise<void> {
  const reader = new LaneReader(run, ANY);
  try {
    const known = new Set(reader.ahead());
    const missing = [...places].filter(
      ([id, seen]) => seen[0]?.state === "pending" && !known.has(id) && isOffered(run, id),
    );
    if (missing.length === 0) return;
    await find(
      {
        code: "missing_index",
        path: ".viv/lanes",
        message: `${count(missing.length, "pending task")} on no lane, the first is ${missing[0]?.[0]}`,
        repair: "put them on their lanes",
      },
      () => adopt(run, reader) > 0,
    );
  } finally {
    reader.close();
  }
}

/** A foreign task with open dependencies rests in pending/ without a line: that is in order. */
function isOffered(run: Examination["run"], id: string): boolean {
  const task = read(run, fileOf(run.paths, "pending", id), id);
  return task !== null && unmetOf(run, task).length === 0;
}

function read(run: Examination["run"], path: string, id: string): Task | null {
  try {
    const file = readRegular(path, MAX_TASK_BYTES);
    return file && parseIn(run, file, id);
  } catch (error) {
    if (!isVivError(error)) throw error;
    return null; // reported as unreadable already
  }
}

async function checkWaiting({ run, find }: Examination, places: Places): Promise<void> {
  const now = run.machine.clock.now();
  for (const [id, seen] of places) {
    if (seen[0]?.state !== "waiting") continue;
    const task = read(run, seen[0].path, id);
    if (task === null) continue;
    const unmet = unmetOf(run, task);
    const at = readyAt(run, task);
    const isThere = () => statIfThere(seen[0]?.path ?? "") !== undefined;
    if (unmet.length === 0 && at <= now) {
      await find(
        {
          code: "stuck_waiting",
          path: below(run.paths, seen[0].path),
          message: "nothing holds it back, but it was not promoted",
          repair: "promote it",
        },
        () => wake(run, id) || !isThere(),
      );
      continue;
    }
    const cycle = findCycle(run, task, false);
    if (cycle) {
      await find({
        code: "dependency_cycle",
        path: below(run.paths, seen[0].path),
        message: `it waits for itself: ${cycle.join(" → ")}`,
        repair: `none by itself; break it with: viv cancel ${cycle.at(-2)}`,
      });
    }
    const unnoted = unmet.filter((dependency) => !dependentsOf(run, dependency).includes(id));
    const untimed = unmet.length === 0 && at > now && !hasDue(run, id, at);
    if (unnoted.length > 0 || untimed) {
      await find(
        {
          code: "missing_index",
          path: untimed ? ".viv/due" : ".viv/dependents",
          message: untimed
            ? `nothing would wake ${id} at its time`
            : `nothing would wake ${id} when ${unnoted.join(", ")} is done`,
          repair: "note it again",
        },
        () => {
          wake(run, id);
          return true;
        },
      );
    }
  }
}

async function checkVanished({ run, find }: Examination, places: Places): Promise<void> {
  for (const name of namesIn(run.paths.ids)) {
    const id = idOfLink(run.paths, name);
    if (id === null || !isName(id) || places.has(id)) continue;
    if (statIfThere(quarantinedOf(run.paths, id)) || locate(run, id) !== null) continue;
    if (namesIn(run.paths.tmp).some((tmp) => tmp.startsWith(`${id}~`))) continue;
    const link = `${run.paths.ids}/${name}`;
    const answer = run.hooks
      ? run.hooks.vanished(run, id)
      : {
          repair: "move the copy to quarantine/, which frees the id",
          fix: () => quarantine(run, link, "its file was removed from every state"),
        };
    if (answer === null) continue;
    await find(
      {
        code: "vanished",
        path: `.viv/ids/${name}`,
        message: `${id} was enqueued, but its file is in no state any more (removed by hand?)`,
        repair: answer.repair,
      },
      answer.fix,
    );
  }
}

function count(n: number, what: string): string {
  return n === 1 ? `1 ${what} is` : `${n} ${what}s are`;
}
