import { VivError } from "../base/errors.ts";
import type { WasteLog } from "./waste.ts";
import type { WasteFiles } from "./waste-files.ts";
import {
  addLog,
  attemptsIn,
  boundTallies,
  factsOf,
  isSameSummary,
  type LogFacts,
  mergeTallies,
  renderSummary,
  type SnakeTally,
  type Tallies,
} from "./waste-summary.ts";

/**
 * Cleanup duty: sums up the logs in waste/, then prunes the old ones. One pass.
 *
 * A log is counted in one of two places: while it is there, by reading it; when it goes, in the
 * totals of record/waste.json. The one write that adds it to the totals also lists it as being
 * pruned; from then on it is not read any more, only removed. So a crash at any point counts nothing
 * twice and loses nothing.
 *
 * Two passes at once would both add the same logs: the caller holds a lock for the pit.
 */
export interface TidyWasteOptions {
  now: number;
  /** Logs that were last written longer ago are pruned. */
  keepMs: number;
  /** Asked only about logs without an end. One that runs is neither counted nor pruned. */
  isRunning: (name: string) => boolean;
}

export interface TidiedWaste {
  /** How many logs are left. */
  logs: number;
  pruned: string[];
  /** Old, but named in scraps/. */
  kept: string[];
  /** What could not be done, and why, in sentences. */
  trouble?: string;
}

const VERSION = 1;
/** Changes when logs are read differently: a memo of another version is ignored. */
const MEMO_VERSION = 1;
/** The memo is written when it would save as many reads: small pits have none. */
const READS_WORTH_A_MEMO = 100;

interface WasteRecord {
  totals: Tallies;
  /** Already in the totals, perhaps still there. */
  pruning: WasteLog[];
}

interface Seen {
  log: WasteLog;
  facts: LogFacts;
}

export async function tidyWaste(
  files: WasteFiles,
  { now, keepMs, isRunning }: TidyWasteOptions,
): Promise<TidiedWaste> {
  const warnings: string[] = [];
  const { totals, pruning } = await readRecord(files, now, warnings);
  const stuck = await files.remove(pruning);
  const isStuck = memberOf(stuck);
  const finished = pruning.filter((log) => !isStuck(log));

  const logs = await files.list();
  const uncounted = logs.filter((log) => !isStuck(log));
  const seen = await readLogs(files, uncounted, warnings);
  const running = new Set(seen.filter((one) => !one.facts.isEnded && isRunning(one.log.name)));
  const settled = seen.filter((one) => !running.has(one));

  const old = settled.filter(({ log }) => log.mtimeMs < now - keepMs);
  const mentioned = await mentionedIn(files, old, warnings);
  const kept = old.filter(({ log }) => mentioned?.has(log.name));
  const going = new Set(mentioned ? old.filter(({ log }) => !mentioned.has(log.name)) : []);

  for (const { facts } of going) addLog(totals, facts);
  const doomed = [...going].map(({ log }) => log);
  if (doomed.length > 0) await writeRecord(files, { totals, pruning: [...stuck, ...doomed] });

  const staying = settled.filter((one) => !going.has(one));
  const pruned = attemptsIn(totals);
  const all = mergeTallies(new Map(), totals); // the totals stay what was pruned
  for (const { facts } of staying) addLog(all, facts);
  const counts = { now, logs: staying.length, pruned, kept: kept.length };
  await writeSummary(files, renderSummary(all, counts));

  const left = [...stuck, ...(await files.remove(doomed))];
  const isLeft = memberOf(left);
  const removed = doomed.filter((log) => !isLeft(log));
  if (finished.length + removed.length > 0) await writeRecord(files, { totals, pruning: left });
  if (left.length > 0) warnings.push(`${namesOf(left)} in waste/ cannot be removed.`);

  return {
    logs: logs.length - removed.length,
    pruned: [...finished, ...removed].map(({ name }) => name),
    kept: kept.map(({ log }) => log.name),
    trouble: warnings.join(" ") || undefined,
  };
}

/** Null when it cannot be known. */
async function mentionedIn(
  files: WasteFiles,
  old: readonly Seen[],
  warnings: string[],
): Promise<Set<string> | null> {
  if (old.length === 0) return new Set();
  const answer = await files.mentioned(old.map(({ log }) => log.name));
  if (answer instanceof Set) return answer;
  warnings.push(`${answer.unreadable}, so nothing is pruned: it may name a log.`);
  return null;
}

async function writeSummary(files: WasteFiles, text: string): Promise<void> {
  const before = await files.readText("summary");
  if (before === null || !isSameSummary(before, text)) await files.writeText("summary", text);
}

/** The facts of each log; a log that has not changed is not read again. */
async function readLogs(
  files: WasteFiles,
  logs: readonly WasteLog[],
  warnings: string[],
): Promise<Seen[]> {
  const memo = memoFrom(await files.readText("memo"));
  const seen: Seen[] = [];
  const unreadable: WasteLog[] = [];
  let reads = 0;
  for (const log of logs) {
    const known = memo.get(log.name);
    if (known && isSame(known.log, log)) {
      seen.push(known);
      continue;
    }
    try {
      const text = await files.read(log);
      const facts = text && factsOf({ name: log.name, ...text });
      if (facts) seen.push({ log, facts });
      reads++;
    } catch {
      unreadable.push(log); // reported below; neither counted nor pruned until it can be read
    }
  }
  if (unreadable.length > 0) warnings.push(`${namesOf(unreadable)} in waste/ cannot be read.`);
  if (reads >= READS_WORTH_A_MEMO) {
    try {
      await files.writeText("memo", JSON.stringify({ version: MEMO_VERSION, seen }));
    } catch {
      // Then they are read again: pruning must go on when the disk is full.
    }
  }
  return seen;
}

function memoFrom(text: string | null): Map<string, Seen> {
  const memo = parsed(text) as { version?: unknown; seen?: unknown } | null;
  if (memo?.version !== MEMO_VERSION || !Array.isArray(memo.seen)) return new Map();
  return new Map(memo.seen.filter(isSeen).map((one) => [one.log.name, one]));
}

function isSeen(value: unknown): value is Seen {
  const { log, facts } = (value ?? {}) as Partial<Seen>;
  const { snake, isEnded, end, seconds, errors } = (facts ?? {}) as Partial<LogFacts>;
  const isNamed = typeof snake === "string" && typeof isEnded === "boolean" && end !== undefined;
  return isLog(log) && isNamed && (seconds === null || isCount(seconds)) && Array.isArray(errors);
}

async function readRecord(
  files: WasteFiles,
  now: number,
  warnings: string[],
): Promise<WasteRecord> {
  const text = await files.readText("record");
  if (text === null) return { totals: new Map(), pruning: [] };
  const value = parsed(text) as { version?: unknown; totals?: unknown; pruning?: unknown } | null;
  const { version, totals: stored, pruning } = value ?? {};
  if (typeof version === "number" && version > VERSION) {
    throw new VivError(
      "UNSUPPORTED",
      "record/waste.json is from a newer viv; clean up with that one.",
    );
  }
  const totals = totalsFrom(stored);
  if (version === VERSION && totals && Array.isArray(pruning) && pruning.every(isLog)) {
    return { totals, pruning };
  }
  const aside = await files.setRecordAside(now);
  warnings.push(
    `record/waste.json was unreadable and is now ${aside}; what was pruned before is not in the totals.`,
  );
  return { totals: new Map(), pruning: [] };
}

async function writeRecord(files: WasteFiles, { totals, pruning }: WasteRecord): Promise<void> {
  const entries = [...boundTallies(totals)].map(([snake, tally]) => [
    snake,
    { ...tally, errors: [...tally.errors] },
  ]);
  const record = { version: VERSION, totals: Object.fromEntries(entries), pruning };
  await files.writeText("record", `${JSON.stringify(record, null, 1)}\n`);
}

function totalsFrom(value: unknown): Tallies | null {
  if (typeof value !== "object" || value === null) return null;
  const totals: Tallies = new Map();
  for (const [snake, tally] of Object.entries(value)) {
    const { attempts, failures, other, seconds, unknown, errors } = (tally ?? {}) as SnakeTally;
    const counts = [attempts, failures, other, seconds, unknown];
    if (!counts.every(isCount) || !Array.isArray(errors) || !errors.every(isError)) return null;
    totals.set(snake, { attempts, failures, other, seconds, unknown, errors: new Map(errors) });
  }
  return totals;
}

const isCount = (value: unknown): value is number => typeof value === "number" && value >= 0;

function isError(value: unknown): value is [string, number] {
  return Array.isArray(value) && typeof value[0] === "string" && isCount(value[1]);
}

function isLog(value: unknown): value is WasteLog {
  const { name, size, mtimeMs } = (value ?? {}) as Partial<WasteLog>;
  const isPlain = typeof name === "string" && name.endsWith(".log") && !name.includes("/");
  return isPlain && isCount(size) && typeof mtimeMs === "number";
}

function parsed(text: string | null): unknown {
  try {
    return JSON.parse(text ?? "null");
  } catch {
    return null; // the caller treats it as empty
  }
}

const isSame = (a: WasteLog, b: WasteLog) =>
  a.name === b.name && a.size === b.size && a.mtimeMs === b.mtimeMs;

function memberOf(logs: readonly WasteLog[]): (log: WasteLog) => boolean {
  const byName = new Map(logs.map((log) => [log.name, log]));
  return (log) => {
    const other = byName.get(log.name);
    return other !== undefined && isSame(other, log);
  };
}

/** The first few. */
function namesOf(logs: readonly WasteLog[]): string {
  const names = logs.slice(0, 3).map(({ name }) => name);
  return names.join(", ") + (logs.length > 3 ? ` and ${logs.length - 3} more` : "");
}
