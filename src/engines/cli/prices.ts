import type * as z from "zod/mini";
import { formatCount } from "../../base/amount.ts";
import type { Command } from "../../operation/command.ts";
import { plain, table } from "../../operation/term.ts";
import { prices } from "../operations/prices.ts";

type Output = z.output<typeof prices.output>;

export const command: Command = {
  op: prices,
  positionals: [{ key: "model" }],
  examples: [
    ["viv prices", "what each model costs, and who says so"],
    ["viv prices haiku --json", ""],
  ],
  human: ({ prices: rows, as_of, warning }: Output, term) => {
    const { dim, yellow } = term.color;
    const lines = rows.map(({ model, source, long, ...price }) => [
      plain(model),
      ...cells(price),
      long === null
        ? ""
        : dim(`above ${formatCount(long.above)} in: ${cells(long).filter(Boolean).join(" ")}`),
      source === "list" ? "" : source,
    ]);
    const head = ["model", "in", "out", "cached", "to cache", "", ""].map((text) => dim(text));
    const foot = dim(`dollars for a million tokens; the list is of ${as_of}`);
    return [
      rows.length === 0 ? "no such model has a price" : table([head, ...lines], term),
      "",
      foot,
      ...(warning === null ? [] : [yellow(warning)]),
    ].join("\n");
  },
};

function cells(price: Omit<Output["prices"][number], "model" | "source" | "long">): string[] {
  const { input, output, cached_read, cached_write } = price;
  return [input, output, cached_read, cached_write].map((value) =>
    value === null ? "" : `$${Number(value.toPrecision(4))}`,
  );
}
