import { PRICE_LIST } from "./price-list.ts";
import type { ModelUsage } from "./usage.ts";

/** Dollars for a million tokens. */
export interface Price {
  input: number;
  output: number;
  /** Default: as input, which is too dear, but never too cheap. */
  cachedRead?: number;
  /** Default: as input. Most vendors charge nothing extra. */
  cachedWrite?: number;
  /** For an answer whose prompt, cached parts included, has more tokens than `above`. */
  long?: Omit<Price, "long"> & { above: number };
}

/** By the model's name, or by the beginning of names, with a star: `claude-opus-4*`. */
export type PriceTable = ReadonlyMap<string, Price>;

/** Where the dollars are from: the vendor, or our price table. */
export type DollarSource = "reported" | "imputed";

/** The price of exactly this model, or else of the longest beginning of its name in the table. */
export function priceOf(model: string, prices: PriceTable): Price | undefined {
  const exact = prices.get(model);
  if (exact !== undefined) return exact;
  const matching = [...prices.keys()].filter(
    (pattern) => pattern.endsWith("*") && model.startsWith(pattern.slice(0, -1)),
  );
  const [longest] = matching.sort((a, b) => b.length - a.length);
  return longest === undefined ? undefined : prices.get(longest);
}

/** The user's own price, or else the vendor's list price. */
export function priceFor(model: string, prices: PriceTable): Price | undefined {
  return priceOf(model, prices) ?? PRICE_LIST.get(listedAs(model));
}

/** Its name in the list: without a gateway's prefix, a date, and claude's mark for a long context. */
export function listedAs(model: string): string {
  if (PRICE_LIST.has(model)) return model;
  return model
    .replace(/\[1m\]$/, "")
    .replace(/^(?:[\w-]+\/)*(?:[a-z]+\.)?(?:anthropic\.)?(?=claude-|gpt-|gemini-)/, "")
    .replace(/-v\d+(?::\d+)?$/, "")
    .replace(/[-@]\d{8}$|-\d{4}-\d{2}-\d{2}$/, "");
}

/** Names that leave the choice to the vendor. */
const ANY_MODEL = new Set(["default", "best", "auto", "inherit"]);

/** Whether this is the model that was asked for, by its name or a part of it: `haiku`. */
export function isAsked(model: string, asked: string | null): boolean {
  if (asked === null || ANY_MODEL.has(asked)) return true;
  const [name, wanted] = [model.toLowerCase(), asked.toLowerCase().replace(/\[1m\]$/, "")];
  if (wanted === "opusplan") return /opus|sonnet/.test(name);
  return name.includes(wanted) || wanted.includes(name);
}

/** A notice that a dearer model was used than was asked for; null for a cheaper one, as for summaries. */
export function dearerThanAsked(
  model: string,
  asked: string | null,
  prices: PriceTable,
): string | null {
  if (asked === null || isAsked(model, asked)) return null;
  const [used, wanted] = [priceFor(model, prices), priceFor(asked, prices)];
  if (used && wanted && used.output <= wanted.output) return null;
  const times = used && wanted ? used.output / wanted.output : null;
  const how = times === null ? "" : `, at ${Number(times.toPrecision(2))} times the price`;
  return `${model} is used, and ${asked} was asked for${how}`;
}

/**
 * The cost, as the vendor reports it or from our prices. Null: there is no price. A request for `haiku` is
 * answered by `claude-haiku-…`: then the price of the requested model holds.
 */
export function impute(
  usage: ModelUsage,
  prices: PriceTable,
  asked: string | null = null,
): { usd: number; source: DollarSource } | null {
  const { usd } = usage;
  if (usd !== null && Number.isFinite(usd) && usd >= 0) return { usd, source: "reported" };
  const isMeant = asked !== null && usage.model.toLowerCase().includes(asked.toLowerCase());
  const own = priceOf(usage.model, prices) ?? (isMeant ? priceOf(asked, prices) : undefined);
  const usual = own ?? priceFor(usage.model, prices);
  if (usual === undefined) return null;
  const { input, output, cacheRead, cacheWrite, prompt = 0 } = usage;
  const price = usual.long && prompt > usual.long.above ? usual.long : usual;
  const dollars =
    input * price.input +
    output * price.output +
    cacheRead * (price.cachedRead ?? price.input) +
    cacheWrite * (price.cachedWrite ?? price.input);
  return { usd: dollars / 1_000_000, source: "imputed" };
}
