import type * as z from "zod/mini";
import type { Command } from "../../operation/command.ts";
import { plain } from "../../operation/term.ts";
import { warrantWithdraw } from "../operations/warrants.ts";

export const command: Command = {
  op: warrantWithdraw,
  placeholders: { state: "DIR" },
  positionals: [{ key: "id" }],
  examples: [["viv warrant withdraw w1", "it is not asked, or no longer"]],
  human: (output: z.output<typeof warrantWithdraw.output>, { color }) => {
    const { id, target, withdrawn, notes } = output;
    const what = withdrawn ? `withdrawn ${plain(id)}` : `the dog of ${plain(id)} is called off`;
    return [`${what} (${plain(target)})`, ...notes.map((note) => color.yellow(note))].join("\n");
  },
};
