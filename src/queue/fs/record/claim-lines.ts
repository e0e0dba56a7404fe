import { closeSync } from "node:fs";
import { type DayFile, dayFiles } from "../../../ledger/day-files.ts";
import { openSync } from "../../../platform/files/beneath.ts";
import type { LedgerLine } from "../../ledger.ts";
import { readAt, SAFE_OPEN } from "../files/atomic.ts";
import type { FsRun } from "../fs-run.ts";
import { lineFrom, linesWith } from "./ledger-files.ts";

/**
 * The ledger's lines about tasks since they were claimed. Each file is read from its end back to the
 * lines of those claims, so the cost does not grow with the ledger.
 *
 * The days in the names of the files are the writers', and their clocks may be wrong; a claim's token
 * is a time of the filesystem, and so is a file's last change. A file that was not changed since the
 * claim has no line about it. If a time lies in the future, no time is trusted: every file counts.
 */
export type ClaimLine = LedgerLine & {
  /** The path of its file. */
  file: string;
};

interface Claimed {
  id: string;
  token: string;
}

/** By task, in the order of each file, the file that was changed last at the end. */
export function linesSinceClaims(
  run: FsRun,
  claims: readonly Claimed[],
): Map<string, readonly ClaimLine[]> {
  const found = new Map<string, ClaimLine[]>(claims.map(({ id }) => [id, []]));
  if (claims.length === 0) return found;
  for (const { path, size } of filesSince(run, Math.min(...claims.map(claimedAt)))) {
    const lines = scanBackwards(path, size, new Map(claims.map(({ id, token }) => [id, token])));
    for (const line of lines.reverse()) found.get(line.task as string)?.push(line);
  }
  return found;
}

export function linesSinceClaim(run: FsRun, claim: Claimed): readonly ClaimLine[] {
  return linesSinceClaims(run, [claim]).get(claim.id) ?? [];
}

/** Lines of a worker in the files that were changed since then, by the filesystem's times. */
export function* linesOfWorker(run: FsRun, worker: string, since: number): Generator<LedgerLine> {
  const mark = Buffer.from(`"worker":${JSON.stringify(worker)}`);
  for (const { path, size } of filesSince(run, since)) {
    for (const text of linesWith(path, mark, size)) {
      const line = lineFrom(text);
      if (line?.worker === worker) yield line;
    }
  }
}

/** 0 for a text that is no token of ours. */
function claimedAt({ token }: Claimed): number {
  const at = Number(token) / 1000;
  return Number.isFinite(at) ? at : 0;
}

/** Times of the filesystem move once per tick. */
const SLACK_MS = 2_000;

function filesSince(run: FsRun, since: number): DayFile[] {
  const now = Date.now();
  const files = dayFiles(run.paths.ledger);
  const latest = Math.max(since, ...files.map(({ stats }) => stats.mtimeMs));
  const isTrusted = latest <= now + SLACK_MS;
  return files
    .filter(({ stats }) => !isTrusted || stats.mtimeMs >= since - SLACK_MS)
    .sort((a, b) => a.stats.mtimeMs - b.stats.mtimeMs);
}

const FIRST_CHUNK = 16 * 1024;
const LARGEST_CHUNK = 1024 * 1024;
/** With more tasks than this, all lines are read instead of searching for each task. */
const FEW = 8;

/** The last line first. Ends a chunk before the lines of all claims. */
function scanBackwards(
  path: string,
  size: number,
  tokens: ReadonlyMap<string, string>,
): ClaimLine[] {
  const fd = openSync(path, SAFE_OPEN);
  try {
    const found: ClaimLine[] = [];
    const unmet = new Set(tokens.keys());
    const needles = [...tokens.keys()].map((id) => Buffer.from(`"task":${JSON.stringify(id)}`));
    let end = size;
    let rest: Buffer | null = null;
    let step = FIRST_CHUNK;
    // A line may be written a moment after a line of another process that follows from it.
    for (let isLast = false; end > 0 && !isLast; step = Math.min(2 * step, LARGEST_CHUNK)) {
      isLast = unmet.size === 0;
      const from = Math.max(0, end - step);
      const buffer = Buffer.allocUnsafe(end - from);
      const chunk = buffer.subarray(0, readAt(fd, buffer, from, buffer.length));
      // The text behind the last line break is still being written, or was torn.
      const data: Buffer =
        rest === null ? chunk.subarray(0, chunk.lastIndexOf(10) + 1) : Buffer.concat([chunk, rest]);
      const begin = from === 0 ? 0 : data.indexOf(10) + 1;
      for (const text of linesWithin(data.subarray(begin), tokens, needles).reverse()) {
        const line = lineFrom(text);
        const token = tokens.get(line?.task ?? "");
        if (line === null || token === undefined) continue;
        found.push({ ...line, file: path });
        if (line.event === "claimed" && line.token === token) unmet.delete(line.task ?? "");
      }
      rest = rest === null && data.length === 0 ? null : data.subarray(0, begin);
      end = from;
    }
    return found;
  } finally {
    closeSync(fd);
  }
}

function linesWithin(
  data: Buffer,
  tasks: ReadonlyMap<string, unknown>,
  needles: readonly Buffer[],
): string[] {
  if (needles.length > FEW) {
    const lines = data.toString("utf8").split("\n");
    return lines.filter((text) => tasks.has(/"task":"([^"]*)"/.exec(text)?.[1] ?? ""));
  }
  const starts = new Set<number>();
  for (const needle of needles) {
    for (let at = data.indexOf(needle); at >= 0; at = data.indexOf(needle, at + needle.length)) {
      starts.add(data.lastIndexOf(10, at) + 1);
    }
  }
  return [...starts]
    .sort((a, b) => a - b)
    .map((start) => data.toString("utf8", start, data.indexOf(10, start)));
}
