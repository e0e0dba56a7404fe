import * as z from "zod/mini";
import { isVivError } from "../../base/errors.ts";
import { parseSince } from "../../base/since.ts";
import { parseWhen } from "../../base/when.ts";
import { followLedgers } from "../../ledger/follow.ts";
import { type Entry, ledgerLine, ROOMS } from "../../ledger/line.ts";
import { overdue } from "../../ledger/seal.ts";
import { verifySteps } from "../../ledger/verify.ts";
import { flag, list, text } from "../../operation/fields.ts";
import { stepsInSlices } from "../../platform/slices.ts";
import { unknownEvents } from "../../queue/ledger-names.ts";
import { defineRunOperation, defineRunStream, type RunContext } from "../../queue/operation.ts";
import { csvHeader, csvRow } from "./csv.ts";
import { isWanted, type LineFilter, lastLines, ledgersHere, linesNow } from "./ledgers.ts";

const filters = {
  rooms: z.optional(
    z
      .array(z.enum(ROOMS))
      .check(z.describe("only lines of these rooms: queue, crew, warden, fleet")),
  ),
  events: list("only these events"),
  tasks: list("only lines about these tasks"),
  agents: list("only lines of these workers, members, dogs and people"),
  types: list("only tasks of these types"),
  since: text("start of the period: 2h, 7d, 22:00, 2026-11-15 or a time"),
  until: text("end of the period: as --since"),
};
const limit = (describe: string) => z.optional(z.int().check(z.gte(0)).check(z.describe(describe)));

type Filters = Partial<Record<keyof typeof filters, readonly string[] | string>>;

function filterFrom(given: Filters, now: number): LineFilter {
  const { since, until, ...rest } = given as LineFilter;
  return {
    ...rest,
    since: since === undefined ? undefined : parseSince(since, now),
    until: until === undefined ? undefined : parseUntil(until, now),
  };
}

/** As `--since`, and any later time. */
function parseUntil(given: string, now: number): string {
  try {
    return parseSince(given, now);
  } catch (error) {
    if (!isVivError(error, "INVALID")) throw error;
    return parseWhen(given, now, "--until");
  }
}

const SHOWN = 50;

export const ledgerShow = defineRunOperation({
  name: "ledger show",
  summary: "lines of the ledgers of this run, its crew and its warden, the newest last",
  access: "read",
  input: z.strictObject({
    ...filters,
    limit: limit(`at most this many (default: the newest ${SHOWN})`),
  }),
  output: z.object({
    lines: z.array(ledgerLine),
    /** Earlier lines that were left out, counted up to 1,000. */
    more: z.number(),
    notes: z.array(z.string()),
  }),
  async run(context, { limit: most = SHOWN, ...given }) {
    const { sources, notes } = await ledgersHere(context);
    const filter = filterFrom(given, context.now());
    const found = await lastLines(sources, filter, most);
    return { ...found, notes: [...notes, ...unknownEvents(filter.events)] };
  },
});

/** A line, or a sentence for the person who looks. */
const tailEvent = z.union([ledgerLine, z.object({ notice: z.string() })]);
export type TailEvent = Entry | { notice: string };

const TAIL = 20;
/** Where the last lines are looked for. */
const TAIL_DAYS = 7;

export const ledgerTail = defineRunStream({
  name: "ledger tail",
  summary: "the last lines of the ledgers; with --follow, further ones as they come",
  access: "read",
  input: z.strictObject({
    ...filters,
    follow: flag("go on until it is stopped"),
    lines: limit(`how many of the last lines (default: ${TAIL})`),
  }),
  event: tailEvent as z.ZodMiniType<TailEvent>,
  output: z.object({}),
  async *stream(context, { follow, lines: count = TAIL, ...given }) {
    const { sources, notes } = await ledgersHere(context);
    const now = context.now();
    const filter = filterFrom(given, now);
    for (const notice of [...notes, ...unknownEvents(filter.events)]) yield { notice };
    const feed = followLedgers(sources);
    const recent = new Date(now - TAIL_DAYS * 86_400_000).toISOString();
    const from = { ...filter, since: filter.since ?? recent };
    const { lines } = await lastLines(sources, from, count, feed.position());
    yield* lines;
    if (follow) yield* newLines(context, feed, filter);
    return {};
  },
});

async function* newLines(
  { signal }: RunContext,
  feed: ReturnType<typeof followLedgers>,
  filter: LineFilter,
): AsyncGenerator<Entry> {
  let wake = () => {};
  let isNews = false;
  const act = () => {
    isNews = true;
    wake();
  };
  const stop = feed.onNews(act);
  signal.addEventListener("abort", act);
  try {
    while (!signal.aborted) {
      isNews = false;
      for await (const { line } of feed.news()) if (isWanted(line, filter)) yield line;
      if (isNews || signal.aborted) continue;
      // Watching alone does not keep a process alive.
      const alive = setInterval(() => {}, 60_000);
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
      clearInterval(alive);
    }
  } finally {
    stop();
    signal.removeEventListener("abort", act);
  }
}

const problem = z.object({
  file: z.string(),
  line: z.optional(z.number()),
  problem: z.string(),
});

export const ledgerVerify = defineRunOperation({
  name: "ledger verify",
  summary:
    "compare the closed files of the ledgers with their seals, and the seals with each other",
  access: "read",
  input: z.strictObject({}),
  output: z.object({
    ok: z.boolean(),
    ledgers: z.array(
      z.object({
        ...{ name: z.string(), folder: z.string(), sealed: z.number() },
        /** Days that are not sealed yet. */
        open: z.array(z.string()),
        /** Days that are not sealed, and were over a day ago. */
        overdue: z.array(z.string()),
        problems: z.array(problem),
      }),
    ),
    notes: z.array(z.string()),
  }),
  async run(context) {
    const { sources, notes } = await ledgersHere(context);
    const ledgers = [];
    for (const { name, folder } of sources) {
      const { open, ...found } = await stepsInSlices(verifySteps(folder));
      const late = overdue(open, context.now());
      const soon = open.filter((day) => !late.includes(day));
      ledgers.push({ name, folder, ...found, open: soon, overdue: late });
    }
    return { ok: ledgers.every(({ problems }) => problems.length === 0), ledgers, notes };
  },
});

export const FORMATS = ["jsonl", "csv"] as const;

export const ledgerExport = defineRunStream({
  name: "ledger export",
  summary: "all lines of the ledgers of this run, its crew and its warden, by time",
  access: "read",
  input: z.strictObject({
    ...filters,
    format: z.optional(z.enum(FORMATS).check(z.describe("jsonl (default) or csv"))),
  }),
  event: z.object({ text: z.string() }),
  output: z.object({ lines: z.number(), notes: z.array(z.string()) }),
  async *stream(context, { format = "jsonl", ...given }) {
    const { sources, notes } = await ledgersHere(context);
    const filter = filterFrom(given, context.now());
    if (format === "csv") yield { text: csvHeader() };
    let lines = 0;
    for await (const line of linesNow(sources, filter)) {
      lines++;
      yield { text: format === "csv" ? csvRow(line) : JSON.stringify(line) };
      if (context.signal.aborted) break;
    }
    return { lines, notes: [...notes, ...unknownEvents(filter.events)] };
  },
});
