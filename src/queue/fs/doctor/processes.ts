import { basename } from "node:path";
import { forgottenSpares, isStale, notesWithoutClaim } from "../claims/process-notes.ts";
import { unlinkIfThere } from "../files/atomic.ts";
import type { Examination } from "./doctor.ts";

export async function checkProcesses({ run, checked, find }: Examination): Promise<void> {
  for (const { id, path, note } of notesWithoutClaim(run)) {
    checked.processes = (checked.processes ?? 0) + 1;
    if (!isStale(run, note)) continue;
    await find(
      {
        code: "stale_temporary",
        path: `.viv/processes/${id}.json`,
        message:
          note === null
            ? "it does not say which process it is about"
            : `the process of ${note.worker} that worked on ${id} is gone (${note.pid})`,
        repair: "remove it",
      },
      () => unlinkIfThere(path),
    );
  }
  for (const path of forgottenSpares(run)) {
    await find(
      {
        code: "stale_temporary",
        path: `.viv/processes/${basename(path)}`,
        message: "an empty note that a worker has left behind",
        repair: "remove it",
      },
      () => unlinkIfThere(path),
    );
  }
}
