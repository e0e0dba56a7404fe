import { isVivError } from "../../../base/errors.ts";
import { afterAbandonment } from "../../retry.ts";
import type { ReapReport } from "../../store.ts";
import { end, finishRecorded } from "../ends/end-claim.ts";
import { keyOf, recordedEnds } from "../ends/recorded-end.ts";
import { statIfThere, tokenOf } from "../files/atomic.ts";
import { type FsRun, quarantine } from "../fs-run.ts";
import { fileOf } from "../layout.ts";
import { attemptNumber, readHistory } from "../record/attempts.ts";
import { claimedTasks } from "./claimed.ts";
import type { Held } from "./held.ts";
import { endTreeOf, forgetTreeOf } from "./processes.ts";

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

/** Ending a tree takes its time; what was recorded meanwhile is looked up again. */
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
    // Others reap too: what lies there may be the claim of a successor by now.
    if (!isCurrent(claim)) continue;
    if (!ends.has(keyOf(claim)) && statIfThere(fileOf(run.paths, "pending", claim.id))) {
      report.skipped.push({ worker, id: claim.id });
      continue;
    }
    if (isCopy(run, claim)) continue;
    // First the tree, then the task: once it is moved, another worker may begin it anew.
    const ending = endTreeOf(run, { ...claim, worker });
    // Mostly there is none: then nothing of this process comes in between.
    const pids = Array.isArray(ending) ? ending : await ending;
    if (pids.length > 0) {
      report.stuck.push({ worker, id: claim.id, pids });
      continue;
    }
    const seenAt = performance.now();
    if (!isCurrent(claim)) continue;
    // Its worker may only have been asleep, and have recorded an end while we ended trees. It may be
    // one of this process, which goes on whenever we wait.
    if (!Array.isArray(ending) || seenAt - lookedAt > LOOK_AGAIN_MS) {
      ends = recordedEnds(run, allHeld);
      lookedAt = performance.now();
    }
    const recorded = ends.get(keyOf(claim));
    const history = readHistory(run, claim.id);
    const held: Held = { ...claim, worker, attempt: attemptNumber(history), seenAt };
    try {
      if (recorded) {
        const { to, warnings } = finishRecorded(run, held, recorded);
        report.reaped.push({ worker, id: claim.id, ageSeconds, to, reason: "finished" });
        warn(report, warnings);
      } else {
        const { to } = afterAbandonment(history);
        const note = why.note ?? noteFor(worker, reason, to);
        const abandoned = { outcome: "abandoned", to, note, receipt: why.receipt } as const;
        const { warnings } = end(run, held, abandoned);
        report.reaped.push({ worker, id: claim.id, ageSeconds, to, reason });
        warn(report, warnings);
      }
      forgetTreeOf(run, claim.id, claim.token);
    } catch (error) {
      // The worker came back and finished it between our look and our rename: its result counts.
      if (!isVivError(error, "CLAIM_LOST")) throw error;
    }
  }
}

function warn(report: ReapReport, warnings: readonly string[] = []): void {
  if (warnings.length > 0) report.warnings = [...(report.warnings ?? []), ...warnings];
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

function noteFor(worker: string, reason: "gone" | "stale", to: string): string {
  const what = reason === "gone" ? `the process of ${worker} is gone` : `${worker} went silent`;
  return to === "failed"
    ? `${what}, as others before it: this task keeps losing its workers`
    : what;
}
