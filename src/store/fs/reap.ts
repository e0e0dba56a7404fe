import { isListedName } from "../../model/names.ts";
import { judgeWorker } from "../../policy/liveness.ts";
import type { ReapOptions, ReapReport } from "../store.ts";
import { namesIn, translate } from "./atomic.ts";
import { readHeartbeat } from "./heartbeat.ts";
import { buryWorker, readWorkerFile } from "./register.ts";
import type { FsRun } from "./run.ts";
import { type ClaimFile, claimsOf, takeBack } from "./take-back.ts";

export const DEFAULT_STALE_AFTER_SECONDS = 300;

/**
 * Takes back the claims of workers that are gone, when the processes they left are gone too. An attempt whose end was recorded but not made
 * (a crash between the two) is finished instead: the work is not run again.
 */
export function reapClaims(run: FsRun, options: ReapOptions): ReapReport {
  const staleAfterMs = (options.staleAfterSeconds ?? DEFAULT_STALE_AFTER_SECONDS) * 1000;
  const report: ReapReport = { reaped: [], live: [], skipped: [], stuck: [] };
  try {
    for (const worker of namesIn(run.paths.state.claimed).sort()) {
      if (!isListedName(worker)) continue;
      const claims = claimsOf(run, worker);
      const signs = vitalSigns(run, worker, claims);
      if (claims.length === 0) {
        if (signs.process === "gone" && !options.heartbeatOnly) buryWorker(run, worker);
        continue;
      }
      const verdict = judgeWorker(signs, {
        staleAfterMs,
        ...(options.heartbeatOnly ? { heartbeatOnly: true } : {}),
      });
      if (verdict.alive) {
        report.live.push(worker);
        continue;
      }
      const age = signs.heartbeatAge === null ? -1 : Math.max(0, signs.heartbeatAge / 1000);
      takeBack(run, worker, claims, verdict.reason, age, report);
      // While a claim of it is stuck, that its process is gone must stay known.
      const isStuck = report.stuck.some((one) => one.worker === worker);
      if (signs.process === "gone" && !options.heartbeatOnly && !isStuck) buryWorker(run, worker);
    }
  } catch (error) {
    throw translate(error, "reaping");
  }
  return report;
}

export function vitalSigns(run: FsRun, worker: string, claims: readonly ClaimFile[]) {
  const file = readWorkerFile(run, worker);
  const heartbeat = readHeartbeat(run, worker);
  const youngest = claims.reduce((latest, c) => Math.max(latest, c.claimedAt), 0);
  return {
    process: file ? run.machine.vitality(file) : ("none" as const),
    heartbeatAge: heartbeat ? heartbeat.age : null,
    claimAge: run.machine.clock.now() - youngest,
  };
}
