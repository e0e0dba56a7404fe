import * as z from "zod/mini";
import { unlessCorrupt, VivError } from "../../base/errors.ts";
import { PRIORITIES } from "../../base/priority.ts";
import { accountsInUse } from "../../engines/accounts/accounts.ts";
import { readLanding } from "../../merge/landing.ts";
import { text } from "../../operation/fields.ts";
import { defineRunOperation, type RunContext } from "../../queue/operation.ts";
import { COLUMNS, type Column, type Entry, stateOf, workerOf } from "./entry.ts";
import { factOf, type Surroundings } from "./fact.ts";
import { filterKey } from "./filter.ts";
import { runIndexPort } from "./index-port.ts";
import type { RunIndex } from "./run-index.ts";
import { type Card, card, column, columnCounts } from "./shapes.ts";
import type { View } from "./views.ts";

const DEFAULT_LIMIT = 40;
const MOST_CARDS = 500;
const MOST_NAMES = 100;

export const cards = defineRunOperation({
  name: "cards",
  summary: "windows of the board's columns, with exact counts",
  access: "read",
  input: z.strictObject({
    windows: z.optional(
      z
        .union([z.array(z.string()), z.string()])
        .check(z.describe("column:offset:limit, separated by commas (default: 40 of each)")),
    ),
    filter: text("words that all must match: type:fix worker:ada is:choked …"),
  }),
  output: z.object({
    /** With the filter, and without. */
    counts: columnCounts,
    all: columnCounts,
    types: z.array(z.object({ type: z.string(), count: z.number() })),
    /** `count`: tasks that it holds. */
    workers: z.array(z.object({ worker: z.string(), count: z.number() })),
    windows: z.array(
      z.object({ column, offset: z.number(), total: z.number(), cards: z.array(card) }),
    ),
    /** While files are still being read: a filter finds only what was read. */
    reading: z.nullable(z.object({ read: z.number(), total: z.number() })),
  }),
  async run(context, { windows: given, filter = "" }) {
    const wanted = parseWindows(given);
    const index = await context.use(runIndexPort);
    await index.settled();
    const { all } = index.table.views;
    const isThere = wanted.every(({ column, offset, limit }) => all.has(column, offset + limit));
    if (filterKey(filter) !== "" || !isThere) await index.dated();
    return index.answers.answer(async () => {
      const view = await index.table.views.of(filter);
      // The files of those that are shown are read first; that may move some of them.
      if (index.reading() !== null) await index.readNow(shownIn(view, wanted));
      const shown = shownIn(view, wanted);
      const around = await surroundings(context, index, shown);
      return {
        counts: view.counts(),
        all: all.counts(),
        types: namesOf(index.table.types).map(([type, count]) => ({ type, count })),
        workers: workersOf(index),
        windows: wanted.map(({ column, offset, limit }) => ({
          column,
          offset,
          total: view.count(column),
          cards: view.columns[column]
            .window(offset, limit)
            .map((entry) => cardOf(entry, around, context)),
        })),
        reading: index.reading(),
      };
    });
  },
});

interface Window {
  column: Column;
  offset: number;
  limit: number;
}

function parseWindows(given: string | readonly string[] | undefined): Window[] {
  const words = [given ?? []].flat().flatMap((one) => one.split(","));
  const windows = words.filter(Boolean).map(parseWindow);
  if (given !== undefined) return windows;
  return COLUMNS.map((column) => ({ column, offset: 0, limit: DEFAULT_LIMIT }));
}

function parseWindow(word: string): Window {
  const [name, offset = "0", limit = String(DEFAULT_LIMIT), ...rest] = word.trim().split(":");
  const column = COLUMNS.find((one) => one === name);
  const areNumbers = [offset, limit].every((one) => /^\d{1,9}$/.test(one)) && rest.length === 0;
  if (column === undefined || !areNumbers) {
    const message = `${JSON.stringify(word.slice(0, 80))} is no window; write COLUMN:OFFSET:LIMIT with a column of ${COLUMNS.join(", ")}.`;
    throw new VivError("USAGE", message);
  }
  return { column, offset: Number(offset), limit: Math.min(Number(limit), MOST_CARDS) };
}

function shownIn(view: View, windows: readonly Window[]): Entry[] {
  return windows.flatMap(({ column, offset, limit }) => view.columns[column].window(offset, limit));
}

function namesOf(counts: ReadonlyMap<string, number>): [string, number][] {
  const rows = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  return rows.slice(0, MOST_NAMES);
}

function workersOf(index: RunIndex) {
  const counts = new Map([...index.facts.workers.keys()].map((name) => [name, 0]));
  for (const [name, count] of index.table.holders) counts.set(name, count);
  return namesOf(counts).map(([worker, count]) => ({ worker, count }));
}

/** Workers and accounts are looked at only where a card is shown that waits for them. */
async function surroundings(
  context: RunContext,
  index: RunIndex,
  shown: readonly Entry[],
): Promise<Surroundings> {
  const { store } = context;
  const hasReady = shown.some((entry) => entry.column === "ready");
  const accounts = hasReady ? await accountsInUse(context) : null;
  const inReview = shown.filter((entry) => entry.column === "review");
  const changes = await index.changes.of(store, inReview);
  return {
    now: context.now(),
    paused: hasReady ? await store.paused() : null,
    workers: hasReady ? await store.workers() : [],
    accountOf: (type) => accounts?.of(type) ?? null,
    doingOf: (id) => index.facts.doing.get(id),
    changedBy: (entry) => changes.get(entry.id) ?? null,
  };
}

function cardOf(entry: Entry, around: Surroundings, { store }: RunContext): Card {
  const { id, type, column, isCancelled, title, attempt, maxAttempts, proof } = entry;
  const isEnded = column === "done" || column === "review";
  const landing = isEnded ? unlessCorrupt(() => readLanding(store.folder, id)) : null;
  return {
    ...{ id, type, column: column ?? "failed", state: stateOf(entry) ?? "failed" },
    since: new Date(entry.since).toISOString(),
    ...{ title, fact: factOf(entry, around), worker: workerOf(entry), attempt },
    ...{ max_attempts: maxAttempts, proof, landing: landing?.state ?? entry.landing },
    usd: entry.usd > 0 ? entry.usd : null,
    priority: PRIORITIES[entry.priority] ?? "normal",
    ...{ cancelled: isCancelled, choked: entry.isChoked },
  };
}
