import { utimesSync } from "node:fs";
import { isListedName } from "../../../model/names.ts";
import { judgeWorker } from "../../../policy/liveness.ts";
import { namesIn, statIfThere } from "../atomic.ts";
import type { Examination } from "../doctor.ts";
import { HEARTBEAT } from "../layout.ts";
import { DEFAULT_STALE_AFTER_SECONDS, reapClaims, vitalSigns } from "../reap.ts";
import { claimsOf, recordedEndings } from "../take-back.ts";

export function checkWorkers({ run, checked, find }: Examination): void {
  for (const worker of namesIn(run.paths.state.claimed)) {
    if (
      !isListedName(worker) ||
      !statIfThere(`${run.paths.state.claimed}/${worker}`)?.isDirectory()
    ) {
      continue;
    }
    checked.workers = (checked.workers ?? 0) + 1;
    const claims = claimsOf(run, worker);
    const signs = vitalSigns(run, worker, claims);
    if (signs.heartbeatAge !== null && signs.heartbeatAge < -60_000) {
      find(
        {
          code: "future_heartbeat",
          path: `claimed/${worker}/${HEARTBEAT}`,
          message: "its time lies in the future: the clock was set back, so it never goes stale",
          repair: "date it now",
        },
        () => {
          const now = run.machine.clock.now() / 1000;
          utimesSync(`${run.paths.state.claimed}/${worker}/${HEARTBEAT}`, now, now);
          return true;
        },
      );
    }
    if (claims.length === 0) continue;
    const verdict = judgeWorker(signs, { staleAfterMs: DEFAULT_STALE_AFTER_SECONDS * 1000 });
    if (verdict.alive) continue;
    const endings = recordedEndings(run, claims);
    for (const claim of claims) {
      const ending = endings.get(`${claim.id} ${claim.token}`);
      const isOut = () => statIfThere(claim.path) === undefined;
      find(
        ending
          ? {
              code: "unfinished_transition",
              path: `claimed/${worker}/${claim.id}.json`,
              message: `${claim.id} ended as ${ending.outcome}, but ${worker} died before it was moved`,
              repair: `move it to ${ending.to}/`,
            }
          : {
              code: "claim_without_worker",
              path: `claimed/${worker}/${claim.id}.json`,
              message:
                verdict.reason === "gone"
                  ? `the process of ${worker} is gone`
                  : `${worker} has given no sign of life for over ${DEFAULT_STALE_AFTER_SECONDS} s`,
              repair: "give the task back",
            },
        () => {
          if (!isOut()) reapClaims(run, {});
          return isOut();
        },
      );
    }
  }
}
