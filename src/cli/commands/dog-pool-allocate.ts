import type * as z from "zod/mini";
import { poolAllocate } from "../../ops/warden/dogs.ts";
import type { Command } from "../command.ts";
import { plain } from "../term.ts";

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
