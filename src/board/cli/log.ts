import type * as z from "zod/mini";
import type { Command } from "../../operation/command.ts";
import { plain, table } from "../../operation/term.ts";
import { boardLog } from "../operations/log.ts";

export const command: Command = {
  op: boardLog,
  positionals: [{ key: "slug" }],
  examples: [["viv board log hello-world", "who did what to it, and when"]],
  human: ({ commits }: z.output<typeof boardLog.output>, term) => {
    const { color } = term;
    const rows = commits.map(({ commit, at, from, to, subject, author, agent }) => [
      color.yellow(commit.slice(0, 7)),
      color.dim(`${at.slice(0, 10)} ${at.slice(11, 16)}`),
      plain(agent ?? author),
      color.cyan(plain(from === to ? (to ?? "") : `${from ?? "new"} → ${to ?? "removed"}`)),
      plain(subject),
    ]);
    return rows.length === 0 ? color.dim("no commits") : table(rows, term);
  },
};
