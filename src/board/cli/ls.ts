import type * as z from "zod/mini";
import type { Command } from "../../operation/command.ts";
import { table } from "../../operation/term.ts";
import { boardLs } from "../operations/ls.ts";
import { taskRow } from "./shown.ts";

export const command: Command = {
  op: boardLs,
  examples: [
    ["viv board ls", "all tasks: state, name, who has it, title"],
    ["viv board ls --state WRITING", "only those in one state"],
  ],
  human: ({ tasks }: z.output<typeof boardLs.output>, term) =>
    tasks.length === 0
      ? term.color.dim("no tasks")
      : table(
          tasks.map((task) => taskRow(task, term)),
          term,
        ),
};
