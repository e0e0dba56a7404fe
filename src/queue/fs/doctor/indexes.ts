import { isName } from "../../../base/names.ts";
import { counted } from "../../../base/text.ts";
import { reserveAgain } from "../enqueue/task-file.ts";
import { namesIn, statIfThere } from "../files/atomic.ts";
import { type FsRun, quarantine } from "../fs-run.ts";
import { adopt } from "../lanes/adopt.ts";
import { ANY, LaneReader } from "../lanes/lane-reader.ts";
import { below, fileOf, idOfLink, quarantinedOf } from "../layout.ts";
import { locate } from "../locate.ts";
import { readTaskAt } from "../read.ts";
import { digestLedgerInSlices, missingAttempts, restoreHistory } from "../record/attempts.ts";
import { dependentsOf, findCycle } from "../waiting/dependents.ts";
import { hasDue } from "../waiting/due.ts";
import { readyAt, unmetOf, wake } from "../waiting/promote.ts";
import type { Examination } from "./examination.ts";
import type { Places } from "./places.ts";

/** Derived files, against the tasks and the ledger. */
export async function checkIndexes(examination: Examination, places: Places): Promise<void> {
  const ours = await checkLedger(examination);
  await checkIds(examination, places, ours);
  await checkLanes(examination, places);
  await checkWaiting(examination, places);
  await checkVanished(examination, places);
}

/** The attempt log is a digest of the ledger. Returns the ids that were enqueued by us. */
async function checkLedger({ run, checked, find }: Examination): Promise<Set<string>> {
  const { histories, ours, torn, lines } = await digestLedgerInSlices(run);
  if (lines > 0) checked.ledger = lines;
  for (const [file, count] of torn) {
    await find({
      code: "torn_line",
      path: `ledger/${file}`,
      message: `${counted(count, "unreadable line")}, as a full disk or a power loss leaves them`,
      repair: "none needed: readers pass over them",
    });
  }
  const { verifyLedger } = await import("../../../ledger/verify.ts");
  for (const { file, problem } of verifyLedger(run.paths.ledger, { quick: true }).problems) {
    await find({
      code: "changed_record",
      path: below(run.paths, `${run.paths.ledger}/${file}`),
      message: `a file of the ledger: it ${problem}`,
      repair: "none: put the file back from a backup; viv ledger verify looks at every line",
    });
  }
  for (const [id, history] of histories) {
    const missing = missingAttempts(run, id, history);
    if (missing === 0) continue;
    await find(
      {
        code: "missing_index",
        path: `.viv/attempts/${id}.jsonl`,
        message: `ended attempts in the ledger only: ${missing}`,
        repair: "copy from the ledger",
      },
      () => {
        restoreHistory(run, id, history);
        return true;
      },
    );
  }
  return ours;
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
  const message = `${count(missing.length, "task")} not registered there, the first is ${missing[0]?.[0]}`;
  await find({ code: "missing_index", path: ".viv/ids", message, repair: "register them" }, () => {
    for (const [id, [place]] of missing) if (place) reserveAgain(run, id, place);
    return true;
  });
}

async function checkLanes({ run, find }: Examination, places: Places): Promise<void> {
  const reader = new LaneReader(run, ANY);
  try {
    const known = new Set(reader.ahead());
    const missing = [...places].filter(
      ([id, seen]) => seen[0]?.state === "pending" && !known.has(id) && isOffered(run, id),
    );
    if (missing.length === 0) return;
    const message = `${count(missing.length, "pending task")} on no lane, the first is ${missing[0]?.[0]}`;
    const repair = "put them on their lanes";
    await find(
      { code: "missing_index", path: ".viv/lanes", message, repair },
      () => adopt(run, reader) > 0,
    );
  } finally {
    reader.close();
  }
}

/** A foreign task with open dependencies rests in pending/ without a line: that is in order. */
function isOffered(run: FsRun, id: string): boolean {
  const { task } = readTaskAt(run, fileOf(run.paths, "pending", id), id);
  return task !== null && unmetOf(run, task).length === 0;
}

async function checkWaiting({ run, find }: Examination, places: Places): Promise<void> {
  const now = run.machine.clock.now();
  for (const [id, [place]] of places) {
    if (place?.state !== "waiting") continue;
    const { task } = readTaskAt(run, place.path, id);
    if (task === null) continue; // reported as unreadable already
    const path = below(run.paths, place.path);
    const unmet = unmetOf(run, task);
    const at = readyAt(run, task);
    if (unmet.length === 0 && at <= now) {
      const message = "nothing holds it back, but it was not promoted";
      await find(
        { code: "stuck_waiting", path, message, repair: "promote it" },
        () => wake(run, id) || statIfThere(place.path) === undefined,
      );
      continue;
    }
    const cycle = findCycle(run, task, false);
    if (cycle) {
      await find({
        code: "dependency_cycle",
        path,
        message: `it waits for itself: ${cycle.join(" → ")}`,
        repair: `none by itself; break it with: viv cancel ${cycle.at(-2)}`,
      });
    }
    // One note is enough: whichever wakes the task notes it anew if something holds it back still.
    if (at > now && hasDue(run, id, at)) continue;
    if (unmet.some((dependency) => dependentsOf(run, dependency).includes(id))) continue;
    const untimed = unmet.length === 0;
    await find(
      {
        code: "missing_index",
        path: untimed ? ".viv/due" : ".viv/dependents",
        message: untimed
          ? `nothing would wake ${id} at its time`
          : `nothing would wake ${id} when ${unmet.join(", ")} is done`,
        repair: "note it again",
      },
      () => {
        wake(run, id);
        return true;
      },
    );
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
  return `${counted(n, what)} ${n === 1 ? "is" : "are"}`;
}
