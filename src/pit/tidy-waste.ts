import * as z from "zod/mini";
import { VivError } from "../base/errors.ts";
import type { WasteLog } from "./waste.ts";
import type { WasteFiles } from "./waste-files.ts";
import {
  addLog,
  attemptsIn,
  boundTallies,
  factsOf,
  isSameSummary,
  logFacts,
  mergeTallies,
  renderSummary,
  type Tallies,
} from "./waste-summary.ts";

/**
 * Cleanup duty: sums up the logs in waste/, then prunes the old ones. One pass.
 *
 * A log is counted in one of two places: while it is there, by reading it; when it goes, in the
 * totals of record/waste.json. The one write that adds it to the totals also lists it as being
 * pruned; from then on it is only removed. So a crash at any point counts nothing twice and loses
 * nothing. Two passes at once would add the same logs twice: the caller holds a lock for the pit.
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
  warning?: string;
}

/** The memo is written when it would save as many reads: small pits have none. */
const READS_WORTH_A_MEMO = 100;

const count = z.number().check(z.gte(0));
const logSchema = z.object({
  name: z.string().check(z.regex(/^[^/]*\.log$/s)),
  size: count,
  mtimeMs: z.number(),
});
const tallySchema = z.object({
  attempts: count,
  failures: count,
  other: count,
  seconds: count,
  unknown: count,
  errors: z.array(z.tuple([z.string(), count])),
});
/** Totals as pairs: zod drops a key `__proto__`. */
const recordSchema = z.object({
  version: z.literal(1),
  totals: z.array(z.tuple([z.string(), tallySchema])),
  /** Already in the totals, perhaps still there. */
  pruning: z.array(logSchema),
});
/** The version changes when logs are read differently: a memo of another version is ignored. */
const memoSchema = z.object({
  version: z.literal(1),
  seen: z.array(z.object({ log: logSchema, facts: logFacts })),
});
type Seen = z.output<typeof memoSchema>["seen"][number];

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
  const settled = seen.filter(({ facts, log }) => facts.isEnded || !isRunning(log.name));

  const old = settled.filter(({ log }) => log.mtimeMs < now - keepMs);
  const mentioned = await mentionedIn(files, old, warnings);
  const kept = old.filter(({ log }) => mentioned?.has(log.name));
  const going = new Set(mentioned ? old.filter(({ log }) => !mentioned.has(log.name)) : []);

  for (const { facts } of going) addLog(totals, facts);
  const doomed = [...going].map(({ log }) => log);
  if (doomed.length > 0) await writeRecord(files, totals, [...stuck, ...doomed]);

  const staying = settled.filter((one) => !going.has(one));
  const pruned = attemptsIn(totals);
  const all = mergeTallies(new Map(), totals); // a copy: the totals hold only pruned logs
  for (const { facts } of staying) addLog(all, facts);
  const summary = renderSummary(all, { now, logs: staying.length, pruned, kept: kept.length });
  const before = await files.readText("summary");
  if (before === null || !isSameSummary(before, summary)) {
    await files.writeText("summary", summary);
  }

  const left = [...stuck, ...(await files.remove(doomed))];
  const isLeft = memberOf(left);
  const removed = doomed.filter((log) => !isLeft(log));
  if (finished.length + removed.length > 0) await writeRecord(files, totals, left);
  if (left.length > 0) warnings.push(`${namesOf(left)} in waste/ cannot be removed.`);

  return {
    logs: logs.length - removed.length,
    pruned: [...finished, ...removed].map(({ name }) => name),
    kept: kept.map(({ log }) => log.name),
    warning: warnings.join(" ") || undefined,
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

/** The facts of each log; a log that has not changed is not read again. */
async function readLogs(
  files: WasteFiles,
  logs: readonly WasteLog[],
  warnings: string[],
): Promise<Seen[]> {
  const memo = memoSchema.safeParse(parsed(await files.readText("memo"))).data?.seen ?? [];
  const known = new Map(memo.map((one) => [one.log.name, one]));
  const seen: Seen[] = [];
  const unreadable: WasteLog[] = [];
  let reads = 0;
  for (const log of logs) {
    const before = known.get(log.name);
    if (before && isSame(before.log, log)) {
      seen.push(before);
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
      await files.writeText("memo", JSON.stringify({ version: 1, seen }));
    } catch {
      // Then they are read again: pruning must go on when the disk is full.
    }
  }
  return seen;
}

async function readRecord(
  files: WasteFiles,
  now: number,
  warnings: string[],
): Promise<{ totals: Tallies; pruning: WasteLog[] }> {
  const text = await files.readText("record");
  if (text === null) return { totals: new Map(), pruning: [] };
  const value = (parsed(text) ?? {}) as { version?: unknown; totals?: object | null };
  if (typeof value.version === "number" && value.version > 1) {
    const message = "record/waste.json is from a newer viv; clean up with that one.";
    throw new VivError("UNSUPPORTED", message);
  }
  const totals = value.totals && Object.entries(value.totals);
  const { data } = recordSchema.safeParse({ ...value, totals });
  if (data) {
    const tallies = data.totals.map(
      ([snake, tally]) => [snake, { ...tally, errors: new Map(tally.errors) }] as const,
    );
    return { totals: new Map(tallies), pruning: data.pruning };
  }
  const aside = await files.setRecordAside(now);
  warnings.push(
    `record/waste.json was unreadable and is now ${aside}; the totals begin anew without logs pruned before.`,
  );
  return { totals: new Map(), pruning: [] };
}

async function writeRecord(
  files: WasteFiles,
  totals: Tallies,
  pruning: readonly WasteLog[],
): Promise<void> {
  const entries = [...boundTallies(totals)].map(([snake, tally]) => [
    snake,
    { ...tally, errors: [...tally.errors] },
  ]);
  const record = { version: 1, totals: Object.fromEntries(entries), pruning };
  await files.writeText("record", `${JSON.stringify(record, null, 1)}\n`);
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
