import type { LedgerLine } from "../../ledger.ts";
import { judgeWorker, type VitalSigns } from "../../liveness.ts";
import type { ReapOptions, ReapReport } from "../../store.ts";
import { assertWorker } from "../enqueue/parse.ts";
import { translate } from "../files/atomic.ts";
import { type FsRun, record } from "../fs-run.ts";
import { appendHistory } from "../record/attempts.ts";
import { linesOfWorker } from "../record/claim-lines.ts";
import { claimWorkers } from "./claimed.ts";
import { readHeartbeat } from "./heartbeat.ts";
import { buryWorker, readWorkerFile } from "./register.ts";
import { type ClaimFile, claimsOf, takeBack } from "./take-back.ts";

/**
 * Takes back the claims of workers that are gone, when the processes they left are gone too. An attempt whose end was recorded but not made
 * (a crash between the two) is finished instead: the work is not run again.
 */
export async function reapClaims(run: FsRun, options: ReapOptions): Promise<ReapReport> {
  const report: ReapReport = { reaped: [], live: [], skipped: [], stuck: [] };
  try {
    for (const worker of workersFor(run, options)) {
      const claims = claimsOf(run, worker);
      const signs = vitalSigns(run, worker, claims);
      if (claims.length === 0) {
        if (signs.process === "gone" && !options.heartbeatOnly) await buryWorker(run, worker);
        continue;
      }
      const verdict = judgeWorker(signs, {
        staleAfterMs: (options.staleAfterSeconds ?? staleAfterSeconds(run, signs)) * 1000,
        heartbeatOnly: options.heartbeatOnly,
      });
      if (verdict.alive) {
        report.live.push(worker);
        continue;
      }
      const age = signs.heartbeatAge === null ? -1 : Math.max(0, signs.heartbeatAge / 1000);
      await takeBack(
        run,
        worker,
        claims,
        verdict.reason,
        age,
        report,
        executionOf(worker, options),
      );
      // While a claim of it is stuck, that its process is gone must stay known.
      const isStuck = report.stuck.some((one) => one.worker === worker);
      if (signs.process === "gone" && !options.heartbeatOnly && !isStuck) {
        await buryWorker(run, worker);
      }
    }
    linkReceipt(run, options);
  } catch (error) {
    throw translate(error, "reaping");
  }
  return report;
}

function workersFor(run: FsRun, { worker }: ReapOptions): string[] {
  if (worker !== undefined) return [assertWorker(run, worker)];
  return claimWorkers(run.paths).sort();
}

function executionOf(worker: string, { execution }: ReapOptions) {
  if (execution === undefined) return {};
  return { note: `the warden ended ${worker}`, receipt: execution.receipt };
}

/**
 * Others reap as well, and a worker that is asked to end gives back what it holds: the attempts that
 * ended so before we came here name the receipt too. Done again, it changes nothing.
 */
function linkReceipt(run: FsRun, { worker, execution }: ReapOptions): void {
  if (worker === undefined || execution === undefined) return;
  const { receipt, since } = execution;
  const ends = new Map<string, LedgerLine>();
  const keyOf = (line: LedgerLine) => `${line.task} ${line.token}`;
  for (const line of linesOfWorker(run, worker, Date.parse(since))) {
    if (line.at < since) continue;
    const isCutShort = line.outcome === "abandoned" || line.outcome === "released";
    if (line.event === "ended" && isCutShort && !line.receipt) ends.set(keyOf(line), line);
    if (line.event === "void" || line.event === "executed") ends.delete(keyOf(line));
  }
  for (const { task, token } of ends.values()) {
    if (task === undefined || token === undefined) continue;
    appendHistory(run, task, { executed: token, receipt });
    record(run, { event: "executed", task, worker, token, receipt });
  }
}

const STALE_AFTER_SECONDS = 300;

/** A worker with heartbeats beats often. One with only a shell may have none. */
export function staleAfterSeconds(
  run: FsRun,
  signs: Pick<VitalSigns, "process" | "heartbeatAge">,
): number {
  const hasOnlyShell = signs.process === "none" && signs.heartbeatAge === null;
  return hasOnlyShell ? run.paths.layout.staleAfterSeconds : STALE_AFTER_SECONDS;
}

export function vitalSigns(run: FsRun, worker: string, claims: readonly ClaimFile[]): VitalSigns {
  const file = readWorkerFile(run, worker);
  const heartbeat = readHeartbeat(run, worker);
  const youngest = claims.reduce((latest, c) => Math.max(latest, c.claimedAt), 0);
  const claimAge = run.machine.clock.now() - youngest;
  const hasOnlyShell = !file && !heartbeat;
  return {
    process: file ? run.machine.vitality(file) : "none",
    heartbeatAge: heartbeat ? heartbeat.age : null,
    claimAge: hasOnlyShell ? sinceActivity(run, worker, claimAge) : claimAge,
  };
}

/** A worker with nothing but a shell shows that it is alive by what it does. */
function sinceActivity(run: FsRun, worker: string, claimAge: number): number {
  // To look for its traces is dear, and needed only when its claims say that it is gone.
  if (claimAge <= 60_000) return claimAge;
  return Math.min(claimAge, run.machine.clock.now() - (run.hooks?.lastActivity(run, worker) ?? 0));
}
