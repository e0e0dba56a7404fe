import type * as z from "zod/mini";
import type { Command } from "../../operation/command.ts";
import { plain } from "../../operation/term.ts";
import { poolRelease } from "../operations/dogs.ts";

export const command: Command = {
  op: poolRelease,
  placeholders: { state: "DIR" },
  positionals: [{ key: "dog" }],
  examples: [["viv dog pool release dog-1763226000000", "its warrant waits again"]],
  human: ({ dog, warrant, target, notes }: z.output<typeof poolRelease.output>, { color }) =>
    [
      `${plain(dog)} was asked to give ${plain(warrant)} back (${plain(target)})`,
      ...notes.map((note) => color.yellow(note)),
    ].join("\n"),
};
