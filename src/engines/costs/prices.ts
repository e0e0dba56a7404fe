import { PRICE_LIST } from "./price-list.ts";
import type { ModelUsage } from "./usage.ts";

/** What a model costs: dollars for a million tokens. */
export interface Price {
  input: number;
  output: number;
  /** Without one, what comes from the cache is priced as input: too dear, but never too cheap. */
  cachedRead?: number;
  /** Without one, as input: most vendors ask nothing extra. */
  cachedWrite?: number;
  /** What an answer costs whose prompt, cached parts included, has more tokens than `above`. */
  long?: Omit<Price, "long"> & { above: number };
}

/** By the model's name, or by how names begin, with a star at the end: `claude-opus-4*`. */
export type PriceTable = ReadonlyMap<string, Price>;

/** Where the dollars are from: the vendor, or our price table. */
export type DollarSource = "reported" | "imputed";

const PER = 1_000_000;

/** The price of exactly this model, or else of the longest beginning of its name in the table. */
export function priceOf(model: string, prices: PriceTable): Price | undefined {
  const exact = prices.get(model);
  if (exact !== undefined) return exact;
  let best: Price | undefined;
  let longest = -1;
  for (const [pattern, price] of prices) {
    if (!pattern.endsWith("*")) continue;
    const length = pattern.length - 1;
    if (length <= longest || !model.startsWith(pattern.slice(0, -1))) continue;
    best = price;
    longest = length;
  }
  return best;
}

/** The user's own price, or else the vendor's list price. */
export function priceFor(model: string, prices: PriceTable): Price | undefined {
  return priceOf(model, prices) ?? PRICE_LIST.get(listedAs(model));
}

/** The name under which the list would have it. */
export function listedAs(model: string): string {
  return PRICE_LIST.has(model) ? model : listName(model);
}

/** Without what a gateway puts before it, without a date, and without claude's mark for a long context. */
function listName(model: string): string {
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

/**
 * A notice that a dearer model was used than was asked for; null when there is nothing to say. Programs use
 * small models for titles and summaries.
 */
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
  if (isAmount(usage.usd)) return { usd: usage.usd, source: "reported" };
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
  return { usd: dollars / PER, source: "imputed" };
}

/** A vendor's number is only text until it has been looked at. */
function isAmount(usd: number | null): usd is number {
  return usd !== null && Number.isFinite(usd) && usd >= 0;
}
