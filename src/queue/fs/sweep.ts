import type { Stats } from "node:fs";
import type { SweepReport } from "../store.ts";
import { readerFor } from "./claims/claim.ts";
import { sweepNotes } from "./claims/process-notes.ts";
import { restoreWorkers } from "./claims/register.ts";
import { Afterwards } from "./ends/afterwards.ts";
import { finishPublish } from "./enqueue/publish.ts";
import { namesIn, statIfThere, translate } from "./files/atomic.ts";
import type { FsRun } from "./fs-run.ts";
import { adopt } from "./lanes/adopt.ts";
import { ANY } from "./lanes/lane-reader.ts";
import { isProjectionDue, project } from "./record/project.ts";
import { recoverInTurn } from "./record/recover.ts";
import { promoteDue, promoteMet, wakeWaiting, wakeWaitingIfDue } from "./waiting/promote.ts";

/** A temporary file of this age is not being written any more; the clock may have been set back. */
export function isStaleTemporary({ ctimeMs }: Stats): boolean {
  return Math.abs(Date.now() - ctimeMs) >= 10_000;
}

/**
 * Catches up on changes without a notification: dependencies that a foreign worker finished, times
 * that came, publications that a crash cut short, foreign tasks, orphaned processes.
 */
export async function sweepRun(
  run: FsRun,
  options: { thorough?: boolean } = {},
): Promise<SweepReport> {
  try {
    await recoverInTurn(run);
    restoreWorkers(run);
    const recovered = finishPublications(run);
    await sweepNotes(run);
    await run.hooks?.onSweep(run);
    let promoted = promoteDue(run, true) + promoteMet(run);
    promoted += options.thorough ? wakeWaiting(run) : wakeWaitingIfDue(run);
    const adopted = adopt(run, readerFor(run, ANY));
    const after = new Afterwards();
    await after.tryAsync(
      "completed_tasks in status.json is not up to date; viv doctor --fix updates it",
      async () => {
        if (isProjectionDue(run)) await project(run, 2);
      },
    );
    return { promoted, adopted, recovered, ...after.result };
  } catch (error) {
    throw translate(error, "sweeping");
  }
}

function finishPublications(run: FsRun): number {
  let finished = 0;
  for (const name of namesIn(run.paths.tmp)) {
    const tilde = name.lastIndexOf("~");
    const stats = tilde > 0 ? statIfThere(`${run.paths.tmp}/${name}`) : undefined;
    if (!stats || !isStaleTemporary(stats)) continue;
    if (finishPublish(run, name.slice(0, tilde), name)) finished++;
  }
  return finished;
}
