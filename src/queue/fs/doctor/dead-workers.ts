import { utimesSync } from "../../../platform/files/beneath.ts";
import { judgeWorker } from "../../liveness.ts";
import { claimWorkers } from "../claims/claimed.ts";
import { type Holding, holdingsOf } from "../claims/holdings.ts";
import { forgottenSpares, isStale, notesWithoutClaim } from "../claims/process-notes.ts";
import { reapClaims } from "../claims/reap.ts";
import { readHeartbeat, staleAfterSeconds } from "../claims/vital-signs.ts";
import { keyOf, recordedEnds } from "../ends/held-claim.ts";
import { statIfThere, unlinkIfThere } from "../files/atomic.ts";
import { below, folderOf, heartbeatOf } from "../layout.ts";
import type { Examination } from "./examination.ts";

export async function checkWorkers(examination: Examination): Promise<void> {
  const { run, checked, find } = examination;
  for (const worker of claimWorkers(run.paths)) {
    if (!statIfThere(folderOf(run.paths, worker))?.isDirectory()) continue;
    checked.workers = (checked.workers ?? 0) + 1;
    const heartbeat = readHeartbeat(run, worker);
    if (heartbeat !== null && heartbeat.age < -60_000) {
      await find(
        {
          code: "future_heartbeat",
          path: below(run.paths, heartbeatOf(run.paths, worker)),
          message: "its time lies in the future: the clock was set back, so it never goes stale",
          repair: "date it now",
        },
        () => {
          const now = run.machine.clock.now() / 1000;
          utimesSync(heartbeatOf(run.paths, worker), now, now);
          return true;
        },
      );
    }
    for (const holding of holdingsOf(run, worker)) await checkHolding(examination, worker, holding);
  }
}

async function checkHolding(
  { run, find }: Examination,
  worker: string,
  { claims, signs }: Holding,
): Promise<void> {
  if (claims.length === 0) return;
  const limit = staleAfterSeconds(run, signs);
  const verdict = judgeWorker(signs, { staleAfterMs: limit * 1000 });
  if (verdict.alive) return;
  const why =
    verdict.reason === "gone"
      ? `the process of ${worker} is gone`
      : `${worker} has given no sign of life for over ${limit} s`;
  const held = claims.map((claim) => ({ ...claim, worker }));
  const endings = recordedEnds(run, held);
  for (const claim of claims) {
    const ending = endings.get(keyOf(claim))?.ending;
    const path = below(run.paths, claim.path);
    const isOut = () => statIfThere(claim.path) === undefined;
    await find(
      ending
        ? {
            code: "unfinished_transition",
            path,
            message: `${claim.id} ended as ${ending.outcome}, but ${worker} died before it was moved`,
            repair: `move it to ${run.paths.layout.folders[ending.to]}/`,
          }
        : { code: "claim_without_worker", path, message: why, repair: "give the task back" },
      async () => {
        if (!isOut()) await reapClaims(run, {});
        return isOut();
      },
    );
  }
}

/** Notes about the process trees of claims that have ended. */
export async function checkNotes({ run, checked, find }: Examination): Promise<void> {
  const report = (path: string, message: string) =>
    find(
      { code: "stale_temporary", path: below(run.paths, path), message, repair: "remove it" },
      () => unlinkIfThere(path),
    );
  for (const { id, path, note } of notesWithoutClaim(run)) {
    checked.processes = (checked.processes ?? 0) + 1;
    if (!isStale(run, note)) continue;
    await report(
      path,
      note === null
        ? "it names no process"
        : `the process of ${note.worker} that worked on ${id} is gone (${note.pid})`,
    );
  }
  for (const path of forgottenSpares(run)) {
    await report(path, "an empty note that a worker has left behind");
  }
}
