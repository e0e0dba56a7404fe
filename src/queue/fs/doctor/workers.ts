import { utimesSync } from "../../../platform/files/beneath.ts";
import { judgeWorker } from "../../liveness.ts";
import { claimsOf, claimWorkers } from "../claims/claimed.ts";
import { reapClaims } from "../claims/reap.ts";
import { staleAfterSeconds, vitalSigns } from "../claims/vital-signs.ts";
import { keyOf, recordedEnds } from "../ends/held-claim.ts";
import { statIfThere } from "../files/atomic.ts";
import { below, folderOf, heartbeatOf } from "../layout.ts";
import type { Examination } from "./doctor.ts";

export async function checkWorkers({ run, checked, find }: Examination): Promise<void> {
  for (const worker of claimWorkers(run.paths)) {
    if (!statIfThere(folderOf(run.paths, worker))?.isDirectory()) continue;
    checked.workers = (checked.workers ?? 0) + 1;
    const claims = claimsOf(run, worker);
    const signs = vitalSigns(run, worker, claims);
    if (signs.heartbeatAge !== null && signs.heartbeatAge < -60_000) {
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
    if (claims.length === 0) continue;
    const limit = staleAfterSeconds(run, signs);
    const verdict = judgeWorker(signs, { staleAfterMs: limit * 1000 });
    if (verdict.alive) continue;
    const endings = recordedEnds(
      run,
      claims.map((claim) => ({ ...claim, worker })),
    );
    for (const claim of claims) {
      const ending = endings.get(keyOf(claim))?.ending;
      const isOut = () => statIfThere(claim.path) === undefined;
      await find(
        ending
          ? {
              code: "unfinished_transition",
              path: below(run.paths, claim.path),
              message: `${claim.id} ended as ${ending.outcome}, but ${worker} died before it was moved`,
              repair: `move it to ${run.paths.layout.folders[ending.to]}/`,
            }
          : {
              code: "claim_without_worker",
              path: below(run.paths, claim.path),
              message:
                verdict.reason === "gone"
                  ? `the process of ${worker} is gone`
                  : `${worker} has given no sign of life for over ${limit} s`,
              repair: "give the task back",
            },
        async () => {
          if (!isOut()) await reapClaims(run, {});
          return isOut();
        },
      );
    }
  }
}
