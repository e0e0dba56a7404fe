import { formatDuration } from "../../base/duration.ts";
import { VivError } from "../../base/errors.ts";
import type { AccountState } from "../../engines/accounts/account.ts";
import type { Command } from "../../operation/command.ts";
import { plain, table } from "../../operation/term.ts";
import type { Counts, WorkerView } from "../../queue/operations/store-types.ts";
import { status } from "../operations/status.ts";
import { accountLines, countLine } from "./ls.ts";

interface Output {
  run_id: string;
  run_dir: string;
  counts: Counts;
  workers: (Omit<WorkerView, "heartbeatAge"> & { heartbeat_age: number | null })[];
  closed_accounts?: AccountState[];
  status: { checkpoint?: Record<string, unknown> } | null;
}

const SHOWN = ["summary", "next_step", "next_task_id", "risk", "current_worker", "timestamp"];

const command: Command = {
  op: status,
  flags: {
    config: {
      kind: "string",
      short: "c",
      placeholder: "FILE",
      describe: "how the agents of this agents.toml are; needs no run",
    },
  },
  accessFor: (input) => (Object.keys(input).length > 0 ? "write" : "read"),
  examples: [
    ["viv status", ""],
    ["viv status --config agents.toml", "all agents that viv up keeps alive"],
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

/** With `--config` it is about agents, which no overview knows: `app/` says which command shows them. */
export function statusWith(agents: () => Promise<{ command: Command }>): Command {
  const instead: Command["instead"] = async (values) => {
    if (values.config === undefined) return undefined;
    const other = Object.keys(values).find((key) => key in status.input.shape);
    if (other === undefined) return (await agents()).command;
    const flag = `--${other.replaceAll("_", "-")}`;
    throw new VivError("USAGE", `${flag} is about a run; it does not go with --config.`);
  };
  return { ...command, instead };
}
