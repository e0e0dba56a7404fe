import { existsSync } from "node:fs";
import { claimsOf, findClaim } from "../../queue/fs/claims/claimed.ts";
import { takeBack } from "../../queue/fs/claims/reap.ts";
import { readDerived, replaceFile } from "../../queue/fs/files/atomic.ts";
import { type FsRun, temporaryPath } from "../../queue/fs/run.ts";
import type { ReapReport } from "../../queue/store.ts";
import type { Progress } from "../progress.ts";

/** Takes one claim back from a worker that is alive. Where the food went, or null: it stayed. */
export async function reclaim(
  run: FsRun,
  id: string,
  token: string,
  note: string,
): Promise<string | null> {
  const worker = findClaim(run.paths, id)?.worker;
  const claim = worker && claimsOf(run, worker).find((one) => one.id === id && one.token === token);
  if (!claim) return null;
  const report: ReapReport = { reaped: [], live: [], skipped: [], stuck: [] };
  await takeBack(run, worker, [claim], "stale", -1, report, { note });
  return report.reaped[0]?.to ?? null;
}

type Seen = Record<string, Progress>;

/** `.viv/progress.json`: what cleanup duty saw the last time. */
export function readProgress(run: FsRun): Seen {
  try {
    const text = readDerived(pathOf(run), 16 * 1024 * 1024)?.text ?? "{}";
    const value: unknown = JSON.parse(text);
    const seen = Object.entries((value ?? {}) as Record<string, Progress | null>);
    return Object.fromEntries(seen.filter(([, one]) => typeof one?.since === "number")) as Seen;
  } catch {
    return {}; // then the wait begins anew
  }
}

export function writeProgress(run: FsRun, seen: Readonly<Record<string, Progress>>): void {
  if (Object.keys(seen).length === 0 && !existsSync(pathOf(run))) return;
  replaceFile(pathOf(run), temporaryPath(run, "progress"), `${JSON.stringify(seen)}\n`, false);
}

function pathOf(run: FsRun): string {
  return `${run.paths.viv}/progress.json`;
}
