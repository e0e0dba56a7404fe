import * as z from "zod/mini";
import { type Duration, parseDuration } from "../base/duration.ts";
import { VivError } from "../base/errors.ts";
import { isName, suggest } from "../base/names.ts";
import type { Config } from "../base/section.ts";
import { sentence } from "../base/text.ts";
import { by, duration, text } from "../operation/fields.ts";
import { defineOperation } from "../operation/operation.ts";
import { accountOfRoute, accountState } from "./accounts/account.ts";
import { type Accounts, accountsPort } from "./accounts/accounts.ts";
import { routedEnginesSection } from "./config-engine.ts";
import { pricesSection } from "./costs/config-costs.ts";
import { PRICE_LIST, PRICES_AS_OF, priceListWarning } from "./costs/price-list.ts";
import { listedAs, type Price, priceFor, priceOf } from "./costs/prices.ts";

const input = z.strictObject({
  action: z.optional(
    z.enum(["ls", "open", "close"]).check(z.describe("ls (default), open or close")),
  ),
  name: text("the account"),
  for: duration("how long it stays closed"),
  note: text("a note for the record (the reason of the closure)"),
  by,
});

/** Also short enough to be a date. */
const LONGEST_MS = 365 * 86_400_000;

export const accounts = defineOperation({
  name: "accounts",
  summary: "accounts share a rate limit: list, open or close them",
  input,
  changes: ({ action = "ls" }) => action !== "ls",
  output: z.object({ accounts: z.array(accountState) }),
  async run(context, given) {
    const gates = await context.use(accountsPort);
    const known = knownTo(gates, context.here.config);
    const { name, action = "ls" } = given;
    if (action === "ls") {
      const wanted = name === undefined ? known : [name];
      return { accounts: wanted.map((one) => gates.read(one)) };
    }
    if (name === undefined) {
      throw new VivError("USAGE", `which account? viv accounts ${action} NAME`);
    }
    const person = given.by ?? "somebody";
    if (action === "open") {
      if (isName(name) && !known.includes(name)) throw unknown(name, known);
      return { accounts: [await gates.open(name, person)] };
    }
    const began = context.now();
    const closing = {
      ...{ reason: "by_hand" as const, message: given.note ?? "", todo: "", by: { person }, began },
      until: readFor(given.for, name, began),
    };
    return { accounts: [await gates.close(name, closing)] };
  },
});

/** Those with a file, and those of the routes here. */
function knownTo(gates: Accounts, config: Config | undefined): string[] {
  const used = [...(config?.section(routedEnginesSection).values() ?? [])].map(accountOfRoute);
  const names = [...gates.list().map(({ account }) => account), ...used];
  return [...new Set(names.filter(isName))].sort();
}

function unknown(name: string, known: readonly string[]): VivError {
  const meant = suggest(name, known);
  const others = known.length === 0 ? "there are none yet" : `known are ${known.join(", ")}`;
  const hint = meant === undefined ? others : `did you mean ${meant}?`;
  return new VivError("INVALID", sentence(`there is no account ${name}; ${hint}`));
}

/** Returns the end of the closure. */
function readFor(length: Duration | undefined, name: string, now: number): string {
  if (length === undefined) {
    throw new VivError("USAGE", `for how long? viv accounts close ${name} --for 2h`);
  }
  const ms = parseDuration(length, "--for");
  if (ms <= 0 || ms > LONGEST_MS) {
    throw new VivError("INVALID", "--for must be more than nothing, and at most 365d.");
  }
  return new Date(now + ms).toISOString();
}

const dollars = {
  input: z.number(),
  output: z.number(),
  /** Null: as input. */
  cached_read: z.nullable(z.number()),
  cached_write: z.nullable(z.number()),
};

export const prices = defineOperation({
  name: "prices",
  summary: "price of each model in dollars per million tokens; [prices] in viv.toml overrides",
  input: z.strictObject({ model: text("name of a model (or a part of it)") }),
  changes: () => false,
  output: z.object({
    /** When the list was made. */
    as_of: z.string(),
    warning: z.nullable(z.string()),
    prices: z.array(
      z.object({
        model: z.string(),
        source: z.enum(["viv.toml", "list"]),
        ...dollars,
        /** For an answer to a prompt of more tokens than `above`. */
        long: z.nullable(z.object({ above: z.number(), ...dollars })),
      }),
    ),
  }),
  async run({ here, now }, { model: wanted = "" }) {
    const own = here?.config?.section(pricesSection) ?? new Map<string, Price>();
    const listed = [...PRICE_LIST].filter(([model]) => priceOf(model, own) === undefined);
    const all = [
      ...[...own].map(([model, price]) => shape(model, price, "viv.toml")),
      ...listed.map(([model, price]) => shape(model, price, "list")),
    ];
    const found = all.filter(({ model }) => isWanted(model, wanted.toLowerCase()));
    // A name with a date, or of a gateway: the list has a shorter one.
    const other = found.length === 0 ? priceFor(wanted, own) : undefined;
    if (other !== undefined) found.push(shape(listedAs(wanted), other, "list"));
    return { as_of: PRICES_AS_OF, warning: priceListWarning(now()), prices: found };
  },
});

/** A name may end with a star. */
function isWanted(model: string, wanted: string): boolean {
  const name = model.toLowerCase();
  return name.includes(wanted) || (name.endsWith("*") && wanted.startsWith(name.slice(0, -1)));
}

function shape<Source extends "viv.toml" | "list">(model: string, price: Price, source: Source) {
  const { long } = price;
  const longer = long ? { above: long.above, ...dollarsOf(long) } : null;
  return { model, source, ...dollarsOf(price), long: longer };
}

function dollarsOf({ input, output, cachedRead, cachedWrite }: Omit<Price, "long">) {
  return { input, output, cached_read: cachedRead ?? null, cached_write: cachedWrite ?? null };
}
