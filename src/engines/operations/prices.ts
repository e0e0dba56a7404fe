import * as z from "zod/mini";
import { text } from "../../operation/fields.ts";
import { defineOperation } from "../../operation/operation.ts";
import { pricesSection } from "../costs/config-costs.ts";
import { listedAs, priceFor, priceOf } from "../costs/price.ts";
import { PRICE_LIST, PRICES_AS_OF, priceListWarning } from "../costs/price-list.ts";
import type { Price } from "../costs/prices.ts";

const dollars = {
  input: z.number(),
  output: z.number(),
  /** Null: as input. */
  cached_read: z.nullable(z.number()),
  cached_write: z.nullable(z.number()),
};

export const prices = defineOperation({
  name: "prices",
  summary: "what each model costs, in dollars for a million tokens; [prices] in viv.toml overrides",
  input: z.strictObject({
    model: text("only models with this in their names"),
  }),
  output: z.object({
    /** When the list was made. */
    as_of: z.string(),
    warning: z.nullable(z.string()),
    prices: z.array(
      z.object({
        model: z.string(),
        /** Who says so: viv.toml, or the list. */
        source: z.enum(["viv.toml", "list"]),
        ...dollars,
        /** What an answer costs whose prompt has more tokens than `above`. */
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
    // With a date, or as a gateway calls it: the list has it under a shorter name.
    const other = found.length === 0 ? priceFor(wanted, own) : undefined;
    if (other !== undefined) found.push(shape(listedAs(wanted), other, "list"));
    return {
      as_of: PRICES_AS_OF,
      warning: priceListWarning(now()),
      prices: found,
    };
  },
});

/** Also a name that ends with a star, when that is for the model. */
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
