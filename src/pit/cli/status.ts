import type * as z from "zod/mini";
import { formatTook } from "../../base/duration.ts";
import type { Command } from "../../operation/command.ts";
import { plain, type Term, table } from "../../operation/term.ts";
import { pitStatus } from "../operations/status.ts";
import { pitFrom } from "./from.ts";

type Output = z.output<typeof pitStatus.output>;

export const command: Command = {
  op: pitStatus,
  positionals: [{ key: "pit" }],
  runFrom: pitFrom,
  examples: [["viv pit status ./pit", "who is digesting what; what is stuck and why"]],
  human: (output: Output, term) => {
    const { color } = term;
    const sections = [
      countsLine(output, term),
      section(
        "Digesting",
        output.digesting.map((one) => digesting(one, term)),
        term,
      ),
      section(
        "Stuck",
        output.stuck.map((one) => stuck(one, term)),
        term,
      ),
      section(
        "For the keeper",
        output.keeper.map((one) => [one.food, plain(one.task)]),
        term,
      ),
      section(
        "Results by hand",
        output.results.map(({ food, snake, note }) => [food, snake ?? "?", note]),
        term,
      ),
      section(
        "Unproven results",
        output.unproven.map((one) => [one.food, one.result]),
        term,
      ),
      section(
        "Not food",
        output.quarantined.map((one) => [plain(one.from || one.name), plain(one.reason)]),
        term,
      ),
      section(
        "One number, several foods",
        output.same_number.map(({ number, foods }) => [String(number), foods.join(", ")]),
        term,
      ),
    ];
    if (output.digesting.length === 0) sections.splice(1, 1, color.dim("nobody is digesting"));
    return sections.filter((text) => text !== "").join("\n\n");
  },
};

function countsLine({ counts }: Output, { color }: Term): string {
  const words: [string, number, (text: string) => string][] = [
    ["food", counts.pending, color.cyan],
    ["claimed", counts.claimed, color.yellow],
    ["done", counts.done, color.green],
    ["resting", counts.waiting, color.dim],
    ["in review", counts.review, color.yellow],
    ["stuck", counts.failed, color.red],
  ];
  return words
    .filter(([word, n]) => n > 0 || word === "food" || word === "done")
    .map(([word, n, paint]) => `${n} ${paint(word)}`)
    .join(" · ");
}

function digesting(one: Output["digesting"][number], { color }: Term): string[] {
  const quiet = one.quiet_seconds;
  const life = !one.alive
    ? color.red("gives no sign of life")
    : quiet > 60
      ? color.yellow(`quiet for ${formatTook(quiet * 1000)}`)
      : "";
  return [plain(one.snake), one.food, formatTook(one.seconds * 1000), life, plain(one.task)];
}

function stuck(one: Output["stuck"][number], { color }: Term): string[] {
  const paint = one.state === "failed" ? color.red : color.yellow;
  const next = one.command ? color.dim(`  ${one.command}`) : "";
  return [
    paint(one.state === "failed" ? "stuck" : one.state),
    one.food,
    `${plain(one.why)}${next}`,
  ];
}

function section(title: string, rows: string[][], term: Term): string {
  return rows.length === 0 ? "" : `${term.color.bold(title)}\n${table(rows, term)}`;
}
