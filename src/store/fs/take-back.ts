import { isVivError } from "../../model/errors.ts";
import type { LedgerLine } from "../../model/ledger.ts";
import { afterAbandonment } from "../../policy/retry.ts";
import type { ReapReport } from "../store.ts";
import { statIfThere, tokenOf } from "./atomic.ts";
import { attemptNumber, readHistory } from "./attempts.ts";
import { claimedTasks } from "./claimed.ts";
import { applyEnding, type Ending, end, type Held } from "./finish.ts";
import { fileOf } from "./layout.ts";
import { readLedger } from "./ledger.ts";
import { endTreeOf, forgetTreeOf } from "./processes.ts";
import { quarantine } from "./quarantine.ts";
import type { FsRun } from "./run.ts";

/** A worker's claims, and what becomes of them when it is gone. */

export interface ClaimFile {
  id: string;
  path: string;
  token: string;
  claimedAt: number;
}

export function claimsOf(run: FsRun, worker: string): ClaimFile[] {
  const claims: ClaimFile[] = [];
  for (const { id, path } of claimedTasks(run.paths, worker)) {
    const stats = statIfThere(path);
    if (stats?.isFile()) claims.push({ id, path, token: tokenOf(stats), claimedAt: stats.ctimeMs });
  }
  return claims;
}

export function takeBack(
  run: FsRun,
  worker: string,
  claims: readonly ClaimFile[],
  reason: "gone" | "stale",
  ageSeconds: number,
  report: ReapReport,
  why: { note?: string; receipt?: string } = {},
): void {
  const endings = recordedEndings(run, claims);
  for (const claim of claims) {
    const recorded = endings.get(`${claim.id} ${claim.token}`);
    // Others reap too: what lies there may be the claim of a successor by now.
    if (!isCurrent(claim)) continue;
    if (!recorded && statIfThere(fileOf(run.paths, "pending", claim.id))) {
      report.skipped.push({ worker, id: claim.id });
      continue;
    }
    if (isCopy(run, claim)) continue;
    // First the tree, then the task: once it is moved, somebody may begin it anew.
    const pids = endTreeOf(run, { ...claim, worker });
    if (pids.length > 0) {
      report.stuck.push({ worker, id: claim.id, pids });
      continue;
    }
    const seenAt = performance.now();
    if (!isCurrent(claim)) continue;
    const history = readHistory(run, claim.id);
    const held: Held = { ...claim, worker, attempt: attemptNumber(history), seenAt };
    try {
      if (recorded) {
        applyEnding(run, held, recorded);
        report.reaped.push({
          worker,
          id: claim.id,
          ageSeconds,
          to: recorded.to,
          reason: "finished",
        });
      } else {
        const { to } = afterAbandonment(history);
        const note = why.note ?? noteFor(worker, reason, to);
        end(run, held, { outcome: "abandoned", to, note, receipt: why.receipt });
        report.reaped.push({ worker, id: claim.id, ageSeconds, to, reason });
      }
      forgetTreeOf(run, claim.id, claim.token);
    } catch (error) {
      // The worker came back and finished it between our look and our rename: its result counts.
      if (!isVivError(error, "CLAIM_LOST")) throw error;
    }
  }
}

/**
 * A claim is moved by a rename, so a task that lies in another state as well was copied by somebody:
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

function noteFor(worker: string, reason: "gone" | "stale", to: string): string {
  const what = reason === "gone" ? `the process of ${worker} is gone` : `${worker} went silent`;
  return to === "failed"
    ? `${what}, as others before it: this task keeps losing its workers`
    : what;
}

/** What the ledger says about how these claims ended, keyed by task and token. */
export function recordedEndings(
  run: FsRun,
  claims: readonly Pick<ClaimFile, "id" | "token" | "claimedAt">[],
): Map<string, Ending> {
  const wanted = new Set(claims.map((c) => `${c.id} ${c.token}`));
  const endings = new Map<string, Ending>();
  if (wanted.size === 0) return endings;
  // A day of slack: the ledger's days follow the writer's clock, the claim's the filesystem's.
  const earliest = claims.reduce(
    (first, c) => Math.min(first, c.claimedAt),
    Number.POSITIVE_INFINITY,
  );
  // A claim from the future: the clock was set back since, and the record may be in any file.
  const since = earliest > run.machine.clock.now() ? 0 : earliest - 86_400_000;
  const file = `${new Date(Math.max(0, since)).toISOString().slice(0, 10)}.jsonl`;
  for (const { line } of readLedger(run.paths.ledger, { file, offset: 0 })) {
    if (line.event !== "ended" || line.to === undefined || line.outcome === undefined) continue;
    const key = `${line.task} ${line.token}`;
    if (!wanted.has(key)) continue;
    // If two ends were recorded for one claim, finished work is the better one.
    if (endings.has(key) && line.outcome !== "done") continue;
    endings.set(key, endingFrom(line, line.outcome, line.to));
  }
  return endings;
}

function endingFrom(line: LedgerLine, outcome: Ending["outcome"], to: Ending["to"]): Ending {
  return {
    outcome,
    to,
    note: line.note,
    fingerprint: line.fingerprint,
    retryAt: line.retry_at,
    by: line.by,
    receipt: line.receipt,
  };
}
