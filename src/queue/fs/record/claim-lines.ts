import { closeSync, fstatSync, readSync } from "node:fs";
import { openSync } from "../../../platform/files/beneath.ts";
import type { LedgerLine } from "../../ledger.ts";
import { completeLines, namesIn, SAFE_OPEN, statIfThere } from "../files/atomic.ts";
import type { FsRun } from "../run.ts";

/**
 * What the ledger says about tasks since they were claimed. Each file is read from its end back to the
 * lines of those claims, so that it costs what was written since, however long the ledger is.
 *
 * The days in the names of the files are the writers', whose clocks may be wrong; a claim's token is a
 * time of the file system, and so is when a file was last written to. A file that was not touched since
 * the claim says nothing about it. Where times lie in the future, no time is trusted: then every file counts.
 */
export type ClaimLine = LedgerLine & {
  /** The path of the ledger's file that it stands in. */
  file: string;
};

interface Claimed {
  id: string;
  token: string;
}

/** By task, in the order of each file, the file that was written to last at the end. */
export function linesSinceClaims(
  run: FsRun,
  claims: readonly Claimed[],
): Map<string, readonly ClaimLine[]> {
  const found = new Map<string, ClaimLine[]>(claims.map(({ id }) => [id, []]));
  if (claims.length === 0) return found;
  for (const path of filesSince(run, Math.min(...claims.map(claimedAt)))) {
    const lines = scanBackwards(path, new Map(claims.map(({ id, token }) => [id, token])));
    for (const line of lines.reverse()) found.get(line.task as string)?.push(line);
  }
  return found;
}

export function linesSinceClaim(run: FsRun, claim: Claimed): readonly ClaimLine[] {
  return linesSinceClaims(run, [claim]).get(claim.id) ?? [];
}

/** Lines of a worker in the files that were written to since then, by those files' own times. */
export function* linesOfWorker(run: FsRun, worker: string, since: number): Generator<LedgerLine> {
  const mark = `"worker":${JSON.stringify(worker)}`;
  for (const path of filesSince(run, since)) {
    for (const { text } of completeLines(path, 0)) {
      const line = text.includes(mark) ? lineFrom(text, path) : null;
      if (line?.worker === worker) yield line;
    }
  }
}

/** 0 for a text that is no token: it was never given out. */
function claimedAt({ token }: Claimed): number {
  const at = Number(token) / 1000;
  return Number.isFinite(at) ? at : 0;
}

/** The times that a file system gives its files move once per tick. */
const SLACK_MS = 2_000;

function filesSince(run: FsRun, since: number): string[] {
  const now = Date.now();
  const folder = run.paths.ledger;
  const files = namesIn(folder).flatMap((name) => {
    const path = `${folder}/${name}`;
    const stats = name.endsWith(".jsonl") ? statIfThere(path) : undefined;
    return stats?.isFile() ? [{ path, writtenAt: stats.mtimeMs }] : [];
  });
  const latest = Math.max(since, ...files.map(({ writtenAt }) => writtenAt));
  const isTrusted = latest <= now + SLACK_MS;
  return files
    .filter(({ writtenAt }) => !isTrusted || writtenAt >= since - SLACK_MS)
    .sort((a, b) => a.writtenAt - b.writtenAt)
    .map(({ path }) => path);
}

const FIRST_CHUNK = 16 * 1024;
const LARGEST_CHUNK = 1024 * 1024;
/** With more tasks than this, lines are looked at one by one instead of searching for each task. */
const FEW = 8;

/** The last line first. Ends when the lines of all claims were met, and a bit before them. */
function scanBackwards(path: string, tokens: ReadonlyMap<string, string>): ClaimLine[] {
  const fd = openSync(path, SAFE_OPEN);
  try {
    const found: ClaimLine[] = [];
    const unmet = new Set(tokens.keys());
    const needles = [...tokens.keys()].map((id) => Buffer.from(`"task":${JSON.stringify(id)}`));
    let end = fstatSync(fd).size;
    let rest: Buffer | null = null;
    let size = FIRST_CHUNK;
    // A line may be written a moment after a line of another process that follows from it.
    for (let isLast = false; end > 0 && !isLast; size = Math.min(2 * size, LARGEST_CHUNK)) {
      isLast = unmet.size === 0;
      const from = Math.max(0, end - size);
      const chunk = readAt(fd, from, end - from);
      // What stands behind the last line break is still being written, or was torn.
      const data: Buffer =
        rest === null ? chunk.subarray(0, chunk.lastIndexOf(10) + 1) : Buffer.concat([chunk, rest]);
      const begin = from === 0 ? 0 : data.indexOf(10) + 1;
      for (const text of linesAbout(data.subarray(begin), tokens, needles).reverse()) {
        const line = lineFrom(text, path);
        if (line === null || !tokens.has(line.task ?? "")) continue;
        found.push(line);
        if (line.event === "claimed" && line.token === tokens.get(line.task ?? "")) {
          unmet.delete(line.task ?? "");
        }
      }
      rest = rest === null && data.length === 0 ? null : data.subarray(0, begin);
      end = from;
    }
    return found;
  } finally {
    closeSync(fd);
  }
}

function readAt(fd: number, from: number, length: number): Buffer {
  const buffer = Buffer.allocUnsafe(length);
  let read = 0;
  while (read < length) {
    const n = readSync(fd, buffer, read, length - read, from + read);
    if (n === 0) break; // cut off since we asked for its size
    read += n;
  }
  return buffer.subarray(0, read);
}

function linesAbout(
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

/** Null for a torn line, and what is no line. */
function lineFrom(text: string, file: string): ClaimLine | null {
  if (text === "") return null;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...(value as LedgerLine), file } : null;
  } catch {
    return null;
  }
}
