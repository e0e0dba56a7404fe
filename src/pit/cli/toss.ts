import { relative } from "node:path";
import type { Command } from "../../operation/command.ts";
import { pitToss } from "../operations/toss.ts";
import { pitFrom } from "./from.ts";

export const command: Command = {
  op: pitToss,
  positionals: [{ key: "pit" }, { key: "task", many: true }],
  placeholders: { for: "WHOM", part_of: "FOOD", by: "NAME" },
  runFrom: (input, run) =>
    // Without further words the first one is the task, and the pit is found as any run is.
    Array.isArray(input.task) && input.task.length > 0 ? pitFrom(input, run) : run,
  examples: [
    [
      `viv pit toss ./pit "Write reverse(s) in scraps/reverse.js" --done-when "node --test scraps"`,
      "whichever snake comes first does it; the command proves it",
    ],
    [`viv pit toss ./pit "Rewrite the parser" --too-big`, "for the planner, who cuts it up"],
    [`viv pit toss "Test the second half"`, "by a snake: its name and its food are noted"],
  ],
  human: ({ id, path, state }: { id: string; path: string; state: string }, { color }, io) =>
    `${color.green("tossed")} ${id}${state === "waiting" ? " (it waits)" : ""} ${color.dim(relative(io.cwd, path))}`,
};
