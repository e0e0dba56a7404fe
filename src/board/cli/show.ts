import type * as z from "zod/mini";
import type { Command } from "../../operation/command.ts";
import { plain, table } from "../../operation/term.ts";
import { boardShow } from "../operations/show.ts";

export const command: Command = {
  op: boardShow,
  positionals: [{ key: "slug" }],
  examples: [
    ["viv board show hello-world", "what the board says about it"],
    ["viv board show hello-world --json | jq -r .body", "only the text under it"],
  ],
  human: (task: z.output<typeof boardShow.output>, term) => {
    const { color } = term;
    const who = task.agent === null ? color.dim("nobody has it") : `by ${plain(task.agent)}`;
    const state = color.cyan(plain(task.state));
    const lines = [
      `${color.bold(plain(task.slug))}  ${state} ${who} ${color.dim(`line ${task.line}`)}`,
      plain(task.title),
    ];
    const properties = Object.entries(task.properties).map((pair) => pair.map(plain));
    if (properties.length > 0) lines.push(table(properties, term));
    if (task.body !== "") lines.push("", plain(task.body));
    if (task.log.length > 0) lines.push("", color.bold("Log"), ...task.log.map(plain));
    return lines.join("\n");
  },
};
