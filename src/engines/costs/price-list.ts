import { counted } from "../../base/text.ts";
import type { Price, PriceTable } from "./prices.ts";

/**
 * The vendors' list prices, for models that `[prices]` of viv.toml does not name: standard prices of their own
 * APIs, without batches, fast modes and discounts. The price of a cache write is that of five minutes.
 *
 * Sources: claude from the catalogue inside claude 2.1.325; gpt and gemini from the models.dev table inside
 * opencode 1.18.33; gpt-6.1-sol, which that table lacks, from LiteLLM's published table.
 */
export const PRICES_AS_OF = "2026-11-16";

/** `viv prices` warns about an older list. */
const PRICES_HOLD_DAYS = 90;

/** input, output, cached read, cached write. */
type Row = readonly [number, number, (number | undefined)?, (number | undefined)?];

/** `long`: the price of an answer to a prompt of more than so many tokens. */
function price(
  [input, output, cachedRead, cachedWrite]: Row,
  long?: readonly [above: number, row: Row],
): Price {
  const longer = long && { above: long[0], ...price(long[1]) };
  return { input, output, cachedRead, cachedWrite, long: longer };
}

/** OpenAI's long prompts: twice the input, half more for the output. */
const gpt = ([input, output, read, write]: Row): Price =>
  price(
    [input, output, read, write],
    [272_000, [2 * input, 1.5 * output, read && 2 * read, write && 2 * write]],
  );

const HAIKU_5_5 = price([0.1, 0.5, 0.01, 0.125], [100_000, [0.5, 2.5, 0.05, 0.625]]);
const SONNET_5_5 = price([2, 10, 0.1, 2.5]);
const OPUS_5_5 = price([4, 20, 0.2, 5]);
const FABLE_5_2 = price([8, 40, 0.2, 10]);
const GEMINI_PRO = price([2, 12, 0.2], [200_000, [4, 18, 0.4]]);

/** Names of models, and their price. */
const LIST: readonly [string, Price][] = [
  // claude's short names.
  ["haiku", HAIKU_5_5],
  ["sonnet", SONNET_5_5],
  ["opus opusplan", OPUS_5_5],
  ["fable", FABLE_5_2],
  ["claude-haiku-5-5", HAIKU_5_5],
  ["claude-haiku-4-5", price([1, 5, 0.1, 1.25])],
  ["claude-3-5-haiku", price([0.8, 4, 0.08, 1])],
  ["claude-sonnet-5-5", SONNET_5_5],
  ["claude-sonnet-5", price([2, 10, 0.2, 2.5])],
  [
    "claude-sonnet-4-6 claude-sonnet-4-5 claude-sonnet-4-0 claude-sonnet-4",
    price([3, 15, 0.3, 3.75]),
  ],
  ["claude-opus-5-5", OPUS_5_5],
  [
    "claude-opus-5 claude-opus-4-8 claude-opus-4-7 claude-opus-4-6 claude-opus-4-5",
    price([5, 25, 0.5, 6.25]),
  ],
  ["claude-opus-4-1 claude-opus-4-0 claude-opus-4", price([15, 75, 1.5, 18.75])],
  ["claude-fable-5-2", FABLE_5_2],
  ["claude-fable-5-1", price([10, 50, 0.25, 12.5])],
  ["claude-fable-5", price([10, 50, 1, 12.5])],
  ["claude-mythos-5-2", FABLE_5_2],
  ["claude-mythos-5-1", price([10, 50, 0.25, 12.5])],
  ["claude-mythos-5", price([10, 50, 1, 12.5])],

  ["gpt-6.1-sol", gpt([2, 10, 0.1, 2.5])],
  ["gpt-6-sol", gpt([2, 10, 0.2, 2.5])],
  ["gpt-6-astra", gpt([10, 50, 1, 12.5])],
  ["gpt-6-luna", gpt([0.1, 0.5, 0.01, 0.125])],
  ["gpt-5.6 gpt-5.6-sol", gpt([4, 20, 0.4, 5])],
  ["gpt-5.6-terra", gpt([2, 12, 0.2, 2.5])],
  ["gpt-5.6-luna", gpt([0.2, 1.2, 0.02, 0.25])],
  ["gpt-5.5", gpt([5, 30, 0.5])],
  ["gpt-5.5-pro", gpt([30, 180])],
  ["gpt-5.4", gpt([2.5, 15, 0.25])],
  ["gpt-5.4-mini", price([0.75, 4.5, 0.075])],
  ["gpt-5.4-nano", price([0.2, 1.25, 0.02])],
  ["gpt-5.3-codex gpt-5.3-codex-spark gpt-5.2", price([1.75, 14, 0.175])],
  ["gpt-5.1 gpt-5", price([1.25, 10, 0.125])],
  ["gpt-5-mini", price([0.25, 2, 0.025])],
  ["gpt-daybreak-blue-latest", gpt([4, 20, 0.4, 5])],
  ["gpt-daybreak-red-latest", price([12.5, 75, 1.25, 15.625])],

  [
    "gemini-3.8-flash gemini-3.7-flash gemini-3.6-flash gemini-flash-latest",
    price([0.75, 3.75, 0.075]),
  ],
  ["gemini-3.5-flash", price([1.5, 9, 0.15])],
  ["gemini-3.5-flash-lite gemini-flash-lite-latest", price([0.3, 2.5, 0.03])],
  ["gemini-3.1-pro-preview gemini-3.1-pro-preview-customtools", GEMINI_PRO],
  ["gemini-3.1-flash-lite gemini-3.1-flash-lite-preview", price([0.25, 1.5, 0.025])],
  ["gemini-3-flash-preview", price([0.5, 3, 0.05])],
  ["gemini-2.5-pro", price([1.25, 10, 0.125], [200_000, [2.5, 15, 0.25]])],
  ["gemini-2.5-flash", price([0.3, 2.5, 0.03])],
  ["gemini-2.5-flash-lite", price([0.1, 0.4, 0.01])],
];

export const PRICE_LIST: PriceTable = new Map(
  LIST.flatMap(([names, each]) => names.split(" ").map((name) => [name, each] as const)),
);

/** Null while the list is new enough. */
export function priceListWarning(now: number): string | null {
  const days = Math.floor((now - Date.parse(PRICES_AS_OF)) / 86_400_000);
  if (days <= PRICES_HOLD_DAYS) return null;
  return `the price list is ${counted(days, "day")} old (${PRICES_AS_OF}): update viv, or add what changed as [prices."MODEL"] to viv.toml`;
}
