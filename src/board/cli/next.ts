import type * as z from "zod/mini";
import type { Command } from "../../operation/command.ts";
import { plain } from "../../operation/term.ts";
import { boardNext } from "../operations/next.ts";

type Output = z.output<typeof boardNext.output>;

export const command: Command = {
  op: boardNext,
  examples: [
    ["viv board next --agent wren --state WRITING", "the first that wren has, or nobody"],
    ["viv board next --agent moss --state ASSIGNED --exit-code", "for :RUN-IF: of a crew"],
  ],
  human: ({ task }: Output, { color }) =>
    task === null
      ? color.dim("nothing to take")
      : `${plain(task.slug)} ${color.dim(plain(`${task.state}${task.agent === null ? "" : " (yours)"} ${task.title}`))}`,
  json: ({ task }: Output) => JSON.stringify({ task }),
  exit: ({ task, must }: Output) => (task === null && must ? 1 : 0),
};
