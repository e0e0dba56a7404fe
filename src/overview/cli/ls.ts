import { formatDuration } from "../../base/duration.ts";
import { type AccountState, describeAccount } from "../../engines/accounts/account.ts";
import type { Command } from "../../operation/command.ts";
import { plain, type Term, table } from "../../operation/term.ts";
import { countLine, paintState } from "../../queue/cli/paint.ts";
import type { Counts, TaskSummary } from "../../queue/store.ts";
import { ls } from "../operations/ls.ts";

interface Output {
  run_id: string;
  run_dir: string;
  counts: Counts;
  tasks: (TaskSummary & { account_closed_until?: string | null })[];
  closed_accounts?: AccountState[];
  more: number | null;
}

export const command: Command = {
  op: ls,
  examples: [
    ["viv ls", "what is in work first, what is done last"],
    ["viv ls --state failed,review", "what needs a person"],
    ["viv ls --state pending --types audit --limit 500 --json", ""],
  ],
  human: (output: Output, term, io) => {
    const { color } = term;
    const head = `${color.bold(plain(output.run_id))}  ${color.dim(output.run_dir)}`;
    const lines = [head, countLine(output.counts, term)];
    lines.push(...accountLines(output.closed_accounts, term, io.now()));
    if (output.tasks.length > 0) {
      const rows = output.tasks.map((task) => [
        paintState(task.state, term),
        task.id,
        plain(task.type ?? "?"),
        task.priority && task.priority !== "normal" ? task.priority : "",
        `${formatDuration(io.now() - Date.parse(task.since))}${task.worker ? ` by ${task.worker}` : ""}`,
      ]);
      lines.push("", table(rows, term));
      if (output.more !== 0) {
        const n = output.more === null ? "perhaps" : output.more;
        lines.push(color.dim(`… ${n} more; choose with --state, --types, --limit`));
      }
    }
    return lines.join("\n");
  },
};

/** What no worker takes for now, and why. */
export function accountLines(
  accounts: readonly AccountState[] | undefined,
  { color }: Term,
  now: number,
): string[] {
  return (accounts ?? []).map((account) => {
    const paint = account.state === "parked" ? color.red : color.yellow;
    const text = `account ${account.account} ${describeAccount(account, now)}`;
    return `${paint(plain(text))}${color.dim("  (see: viv accounts)")}`;
  });
}
