import { isVivError } from "../../../base/errors.ts";
import { rmdirSync } from "../../../platform/files/beneath.ts";
import type { LedgerLine } from "../../ledger.ts";
import { judgeWorker } from "../../liveness.ts";
import { afterAbandonment } from "../../retry.ts";
import type { Ended, ReapOptions, ReapReport } from "../../store.ts";
import { end, finishRecorded } from "../ends/end-claim.ts";
import { type Held, keyOf, recordedEnds } from "../ends/held-claim.ts";
import {
  errno,
  statIfThere,
  tokenOf,
  translate,
  unlinkIfThere,
  withLock,
} from "../files/atomic.ts";
import { type FsRun, quarantine, record } from "../fs-run.ts";
import { fileOf, folderOf } from "../layout.ts";
import { appendHistory, attemptNumber, readHistory } from "../record/attempts.ts";
import { linesOfWorker } from "../record/claim-lines.ts";
import { type ClaimFile, claimWorkers } from "./claimed.ts";
import { holdingsOf } from "./holdings.ts";
import { endTreeOf, forgetTreeOf } from "./process-notes.ts";
import {
  assertWorker,
  readWorkerFile,
  removeHeartbeat,
  staleAfterSeconds,
  workerFileOf,
} from "./vital-signs.ts";

/**
 * Takes back the claims of workers that are gone, once the processes they left are gone too. An
 * attempt whose end was recorded but not made (a crash between the two) is finished instead: the
 * work is not run again.
 */
export async function reapClaims(run: FsRun, options: ReapOptions): Promise<ReapReport> {
  const report: ReapReport = { reaped: [], live: [], skipped: [], stuck: [] };
  const { worker: only, execution, heartbeatOnly } = options;
  try {
    const workers = only === undefined ? claimWorkers(run.paths).sort() : [assertWorker(run, only)];
    for (const worker of workers) {
      let isGone = false;
      let isLive = false;
      for (const { claims, signs, byHand } of holdingsOf(run, worker)) {
        isGone ||= signs.process === "gone";
        if (claims.length === 0) continue;
        const limit = options.staleAfterSeconds ?? staleAfterSeconds(run, signs);
        const rule = { staleAfterMs: limit * 1000, heartbeatOnly: heartbeatOnly && !byHand };
        const verdict = judgeWorker(signs, rule);
        if (verdict.alive) {
          isLive = true;
          continue;
        }
        const age = signs.heartbeatAge === null ? -1 : Math.max(0, signs.heartbeatAge / 1000);
        const why = execution && {
          note: `the warden ended ${worker}`,
          receipt: execution.receipt,
        };
        await takeBack(run, worker, claims, verdict.reason, age, report, why);
      }
      if (isLive) report.live.push(worker);
      // While a claim of it is stuck, that its process is gone must stay known.
      const isStuck = report.stuck.some((one) => one.worker === worker);
      if (isGone && !heartbeatOnly && !isStuck) await freeName(run, worker);
    }
    linkReceipt(run, options);
  } catch (error) {
    throw translate(error, "reaping");
  }
  return report;
}

/**
 * Others reap as well, and a worker that is asked to end gives back its claims: the attempts that
 * ended so before this call name the receipt too. Done again, it changes nothing.
 */
function linkReceipt(run: FsRun, { worker, execution }: ReapOptions): void {
  if (worker === undefined || execution === undefined) return;
  const { receipt, since } = execution;
  const ends = new Map<string, LedgerLine>();
  for (const line of linesOfWorker(run, worker, Date.parse(since))) {
    if (line.at < since) continue;
    const key = `${line.task} ${line.token}`;
    const isCutShort = line.outcome === "abandoned" || line.outcome === "released";
    if (line.event === "ended" && isCutShort && !line.receipt) ends.set(key, line);
    if (line.event === "void" || line.event === "executed") ends.delete(key);
  }
  for (const { task, token } of ends.values()) {
    if (task === undefined || token === undefined) continue;
    appendHistory(run, task, { executed: token, receipt });
    record(run, { event: "executed", task, worker, token, receipt });
  }
}

/** Ending a tree takes time; after this long, recorded ends are looked up again. */
const LOOK_AGAIN_MS = 20;

export async function takeBack(
  run: FsRun,
  worker: string,
  claims: readonly ClaimFile[],
  reason: "gone" | "stale",
  ageSeconds: number,
  report: ReapReport,
  why: { note?: string; receipt?: string } = {},
): Promise<void> {
  const allHeld = claims.map((claim) => ({ ...claim, worker }));
  let ends = recordedEnds(run, allHeld);
  let lookedAt = performance.now();
  for (const claim of claims) {
    // Others reap too: the file there may be the claim of a successor by now.
    if (!isCurrent(claim)) continue;
    const { id } = claim;
    if (!ends.has(keyOf(claim)) && statIfThere(fileOf(run.paths, "pending", id))) {
      report.skipped.push({ worker, id });
      continue;
    }
    if (isCopy(run, claim)) continue;
    // First the tree, then the task: once it is moved, another worker may begin it anew.
    const ending = endTreeOf(run, { ...claim, worker });
    // Mostly there is none: then nothing of this process comes in between.
    const pids = Array.isArray(ending) ? ending : await ending;
    if (pids.length > 0) {
      report.stuck.push({ worker, id, pids });
      continue;
    }
    const seenAt = performance.now();
    if (!isCurrent(claim)) continue;
    // The worker may have been asleep only, and have recorded an end while we ended trees. It may
    // be one of this process, which goes on whenever we wait.
    if (!Array.isArray(ending) || seenAt - lookedAt > LOOK_AGAIN_MS) {
      ends = recordedEnds(run, allHeld);
      lookedAt = performance.now();
    }
    const recorded = ends.get(keyOf(claim));
    if (!recorded && run.hooks?.giveBackProof(run, { ...claim, worker })) {
      report.reaped.push({ worker, id, ageSeconds, to: "claimed", reason });
      forgetTreeOf(run, id, claim.token);
      continue;
    }
    const history = readHistory(run, id);
    const held: Held = { ...claim, worker, attempt: attemptNumber(history), seenAt };
    try {
      const { to, warnings = [] } = recorded
        ? finishRecorded(run, held, recorded)
        : abandon(run, held, afterAbandonment(history), reason, why);
      report.reaped.push({ worker, id, ageSeconds, to, reason: recorded ? "finished" : reason });
      if (warnings.length > 0) report.warnings = [...(report.warnings ?? []), ...warnings];
      forgetTreeOf(run, id, claim.token);
    } catch (error) {
      // The worker came back and finished it between our look and our rename: its result counts.
      if (!isVivError(error, "CLAIM_LOST")) throw error;
    }
  }
}

function abandon(
  run: FsRun,
  held: Held,
  to: "pending" | "failed",
  reason: "gone" | "stale",
  { note, receipt }: { note?: string; receipt?: string },
): Ended {
  const { worker } = held;
  const what = reason === "gone" ? `the process of ${worker} is gone` : `${worker} went silent`;
  const more = to === "failed" ? ", as others before it: this task keeps losing its workers" : "";
  return end(run, held, { outcome: "abandoned", to, note: note ?? `${what}${more}`, receipt });
}

/**
 * A claim is moved by a rename, so a task that lies in another state as well is a copy:
 * given out again, it would be done twice. The copy goes to quarantine.
 */
function isCopy(run: FsRun, { id, path }: ClaimFile): boolean {
  const states = ["done", "review", "failed", "waiting"] as const;
  const other = states.find((state) => statIfThere(fileOf(run.paths, state, id)));
  const stats = other === undefined ? undefined : statIfThere(path);
  // Gone by now: it was the task itself, on its way there.
  if (stats === undefined) return other !== undefined;
  return quarantine(run, path, `a second file of a task that is in ${other}/ already`, stats.ino);
}

function isCurrent(claim: ClaimFile): boolean {
  const stats = statIfThere(claim.path);
  return stats !== undefined && tokenOf(stats) === claim.token;
}

/** After its claims were taken back, the name of a worker that is really gone is free again. */
function freeName(run: FsRun, worker: string): Promise<void> {
  return withLock(workersLock(run), () => {
    const holder = readWorkerFile(run, worker);
    // None: while we waited for the lock, another reaper or the name's next user has freed it.
    if (holder === null || run.machine.vitality(holder) !== "gone") return;
    unlinkIfThere(workerFileOf(run, worker));
    removeHeartbeat(run, worker);
    if (run.paths.layout.isFlat) return;
    try {
      rmdirSync(folderOf(run.paths, worker));
    } catch (error) {
      // Not empty: the name is in use again, or the folder holds foreign files.
      if (errno(error) !== "ENOTEMPTY" && errno(error) !== "ENOENT") throw error;
    }
  });
}

/** Held while a worker's name changes hands. */
export function workersLock(run: FsRun): string {
  return `${run.paths.workers}/.lock`;
}
