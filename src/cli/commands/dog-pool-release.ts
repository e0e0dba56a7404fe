import type * as z from "zod/mini";
import { poolRelease } from "../../ops/warden/dogs.ts";
import type { Command } from "../command.ts";
import { plain } from "../term.ts";

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
