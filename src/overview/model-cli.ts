import type * as z from "zod/mini";
import { formatCount, formatUsd, shortCount } from "../base/amount.ts";
import { counted, quoted } from "../base/text.ts";
import type { Command } from "../operation/command.ts";
import { plain, type Term, table } from "../operation/term.ts";
import { costs, engines } from "./model-operations.ts";

type Output = z.output<typeof costs.output>;
type Spending = Output["total"];

const costsCommand: Command = {
  op: costs,
  names: { by: "group-by" },
  examples: [
    ["viv costs", "cost of each type of task"],
    ["viv costs --group-by model --since 2h", "cost of each model in the last two hours"],
    ["viv costs --group-by day --json", ""],
  ],
  human: (output: Output, term) => {
    const { rows, total, more, since, unasked, unreadable } = output;
    const { dim, yellow } = term.color;
    const reserved = reservedOf(output.reserved);
    if (total.attempts === 0) {
      const when = since === null ? "so far" : `since ${since}`;
      return [dim(`no model has worked in this run ${when}`), ...reserved].join("\n");
    }
    const lines = [tableOf(output, term)];
    if (more > 0)
      lines.push(dim(`… ${counted(more, "more row")} than these ${rows.length}; see --limit`));
    lines.push("", ...partsOf(total, output.by, term), ...reserved);
    for (const { asked, model, usd, attempts } of unasked) {
      const what = `${plain(model)} was used in ${attemptsOf(attempts)} that asked for ${plain(asked)}`;
      lines.push(yellow(`${what}: ${formatUsd(usd)}`));
    }
    if (unreadable > 0) {
      lines.push(
        yellow(`the usage of ${attemptsOf(unreadable)} could not be read: the sums lack it`),
      );
    }
    return lines.join("\n");
  },
};

function reservedOf({ usd, tokens, attempts }: Output["reserved"]): string[] {
  if (attempts === 0) return [];
  const what = [
    ...(usd > 0 ? [formatUsd(usd)] : []),
    ...(tokens > 0 ? [counted(tokens, "token", formatCount)] : []),
  ];
  const by = `${attemptsOf(attempts)} that ${attempts === 1 ? "runs" : "run"}`;
  return [`${what.join(" and ") || "nothing more"} reserved by ${by}`];
}

function attemptsOf(count: number): string {
  return counted(count, "attempt", formatCount);
}

const COLUMNS: readonly { title: string; of: (sum: Spending) => string }[] = [
  { title: "dollars", of: dollars },
  { title: "in", of: ({ tokens }) => shortCount(tokens.input) },
  { title: "out", of: ({ tokens }) => shortCount(tokens.output) },
  { title: "cached", of: ({ tokens }) => shortCount(tokens.cache_read) },
  { title: "to cache", of: ({ tokens }) => shortCount(tokens.cache_write) },
  { title: "attempts", of: ({ attempts }) => formatCount(attempts) },
  { title: "proven", of: ({ proven }) => formatCount(proven) },
  { title: "$/proven", of: (sum) => perTask(sum, sum.usd_per_proven) },
  { title: "landed", of: ({ landed }) => formatCount(landed) },
  { title: "$/landed", of: (sum) => perTask(sum, sum.usd_per_landed) },
];

/** Columns that say nothing where nothing is to be said. */
const OPTIONAL: Record<string, (total: Spending) => boolean> = {
  // Only some vendors report writes to their cache.
  "to cache": ({ tokens }) => tokens.cache_write > 0,
  landed: ({ landed }) => landed > 0,
  "$/landed": ({ landed }) => landed > 0,
};

function tableOf({ rows, total, by }: Output, term: Term): string {
  const columns = COLUMNS.filter(({ title }) => OPTIONAL[title]?.(total) ?? true);
  const cells = [
    [by, ...columns.map(({ title }) => title)],
    ...rows.map((row) => [nameOf(row.key, by), ...columns.map(({ of }) => of(row))]),
    ["total", ...columns.map(({ of }) => of(total))],
  ];
  const widths = columns.map((_, i) => Math.max(...cells.map((row) => row[i + 1]?.length ?? 0)));
  const { bold, dim } = term.color;
  const aligned = cells.map(([name = "", ...numbers], row) => {
    const line = [name, ...numbers.map((text, i) => text.padStart(widths[i] ?? 0))];
    const paint = row === 0 ? dim : row === cells.length - 1 ? bold : (text: string) => text;
    return line.map((text) => paint(text));
  });
  return table(aligned, term);
}

function nameOf(key: string | null, by: Output["by"]): string {
  return key === null ? (by === "agent" ? "(no agent)" : "(unknown)") : plain(key);
}

/** A plus: some of the usage has no price. */
function dollars({ usd, unpriced_tokens }: Spending): string {
  if (unpriced_tokens === 0) return formatUsd(usd);
  return usd === 0 ? "no price" : `${formatUsd(usd)}+`;
}

function perTask({ usd, unpriced_tokens }: Spending, each: number | null): string {
  if (each === null || (usd === 0 && unpriced_tokens > 0)) return "-";
  return `${formatUsd(each)}${unpriced_tokens > 0 ? "+" : ""}`;
}

function partsOf(total: Spending, by: Output["by"], { color }: Term): string[] {
  const { reported, imputed, unpriced_tokens } = total;
  const sources = `${formatUsd(reported)} reported by the vendors, ${formatUsd(imputed)} imputed from the price table`;
  if (unpriced_tokens === 0) return [sources];
  const see = by === "model" ? "" : "; see: viv costs --group-by model";
  const unpriced = `${counted(unpriced_tokens, "token", formatCount)} ${unpriced_tokens === 1 ? "has" : "have"} no price: add [prices."MODEL"] to viv.toml${see}`;
  return [sources, color.yellow(unpriced)];
}

type Shown = z.output<typeof engines.output>["engines"][number];

const enginesCommand: Command = {
  op: engines,
  examples: [
    ["viv engines", "installed engines, and the command of each route"],
    ["viv engines --json | jq -r '.engines[].routes[].command | @sh'", "the command lines alone"],
  ],
  human: (output: { engines: Shown[] }, term) => {
    const rows = output.engines.map((one) => row(one, term));
    const runs = output.engines.flatMap((one) => one.routes.map((each) => dryRun(each, term)));
    const title = runs.length > 0 ? ["", term.color.bold("What the routes start")] : [];
    return [table(rows, term), ...title, ...runs].join("\n");
  },
};

/** `llm` and `script` come with viv; `exec` is the command of a route. */
function row({ name, binary, path, version }: Shown, { color }: Term): string[] {
  if (binary === "") return [name, color.dim("any command"), ""];
  if (name === "llm" || name === "script") return [name, color.green("built in"), ""];
  if (path === null) return [name, color.dim("not installed"), color.dim(plain(binary))];
  return [name, color.green(plain(version ?? "installed")), color.dim(plain(path))];
}

function dryRun({ type, command, problem }: Shown["routes"][number], { color }: Term): string {
  const words = command.map((word) => quoted(plain(word)));
  return `  ${color.cyan(plain(type))}  ${problem === null ? words.join(" ") : color.red(plain(problem))}`;
}

export const commands = {
  costs: costsCommand,
  engines: enginesCommand,
} satisfies Record<string, Command>;
