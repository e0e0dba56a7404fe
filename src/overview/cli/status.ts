import { formatDuration } from "../../base/duration.ts";
import type { AccountState } from "../../engines/accounts/account.ts";
import type { Command } from "../../operation/command.ts";
import { plain, table } from "../../operation/term.ts";
import { countLine } from "../../queue/cli/paint.ts";
import type { Counts, WorkerView } from "../../queue/store.ts";
import { status } from "../operations/status.ts";
import { accountLines } from "./ls.ts";

interface Output {
  run_id: string;
  run_dir: string;
  counts: Counts;
  workers: (Omit<WorkerView, "heartbeatAge"> & { heartbeat_age: number | null })[];
  closed_accounts?: AccountState[];
  status: { checkpoint?: Record<string, unknown> } | null;
}

const SHOWN = ["summary", "next_step", "next_task_id", "risk", "current_worker", "timestamp"];

export const command: Command = {
  op: status,
  accessFor: (input) => (Object.keys(input).length > 0 ? "write" : "read"),
  examples: [
    ["viv status", ""],
    [
      'viv status --summary "Plan is written" --next-step "Implement it" --next-task-id t.2',
      "a checkpoint",
    ],
  ],
  human: (output: Output, term, io) => {
    const { color } = term;
    const lines = [
      `${color.bold(plain(output.run_id))}  ${color.dim(output.run_dir)}`,
      countLine(output.counts, term),
      ...accountLines(output.closed_accounts, term, io.now()),
    ];
    const checkpoint = output.status?.checkpoint ?? {};
    const rows = SHOWN.filter((key) => checkpoint[key]).map((key) => [
      key,
      plain(String(checkpoint[key])),
    ]);
    if (rows.length > 0) lines.push("", table(rows, term));
    // Shown, never run: whoever wrote it may not be who reads it.
    if (checkpoint.resume_command)
      lines.push(`resume_command (not run)  ${plain(String(checkpoint.resume_command))}`);
    if (output.workers.length > 0) {
      lines.push("", color.bold("Workers"));
      lines.push(
        table(
          output.workers.map((w) => [
            w.name,
            w.process === "none" ? "" : w.process,
            w.heartbeat_age === null
              ? "no heartbeat"
              : `${formatDuration(w.heartbeat_age * 1000)} ago`,
            w.types ? w.types.join(",") : "any type",
            w.claims.length > 0 ? `holds ${w.claims.join(", ")}` : "",
          ]),
          term,
        ),
      );
    }
    return lines.join("\n");
  },
};
