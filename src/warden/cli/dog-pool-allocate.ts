import type * as z from "zod/mini";
import type { Command } from "../../operation/command.ts";
import { plain } from "../../operation/term.ts";
import { poolAllocate } from "../operations/dogs.ts";

export const command: Command = {
  op: poolAllocate,
  placeholders: { state: "DIR" },
  positionals: [{ key: "warrant" }],
  examples: [["viv dog pool allocate w1", "a dog takes it now"]],
  human: ({ dog, warrant, target, notes }: z.output<typeof poolAllocate.output>, { color }) =>
    [
      `${dog} takes ${plain(warrant)} (${plain(target)})`,
      ...notes.map((note) => color.yellow(note)),
    ].join("\n"),
};
