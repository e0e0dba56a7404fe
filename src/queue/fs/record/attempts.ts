import type { Stats } from "node:fs";
import { parseRecord } from "../../../base/json.ts";
import { isListedName, isName } from "../../../base/names.ts";
import { inSlices } from "../../../platform/slices.ts";
import {
  type ApprovalRecord,
  type AttemptRecord,
  type HistoryRecord,
  isAttempt,
  type ReceiptRecord,
  type RetryRecord,
  type VoidRecord,
} from "../../attempt.ts";
import type { LedgerLine } from "../../ledger.ts";
import {
  isForeign,
  linkIfFree,
  readRegular,
  replaceFile,
  statIfThere,
  viaTemporary,
} from "../files/atomic.ts";
import { appendLine } from "../files/lines.ts";
import { type FsRun, temporaryPath } from "../fs-run.ts";
import { hash } from "../lanes/lanes.ts";
import { readLedger } from "./ledger-files.ts";

/**
 * `.viv/attempts/<id>.jsonl`: the ended attempts of a task that did not succeed at once. The ledger
 * has them all; this is the part that the next claim of the task must know. A file that is damaged,
 * or has fewer attempts than its caller expects, is restored from the ledger.
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

/** `expected`: the number of the next attempt, at least, if the caller has it. */
export function readHistory(run: FsRun, id: string, expected = 1): HistoryRecord[] {
  const found = readFile(run, id);
  if (found === null && expected <= 1) {
    // Mostly it has none. If all of them were lost, it may have had one.
    return run.recoverIfLost() ? (readFile(run, id)?.records ?? []) : [];
  }
  const { records, isWhole } = found ?? NO_HISTORY;
  if (isWhole && attemptNumber(records) >= expected) return records;
  return restoreHistory(run, id, digestLedger(run, id).histories.get(id) ?? []);
}

/** Adds the records that only the ledger has to the file. */
export function restoreHistory(
  run: FsRun,
  id: string,
  recorded: readonly HistoryRecord[],
): HistoryRecord[] {
  const found = readFile(run, id);
  const { records, voided } = found ?? NO_HISTORY;
  const whole = merge(records, notVoid(recorded, voided));
  const isComplete = found?.isWhole === true && whole.length === records.length;
  if (run.readOnly || isComplete || (whole.length === 0 && found === null)) return whole;
  const path = pathOf(run, id);
  const text = [...voided, ...whole].map((one) => `${lineOf(id, one)}\n`).join("");
  const tmp = temporaryPath(run, `attempts-${id.slice(0, 60)}`);
  // Others append to a new one as soon as it is there: their lines must not be replaced.
  if (found !== null || statIfThere(path)) replaceFile(path, tmp, text, false);
  else viaTemporary(tmp, text, false, () => linkIfFree(tmp, path));
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

/** How many of these attempts its file lacks; at least 1 when the file is damaged. */
export function missingAttempts(
  run: FsRun,
  id: string,
  recorded: readonly HistoryRecord[],
): number {
  const { records, voided, isWhole } = readFile(run, id) ?? NO_HISTORY;
  const known = new Set(records.filter(isAttempt).map((one) => one.token));
  const counted = notVoid(recorded, voided).filter(isAttempt);
  const missing = counted.filter(({ token }) => !known.has(token)).length;
  return isWhole ? missing : Math.max(1, missing);
}

/**
 * Each record once, in the order in which it happened. A person's decision is written to the file
 * first, and to the ledger maybe after the next attempt: if both have as many, none is missing.
 */
function merge(own: readonly HistoryRecord[], recorded: readonly HistoryRecord[]): HistoryRecord[] {
  const known = new Set(keysOf(own));
  const keys = keysOf(recorded);
  const lacksDecisions = decisionsIn(recorded) > decisionsIn(own);
  const missing = recorded.filter(
    (one, i) => (isAttempt(one) || lacksDecisions) && !known.has(keys[i] as string),
  );
  if (missing.length === 0) return [...own];
  return [...own, ...missing].sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
}

function decisionsIn(records: readonly HistoryRecord[]): number {
  return records.filter((one) => !isAttempt(one)).length;
}

/** A decision is known by the attempt before it: file and ledger have different times for it. */
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
  /** Every line can be read, and is about this task. */
  isWhole: boolean;
}

const NO_HISTORY: Readonly<HistoryFile> = { records: [], voided: [], isWhole: true };

/** Null when there is none. */
function readFile(run: FsRun, id: string): HistoryFile | null {
  let text: string | undefined;
  try {
    text = readRegular(pathOf(run, id), LIMIT)?.text;
  } catch (error) {
    if (!isForeign(error)) throw error;
    return { records: [], voided: [], isWhole: false };
  }
  if (text === undefined) return null;
  const records: HistoryRecord[] = [];
  const voided: VoidRecord[] = [];
  let isWhole = text.endsWith("\n");
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const read = recordFrom(line, id);
    if (read === null) {
      isWhole = false; // torn by a full disk, or nothing of ours: the ledger has the whole one
    } else if ("executed" in read) addReceipt(records, read.executed, read.receipt);
    else if ("approved" in read) dropProof(records, read.unproven);
    else if ("void" in read) {
      voided.push(read);
      removeEnd(records, read.void, read.outcome);
    } else records.push(read);
  }
  // Others may have written an attempt as well (recovery, a second reaper): the first counts.
  const seen = new Set<string>();
  const first = records.filter(
    (one) => !isAttempt(one) || (!seen.has(one.token) && seen.add(one.token)),
  );
  return { records: first, voided, isWhole };
}

function addReceipt(records: readonly HistoryRecord[], token?: string, receipt?: string): void {
  const attempt = records.findLast((one) => isAttempt(one) && one.token === token);
  if (attempt && receipt) (attempt as AttemptRecord).receipt ??= receipt;
}

/** The last attempt was approved as unproven. */
export function dropProof(records: readonly HistoryRecord[], unproven: string): void {
  const attempt = records.findLast(isAttempt);
  if (attempt) Object.assign(attempt, { proof: undefined, unproven });
}

/** False when there is no such end. */
function removeEnd(records: HistoryRecord[], token?: string, outcome?: string): boolean {
  const at = records.findLastIndex(
    (one) => isAttempt(one) && one.token === token && one.outcome === outcome,
  );
  if (at >= 0) records.splice(at, 1);
  return at >= 0;
}

type AnyRecord = HistoryRecord | VoidRecord | ReceiptRecord | ApprovalRecord;

/** Null for a text that is no record, or one of another task. */
function recordFrom(line: string, id: string): AnyRecord | null {
  const { task = id, ...record } = parseRecord(line) ?? {};
  if (task !== id) return null;
  const isKnown =
    typeof record.executed === "string" ||
    typeof record.approved === "string" ||
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

/** The history of the task with this file: one that came back should have one. */
export function historyAt(run: FsRun, id: string, stats: Stats): HistoryRecord[] {
  return cameBack(run, stats) && !hasHistory(run, id)
    ? missedHistory(run, id)
    : readHistory(run, id);
}

const RESTORE_EVERY_MS = 60_000;

/**
 * The history of a task that seems to have lost it; its file may also have been touched. So the
 * ledger is read for all tasks, and not again for some time: 1 % of it at most.
 */
export function missedHistory(run: FsRun, id: string): HistoryRecord[] {
  const { restoredAt, restoreCost } = run.memo;
  const wait = Math.max(RESTORE_EVERY_MS, 100 * restoreCost);
  if (performance.now() - restoredAt > wait) restoreHistories(run);
  return readFile(run, id)?.records ?? [];
}

/** The same for all tasks. */
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
  return last && isAttempt(last) && last.retry_at ? Date.parse(last.retry_at) : 0;
}

/** Derived data, as the ledger has it. */
export interface Digest {
  /** Of each task, the records that its file in attempts/ should have. */
  histories: Map<string, HistoryRecord[]>;
  /** Tasks that were enqueued or adopted by us: their ids are registered. */
  ours: Set<string>;
  /** Tasks that a person stopped last. */
  cancelled: Set<string>;
  /** Unreadable lines, by file. */
  torn: Map<string, number>;
  lines: number;
}

/** `only`: the histories of one task. */
export function digestLedger(run: FsRun, only?: string): Digest {
  const { digest, onTorn, add } = newDigest(only);
  for (const line of readLedger(run.paths.ledger, "", onTorn)) add(line);
  return digest;
}

/** The same, while other work of the process goes on. */
export async function digestLedgerInSlices(run: FsRun): Promise<Digest> {
  const { digest, onTorn, add } = newDigest();
  for await (const line of inSlices(readLedger(run.paths.ledger, "", onTorn))) add(line);
  return digest;
}

function newDigest(only?: string) {
  const sets = { ours: new Set<string>(), cancelled: new Set<string>() };
  const digest: Digest = { histories: new Map(), ...sets, torn: new Map(), lines: 0 };
  const { histories, ours, torn } = digest;
  const seen: Seen = { early: new Set(), unlogged: new Map() };
  const onTorn = (file: string) => torn.set(file, (torn.get(file) ?? 0) + 1);
  const add = (line: LedgerLine) => {
    digest.lines++;
    const { task } = line;
    if (!isListedName(task) || (only !== undefined && task !== only)) return;
    if (line.event === "enqueued" && isName(task)) ours.add(task);
    const stops = stopsTask(line);
    if (stops !== undefined) digest.cancelled[stops ? "add" : "delete"](task);
    const records = histories.get(task) ?? [];
    follow(records, line, seen);
    if (records.length > 0) histories.set(task, records);
  };
  return { digest, onTorn, add };
}

/** True: a person stopped it. False: it was not, or has come back. Undefined: says nothing. */
function stopsTask({ event, outcome, because, to }: LedgerLine): boolean | undefined {
  if (event === "cancelled") return because === undefined;
  if (event === "ended" && to === "failed") return outcome === "cancelled";
  if (event === "retried" || (event === "void" && outcome === "cancelled")) return false;
  return undefined;
}

interface Seen {
  /** Voids read before their ends: a wrong clock may have put them into an earlier file. */
  early: Set<string>;
  /** Successes at the first attempt, which only a task that was enqueued again has in its history. */
  unlogged: Map<string, LedgerLine>;
}

function follow(records: HistoryRecord[], line: LedgerLine, { early, unlogged }: Seen): void {
  const { event, token, outcome } = line;
  const end = `${line.task} ${token} ${outcome}`;
  switch (event) {
    case "ended":
      if (early.delete(end)) return;
      if (isLogged(line)) records.push(attemptFrom(line));
      else if (line.task && token && outcome) unlogged.set(line.task, line);
      return;
    case "void":
      if (!removeEnd(records, token, outcome)) early.add(end);
      return;
    case "executed":
      addReceipt(records, token, line.receipt);
      return;
    case "approved":
      if (line.unproven) dropProof(records, line.unproven);
      return;
  }
  if (!isDecision(line)) return;
  const { task = "", from } = line;
  const first = unlogged.get(task);
  if (first && from === "done" && records.length === 0) records.push(attemptFrom(first));
  records.push(decisionFrom(line));
}

/** Sends the task back: earlier attempts no longer count. */
export function isDecision({ event }: LedgerLine): boolean {
  return event === "retried" || event === "reworked" || event === "rejected";
}

export function decisionFrom({ by = "someone", at, note }: LedgerLine): RetryRecord {
  return { retried: true, by, at, note: note || undefined };
}

/** A task that is done at its first attempt, without a proof, has no history: see ends/end-claim.ts. */
function isLogged({ token, outcome, to, attempt, proof }: LedgerLine): boolean {
  const isPlain = to === "done" && (attempt ?? 1) === 1 && !proof;
  return Boolean(token && outcome && to) && !isPlain;
}

export function attemptFrom(line: LedgerLine): AttemptRecord {
  return {
    attempt: line.attempt ?? 1,
    worker: line.worker ?? "?",
    token: line.token as string,
    outcome: line.outcome as AttemptRecord["outcome"],
    to: line.to as AttemptRecord["to"],
    at: line.at,
    note: line.note || undefined,
    fingerprint: line.fingerprint || undefined,
    retry_at: line.retry_at || undefined,
    receipt: line.receipt || undefined,
    proof: line.proof,
    commit: line.commit,
    unproven: line.unproven,
  };
}
