import { formatDuration } from "../../base/duration.ts";
import type { Command } from "../../operation/command.ts";
import { plain, type Term, table } from "../../operation/term.ts";
import { type WarrantList, warrantLs } from "../operations/warrants.ts";

export const command: Command = {
  op: warrantLs,
  placeholders: { state: "DIR" },
  examples: [["viv warrant ls", "who is asked, and who will be"]],
  human: (output: WarrantList, term) => {
    const { color } = term;
    const rows = [
      ...output.dances.map((one) => [
        plain(one.warrant),
        color.yellow(one.state),
        plain(one.target),
        plain(one.reason),
        `by ${plain(one.requester)}`,
        color.dim(one.dog),
      ]),
      ...warrantRows(output, term),
    ];
    const list = rows.length === 0 ? [color.dim("no warrants")] : [table(rows, term)];
    return [...list, ...badLines(output, term)].join("\n");
  },
};

export function warrantRows({ warrants }: Pick<WarrantList, "warrants">, { color }: Term) {
  return warrants.map((one) => [
    plain(one.id),
    "waits",
    plain(one.target),
    plain(one.reason),
    `by ${plain(one.requester)}`,
    color.dim(`for ${formatDuration(one.waiting_ms)}`),
  ]);
}

export function badLines({ bad }: Pick<WarrantList, "bad">, { color }: Term): string[] {
  return bad.map(({ name, why }) => color.red(`${plain(name)}: ${plain(why)}`));
}
