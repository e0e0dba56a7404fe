import { isVivError } from "../../../base/errors.ts";
import { isName } from "../../../base/names.ts";
import type { RunStatus } from "../../store.ts";
import { namesIn } from "../files/atomic.ts";
import { quarantine } from "../files/quarantine.ts";
import { locate } from "../locate.ts";
import { notProjectedYet, project } from "../record/project.ts";
import { createStatus, readStatusFile, withStatusLock, writeStatusFile } from "../record/status.ts";
import type { Examination } from "./doctor.ts";

/** completed_tasks must list what lies in done/, and nothing that lies elsewhere. */
export async function checkStatus({ run, fix, find }: Examination): Promise<void> {
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
        await project(run); // what was on its way counts as no drift
        await repairDrift(run);
        return true;
      },
    );
    return;
  }
  if (status === null) return;
  const { missing, wrong } = driftOf(run);
  if (missing.length > 0) {
    await find(
      {
        code: "status_drift",
        path: "status.json",
        message: `${missing.length} of done/ missing in completed_tasks, the first is ${missing[0]}`,
        repair: "add them",
      },
      () => repairDrift(run),
    );
  }
  if (wrong.length > 0) {
    await find(
      {
        code: "status_drift",
        path: "status.json",
        message: `completed_tasks lists ${wrong.length} that are not done, the first is ${wrong[0]}`,
        repair: "take them off the list",
      },
      () => repairDrift(run),
    );
  }
}

/**
 * In this order, because workers go on meanwhile: what is in done/ is then either still on its way,
 * or has been carried over by the time the list is read.
 */
function driftOf(run: Examination["run"]): { missing: string[]; wrong: string[] } {
  const done = new Set(
    namesIn(run.paths.state.done)
      .map((name) => run.paths.layout.idOf("done", name))
      .filter(isName),
  );
  const onTheWay = new Set(notProjectedYet(run));
  const listed = new Set(readStatusFile(run.paths)?.checkpoint.completed_tasks ?? []);
  const missing = [...done].filter((id) => !listed.has(id) && !onTheWay.has(id));
  // Listed but nowhere to be found may be work of another tool: its word counts (SPEC §9).
  const wrong = [...listed].filter((id) => isName(id) && !done.has(id) && isElsewhere(run, id));
  return { missing, wrong };
}

function isElsewhere(run: Examination["run"], id: string): boolean {
  const place = locate(run, id);
  return place !== null && place.state !== "done";
}

function repairDrift(run: Examination["run"]): Promise<boolean> {
  return withStatusLock(run, () => {
    const status = readStatusFile(run.paths);
    if (status === null) return false;
    const { missing, wrong } = driftOf(run);
    const off = new Set(wrong);
    status.checkpoint.completed_tasks = [
      ...status.checkpoint.completed_tasks.filter((id) => !off.has(id)),
      ...missing,
    ];
    writeStatusFile(run, status);
    return true;
  });
}
