import type * as z from "zod/mini";
import type { Command } from "../../operation/command.ts";
import { plain } from "../../operation/term.ts";
import { boardAudit } from "../operations/audit.ts";

type Output = z.output<typeof boardAudit.output>;

export const command: Command = {
  op: boardAudit,
  examples: [["viv board audit", "exit 1 when a commit broke the protocol"]],
  human: ({ commits, claims, findings }: Output, { color }) =>
    [
      ...findings.map(
        ({ commit, code, message, at }) =>
          `${color.yellow(commit.slice(0, 7))} ${color.dim(at.slice(0, 10))} ${color.red(code)} ${plain(message)}`,
      ),
      `${commits} commits, ${claims} claims: ${findings.length === 0 ? color.green("all by the protocol") : color.red(`${findings.length} broke the protocol`)}`,
    ].join("\n"),
  exit: ({ findings }: Output) => (findings.length === 0 ? 0 : 1),
};
