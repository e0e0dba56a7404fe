import { isVivError } from "../../../base/errors.ts";
import { isName } from "../../../base/names.ts";
import type { RunStatus } from "../../store.ts";
import { namesIn } from "../files/atomic.ts";
import { type FsRun, quarantine } from "../fs-run.ts";
import { locate } from "../locate.ts";
import { notProjectedYet, project } from "../record/project.ts";
import {
  createStatus,
  readStatusFile,
  withStatusLock,
  writeStatusFile,
} from "../record/status-file.ts";
import type { Examination } from "./examination.ts";

/** completed_tasks must list the tasks in done/, and none that lies elsewhere. */
export async function checkCompletedTasks({ run, fix, find }: Examination): Promise<void> {
  let status: RunStatus | null;
  try {
    if (fix) await project(run);
    status = readStatusFile(run.paths);
  } catch (error) {
    if (!isVivError(error, "CORRUPT")) throw error;
    await find(
      {
        code: "unreadable",
        path: "status.json",
        message: error.message,
        repair: "move it to quarantine/ and write it anew from done/",
      },
      async () => {
        quarantine(run, run.paths.status, error.message);
        createStatus(run, run.runId);
        await project(run); // tasks on their way are no drift
        await repairDrift(run);
        return true;
      },
    );
    return;
  }
  if (status === null) return;
  const { missing, wrong } = driftOf(run);
  const report = (problem: string, ids: readonly string[], repair: string) => {
    const message = `completed_tasks ${problem}, the first is ${ids[0]}`;
    return find({ code: "status_drift", path: "status.json", message, repair }, () =>
      repairDrift(run),
    );
  };
  if (missing.length > 0) await report(`lacks ${missing.length} of done/`, missing, "add them");
  if (wrong.length > 0) await report(`lists ${wrong.length} not in done/`, wrong, "take them off");
}

/**
 * In this order, because workers go on meanwhile: a task in done/ is then either still on its way,
 * or has been carried over by the time the list is read.
 */
function driftOf(run: FsRun): { missing: string[]; wrong: string[] } {
  const { layout, state } = run.paths;
  const ids = namesIn(state.done).map((name) => layout.idOf("done", name));
  const done = new Set(ids.filter(isName));
  const onTheWay = new Set(notProjectedYet(run));
  const listed = new Set(readStatusFile(run.paths)?.checkpoint.completed_tasks ?? []);
  const missing = [...done].filter((id) => !listed.has(id) && !onTheWay.has(id));
  // A listed task in no state may be the work of another tool: its entry counts (SPEC §9).
  const wrong = [...listed].filter((id) => isName(id) && !done.has(id) && isElsewhere(run, id));
  return { missing, wrong };
}

function isElsewhere(run: FsRun, id: string): boolean {
  const place = locate(run, id);
  return place !== null && place.state !== "done";
}

function repairDrift(run: FsRun): Promise<boolean> {
  return withStatusLock(run, () => {
    const status = readStatusFile(run.paths);
    if (status === null) return false;
    const { missing, wrong } = driftOf(run);
    const off = new Set(wrong);
    const kept = status.checkpoint.completed_tasks.filter((id) => !off.has(id));
    status.checkpoint.completed_tasks = [...kept, ...missing];
    writeStatusFile(run, status);
    return true;
  });
}
