import type { Stats } from "node:fs";
import { isVivError } from "../../../base/errors.ts";
import {
  type AttemptRecord,
  type HistoryRecord,
  isAttempt,
  type ReceiptRecord,
  type VoidRecord,
} from "../../attempt.ts";
import {
  appendLine,
  linkIfFree,
  obstacle,
  readRegular,
  replaceFile,
  statIfThere,
  viaTemporary,
} from "../files/atomic.ts";
import { hash } from "../lanes/lanes.ts";
import { type FsRun, temporaryPath } from "../run.ts";
import { type Digest, digestLedger } from "./digest.ts";

/**
 * `.viv/attempts/<id>.jsonl`: the ended attempts of a task, for those that did not succeed at
 * once. The ledger has them all; this is the part that the next claim of the task must know. What is
 * lost here is copied from there again: when the file cannot be all that was written, or has fewer
 * attempts than somebody else knows of.
 */

const LIMIT = 64 * 1024 * 1024;
/** A foreign id may be so long that `.jsonl` does not fit behind it. */
const LONGEST = 240;

function pathOf(run: FsRun, id: string): string {
  const name = Buffer.byteLength(id) <= LONGEST ? id : `${id.slice(0, 60)}~${hash(id)}`;
  return `${run.paths.attempts}/${name}.jsonl`;
}

export function hasHistory(run: FsRun, id: string): boolean {
  return statIfThere(pathOf(run, id)) !== undefined;
}

/** `expected`: which attempt the next one is at least, if the caller knows. */
export function readHistory(run: FsRun, id: string, expected = 1): HistoryRecord[] {
  const found = readFile(run, id);
  if (found === null && expected <= 1) {
    // Mostly it has none. If all of them were lost, it may have had one.
    return run.recoverIfLost() ? (readFile(run, id)?.records ?? []) : [];
  }
  const isWhole = found?.isWhole ?? true;
  if (isWhole && attemptNumber(found?.records ?? []) >= expected) return found?.records ?? [];
  return restoreHistory(run, id, digestLedger(run, id).histories.get(id) ?? []);
}

/** Brings the file up to what the ledger knows. */
export function restoreHistory(
  run: FsRun,
  id: string,
  recorded: readonly HistoryRecord[],
): HistoryRecord[] {
  const found = readFile(run, id);
  const voided = found?.voided ?? [];
  const whole = merge(found?.records ?? [], notVoid(recorded, voided));
  const isComplete = found?.isWhole === true && whole.length === found.records.length;
  if (run.readOnly || isComplete || (whole.length === 0 && found === null)) return whole;
  const text = [...voided, ...whole].map((one) => `${lineOf(id, one)}\n`).join("");
  const tmp = temporaryPath(run, `attempts-${id.slice(0, 60)}`);
  if (found !== null || statIfThere(pathOf(run, id))) {
    replaceFile(pathOf(run, id), tmp, text, false);
    return whole;
  }
  // Others append to it as soon as it is there: what they wrote must not be replaced.
  viaTemporary(tmp, text, false, () => linkIfFree(tmp, pathOf(run, id)));
  return whole;
}

/** An end is taken back in its file first; the ledger may lack that line after a crash. */
function notVoid(
  recorded: readonly HistoryRecord[],
  voided: readonly VoidRecord[],
): HistoryRecord[] {
  const keys = new Set(voided.map(({ void: token, outcome }) => `${token} ${outcome}`));
  return recorded.filter((one) => !isAttempt(one) || !keys.has(`${one.token} ${one.outcome}`));
}

/** How many of these attempts its file lacks; more than none also when it says anything else. */
export function missingAttempts(
  run: FsRun,
  id: string,
  recorded: readonly HistoryRecord[],
): number {
  const found = readFile(run, id);
  const known = new Set(found?.records.filter(isAttempt).map((one) => one.token));
  const counted = notVoid(recorded, found?.voided ?? []);
  const missing = counted.filter((one) => isAttempt(one) && !known.has(one.token)).length;
  return found?.isWhole === false ? Math.max(1, missing) : missing;
}

/**
 * What both know once, in the order in which it happened. A person's word is written here first, and to
 * the ledger maybe after the attempt that follows: if as many are known, none is missing.
 */
function merge(own: readonly HistoryRecord[], recorded: readonly HistoryRecord[]): HistoryRecord[] {
  const known = new Set(keysOf(own));
  const keys = keysOf(recorded);
  const lacksWords = wordsIn(recorded) > wordsIn(own);
  const missing = recorded.filter(
    (one, i) => (isAttempt(one) || lacksWords) && !known.has(keys[i] as string),
  );
  if (missing.length === 0) return [...own];
  return [...own, ...missing].sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
}

function wordsIn(records: readonly HistoryRecord[]): number {
  return records.filter((one) => !isAttempt(one)).length;
}

/** A person's word is known by the attempt that it came after: its time is noted twice. */
function keysOf(records: readonly HistoryRecord[]): string[] {
  let last = "";
  return records.map((one) => {
    if (!isAttempt(one)) return `retried after ${last}`;
    last = one.token;
    return last;
  });
}

interface HistoryFile {
  records: HistoryRecord[];
  /** Ends that were taken back. */
  voided: VoidRecord[];
  /** All that it says can be understood, and is about this task. */
  isWhole: boolean;
}

/** Null when there is none. */
function readFile(run: FsRun, id: string): HistoryFile | null {
  let text: string;
  try {
    const file = readRegular(pathOf(run, id), LIMIT);
    if (file === null) return null;
    text = file.text;
  } catch (error) {
    const isForeign = ["ENOTDIR", "EACCES", "EPERM"].includes(obstacle(error) ?? "");
    if (!isForeign && !isVivError(error, "CORRUPT")) throw error;
    return { records: [], voided: [], isWhole: false };
  }
  const records: HistoryRecord[] = [];
  const voided: VoidRecord[] = [];
  let isWhole = text.endsWith("\n");
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const read = recordFrom(line, id);
    if (read === null) {
      isWhole = false; // torn by a full disk, or nothing of ours: the ledger has the whole one
      continue;
    }
    if ("executed" in read) {
      const { executed, receipt } = read;
      const attempt = records.findLast((one) => isAttempt(one) && one.token === executed);
      if (attempt) (attempt as AttemptRecord).receipt ??= receipt;
      continue;
    }
    if (!("void" in read)) {
      records.push(read);
      continue;
    }
    voided.push(read);
    const { void: token, outcome } = read;
    const at = records.findLastIndex(
      (r) => isAttempt(r) && r.token === token && r.outcome === outcome,
    );
    if (at >= 0) records.splice(at, 1);
  }
  // Others may have written an attempt as well (recovery, a second reaper): the first counts.
  const seen = new Set<string>();
  const first = records.filter(
    (one) => !isAttempt(one) || (!seen.has(one.token) && seen.add(one.token)),
  );
  return { records: first, voided, isWhole };
}

type AnyRecord = HistoryRecord | VoidRecord | ReceiptRecord;

/** Null for what is no record, or one of another task. */
function recordFrom(line: string, id: string): AnyRecord | null {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  const { task, ...record } = value as Record<string, unknown>;
  if (task !== undefined && task !== id) return null;
  const isKnown =
    typeof record.executed === "string" ||
    typeof record.void === "string" ||
    (record.retried === true && typeof record.at === "string") ||
    (typeof record.token === "string" && typeof record.at === "string");
  return isKnown ? (record as unknown as AnyRecord) : null;
}

function lineOf(id: string, entry: AnyRecord): string {
  return JSON.stringify({ task: id, ...entry });
}

export function appendHistory(run: FsRun, id: string, entry: AnyRecord): void {
  appendLine(pathOf(run, id), lineOf(id, entry));
}

/** Of a task whose file is at hand: if it came back, it should have one. */
export function historyAt(run: FsRun, id: string, stats: Stats): HistoryRecord[] {
  return cameBack(run, stats) && !hasHistory(run, id)
    ? missedHistory(run, id)
    : readHistory(run, id);
}

const RESTORE_EVERY_MS = 60_000;

/**
 * Of a task that seems to have lost it; its file may also have been touched. So the ledger is
 * read for all of them, and not again for some time: 1 % of it at most.
 */
export function missedHistory(run: FsRun, id: string): HistoryRecord[] {
  const { restoredAt, restoreCost } = run.memo;
  const wait = Math.max(RESTORE_EVERY_MS, 100 * restoreCost);
  if (performance.now() - restoredAt > wait) restoreHistories(run);
  return readFile(run, id)?.records ?? [];
}

/** Brings all of them up to what the ledger knows. */
export function restoreHistories(run: FsRun): Digest {
  const begin = performance.now();
  const digest = digestLedger(run);
  for (const [id, history] of digest.histories) restoreHistory(run, id, history);
  run.memo.restoredAt = performance.now();
  run.memo.restoreCost = run.memo.restoredAt - begin;
  return digest;
}

/** A task that came back to where it lies was touched then: see outdateLines. */
export function cameBack(run: FsRun, stats: Stats): boolean {
  if (run.paths.layout.isFlat) return false; // food is edited by hand
  return stats.birthtimeMs > 0 && stats.mtimeMs - stats.birthtimeMs > 50;
}

export function attemptNumber(history: readonly HistoryRecord[]): number {
  return history.filter(isAttempt).length + 1;
}

/** When the task may run again, by the last attempt's verdict; 0 when at once. */
export function restsUntil(history: readonly HistoryRecord[]): number {
  const last = history.at(-1);
  if (last === undefined || !isAttempt(last)) return 0;
  return (last as AttemptRecord).retry_at ? Date.parse((last as AttemptRecord).retry_at ?? "") : 0;
}
