import { resolve } from "node:path";
import * as z from "zod/mini";
import { isVivError } from "../base/errors.ts";
import type { Config } from "../base/section.ts";
import { parseSince } from "../base/since.ts";
import { ENGINE_NAMES, type EngineRoute } from "../engines/config-engine.ts";
import {
  DIMENSIONS,
  type Dimension,
  dollarsOf,
  type Key,
  LedgerTotals,
  type Spending,
} from "../engines/costs/ledger-totals.ts";
import { isAsked } from "../engines/costs/prices.ts";
import { SharedBudget } from "../engines/costs/shared-budget.ts";
import { tokensOnLine, totalTokens, usedOn } from "../engines/costs/usage.ts";
import type { Engine, EngineName } from "../engines/engine.ts";
import { readyEngine } from "../engines/named.ts";
import { count, text } from "../operation/fields.ts";
import { defineOperation, definePort } from "../operation/operation.ts";
import type { FoundProgram } from "../platform/processes/programs.ts";
import type { LedgerLine } from "../queue/ledger.ts";
import { defineRunOperation } from "../queue/operation.ts";
import type { Store } from "../queue/store.ts";
import { type Route, routesSection } from "../work/config-route.ts";

export const spending = z.object({
  usd: z.number(),
  /** The part of it that vendors reported, and the part imputed from the price table. */
  reported: z.number(),
  imputed: z.number(),
  /** Tokens without a price: their cost is not in `usd`. */
  unpriced_tokens: z.number(),
  tokens: z.object({
    input: z.number(),
    output: z.number(),
    cache_read: z.number(),
    cache_write: z.number(),
  }),
  attempts: z.number(),
  proven: z.number(),
  usd_per_proven: z.nullable(z.number()),
  /** Of the proven tasks, those whose work is in its target branch. */
  landed: z.number(),
  usd_per_landed: z.nullable(z.number()),
});

const unasked = z.object({
  asked: z.string(),
  model: z.string(),
  usd: z.number(),
  attempts: z.number(),
});
type Unasked = z.output<typeof unasked>;

export const SINCE = "start of the period: 2h, 7d, 22:00, 2026-11-15 or a time";

export const costs = defineRunOperation({
  name: "costs",
  summary: "usage of model runs: dollars, tokens, dollars per proven and per landed task",
  access: "read",
  readsAll: true,
  input: z.strictObject({
    by: z.optional(z.enum(DIMENSIONS).check(z.describe("group rows by (default: type)"))),
    since: text(SINCE),
    limit: count("at most this many (default: 50 rows)"),
  }),
  output: z.object({
    by: z.enum(DIMENSIONS),
    since: z.nullable(z.string()),
    rows: z.array(z.extend(spending, { key: z.nullable(z.string()) })),
    /** Rows that the limit left out. */
    more: z.number(),
    /** Models that were used although another was asked for. */
    unasked: z.array(unasked),
    /** Attempts that did not report all of their usage: the sums lack it. */
    unreadable: z.number(),
    total: spending,
    /** Of shared budgets, by attempts that run, and not spent yet. */
    reserved: z.object({ usd: z.number(), tokens: z.number(), attempts: z.number() }),
  }),
  async run({ store, now }, { by = "type", since: wanted, limit = 50 }) {
    const since = wanted === undefined ? null : parseSince(wanted, now());
    const tally = new LedgerTotals([by], { landed: true });
    const unasked = new Map<string, Unasked>();
    let unreadable = 0;
    let hasReserved = false;
    for await (const line of store.ledger({ since: since ?? undefined })) {
      tally.add(line);
      if (line.event === "reserved") hasReserved = true;
      if (line.event !== "usage") continue;
      addUnasked(unasked, line);
      if (line.unreadable === true) unreadable++;
    }
    const reserved = hasReserved
      ? await reservedIn(store, now)
      : { usd: 0, tokens: 0, attempts: 0 };
    const rows = inOrder(tally.rows(by), by);
    return {
      by,
      since,
      // Of days, the last ones.
      rows: (by === "day" ? rows.slice(-limit) : rows.slice(0, limit)).map(([key, sum]) => ({
        key,
        ...shape(sum),
      })),
      more: Math.max(0, rows.length - limit),
      unasked: [...unasked.values()].sort((a, b) => b.usd - a.usd),
      unreadable,
      total: shape(tally.total()),
      reserved,
    };
  },
});

/** Only of attempts that still hold their claims. */
async function reservedIn(store: Store, now: () => number) {
  const budget = new SharedBudget(store, now);
  await budget.refresh();
  const { usd, tokens, runs } = budget.reserved;
  return { usd, tokens, attempts: runs };
}

function addUnasked(rows: Map<string, Unasked>, line: LedgerLine): void {
  const { asked } = line;
  if (typeof asked !== "string") return;
  for (const { model, usd } of usedOn(line)) {
    if (model === null || isAsked(model, asked)) continue;
    const key = JSON.stringify([asked, model]);
    const row = rows.get(key) ?? { asked, model, usd: 0, attempts: 0 };
    rows.set(key, { ...row, usd: row.usd + (usd ?? 0), attempts: row.attempts + 1 });
  }
}

/** The dearest first; days in order. */
export function inOrder(rows: ReadonlyMap<Key, Spending>, by: Dimension): [Key, Spending][] {
  const name = (key: Key) => key ?? "";
  const byName = (a: Key, b: Key) => (name(a) < name(b) ? -1 : 1);
  return [...rows].sort(([a, x], [b, y]) =>
    by === "day"
      ? byName(a, b)
      : dollarsOf(y) - dollarsOf(x) ||
        totalTokens(y.tokens) - totalTokens(x.tokens) ||
        byName(a, b),
  );
}

export function shape(sum: Spending): z.output<typeof spending> {
  const usd = dollarsOf(sum);
  return {
    usd,
    reported: sum.reported,
    imputed: sum.imputed,
    unpriced_tokens: sum.unpriced,
    tokens: tokensOnLine(sum.tokens),
    attempts: sum.attempts,
    proven: sum.proven,
    usd_per_proven: sum.proven === 0 ? null : usd / sum.proven,
    landed: sum.landed,
    usd_per_landed: sum.landed === 0 ? null : usd / sum.landed,
  };
}

/** Engines and programs of this machine. */
export interface EnginePort {
  engine(name: EngineName): Promise<Engine>;
  probe(program: string): Promise<FoundProgram | null>;
}

export const enginesPort = definePort<EnginePort>("engines");

const route = z.object({
  type: z.string(),
  model: z.nullable(z.string()),
  account: z.nullable(z.string()),
  /** The exact command line; without the prompt where the vendor reads that on stdin. */
  command: z.array(z.string()),
  problem: z.nullable(z.string()),
});

export const engines = defineOperation({
  name: "engines",
  summary: "installed engines, and the exact command each route would start",
  input: z.strictObject({}),
  changes: () => false,
  output: z.object({
    engines: z.array(
      z.object({
        name: z.string(),
        binary: z.string(),
        path: z.nullable(z.string()),
        version: z.nullable(z.string()),
        routes: z.array(route),
      }),
    ),
  }),
  async run({ here, use }) {
    const { engine, probe } = await use(enginesPort);
    const { config } = here;
    const shown = ENGINE_NAMES.map(async (name) => {
      const one = await engine(name);
      const binary = binaryOf(one, config);
      const found = binary === "" ? null : await probe(binary);
      const routes = routesOf(name, config).map((each) => dryRun(one, each, config));
      return { name, binary, path: found?.path ?? null, version: found?.version ?? null, routes };
    });
    return { engines: await Promise.all(shown) };
  },
});

type EngineOf = Route & { engine: EngineRoute };

function routesOf(name: EngineName, config: Config | undefined): EngineOf[] {
  const all = [...(config?.section(routesSection).values() ?? [])];
  return all.filter((each): each is EngineOf => each.engine?.name === name);
}

/** The binary of the first route that uses the engine, or its own. */
function binaryOf(engine: Engine, config: Config | undefined): string {
  const [first] = routesOf(engine.name, config);
  const own = first?.engine.settings.binary ?? engine.binary;
  return own.includes("/") ? resolve(config?.folder ?? ".", own) : own;
}

function dryRun(
  engine: Engine,
  each: EngineOf,
  config: Config | undefined,
): z.output<typeof route> {
  const folder = config?.folder ?? ".";
  const ready = readyEngine(each.engine, each.handler, folder);
  const model = ready.tiers[0]?.model ?? ready.model;
  const row = { type: each.type, model, account: ready.account };
  try {
    const { argv } = engine.command({
      prompt: "…",
      cwd: folder,
      model,
      mode: ready.mode,
      resume: null,
      turns: ready.budget.turns ?? null,
      isConfined: each.sandbox.length > 0,
      settings: ready.settings,
    });
    return { ...row, command: argv, problem: null };
  } catch (error) {
    if (!isVivError(error, "INVALID")) throw error;
    return { ...row, command: [], problem: error.message };
  }
}
