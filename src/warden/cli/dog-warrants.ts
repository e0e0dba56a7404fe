import type { Command } from "../../operation/command.ts";
import { table } from "../../operation/term.ts";
import { dogWarrants, type WarrantList } from "../operations/warrants.ts";
import { badLines, warrantRows } from "./warrant-ls.ts";

export const command: Command = {
  op: dogWarrants,
  placeholders: { state: "DIR" },
  examples: [["viv dog warrants", "the queue"]],
  human: (output: Pick<WarrantList, "warrants" | "bad">, term) => {
    const { color } = term;
    const { length } = output.warrants;
    const list = length === 0 ? [] : [table(warrantRows(output, term), term)];
    const title = length === 0 ? color.dim("no warrant waits") : `Warrants: ${length} waiting`;
    return [title, ...list, ...badLines(output, term)].join("\n");
  },
};
