import { formatCount, formatUsd } from "../../base/amount.ts";
import { formatDuration } from "../../base/duration.ts";
import type { AccountState } from "../../engines/accounts/account.ts";
import type { Command } from "../../operation/command.ts";
import { clip, plain, type Term, table } from "../../operation/term.ts";
import { countLine, paintState } from "../../queue/cli/paint.ts";
import type { LedgerLine } from "../../queue/ledger.ts";
import type { Counts, WorkerView } from "../../queue/store.ts";
import { status, type WatchEvent, watch } from "../operations/run.ts";
import { accountLines } from "./tasks.ts";

interface Output {
  run_id: string;
  run_dir: string;
  counts: Counts;
  workers: (Omit<WorkerView, "heartbeatAge"> & { heartbeat_age: number | null })[];
  closed_accounts?: AccountState[];
  status: { checkpoint?: Record<string, unknown> } | null;
}

const SHOWN = ["summary", "next_step", "next_task_id", "risk", "current_worker", "timestamp"];

const statusCommand: Command = {
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

const watchCommand: Command = {
  op: watch,
  examples: [
    ["viv watch", ""],
    ["viv watch --until-idle && viv ls --state failed", "wait for a run to finish"],
    ["viv watch --json | jq -r 'select(.to==\"failed\").id'", "one line of JSON per change"],
  ],
  view: (term) => ({ event: (event: WatchEvent) => describe(event, term) }),
  jsonView: () => ({
    event: (event: WatchEvent) => (event.kind === "counts" ? null : JSON.stringify(event)),
  }),
};

function describe(event: WatchEvent, term: Term): string | null {
  if (event.kind === "counts") return countLine(event.counts, term);
  if (event.kind === "ledger") return stepLine(event.line, term);
  if (event.kind === "missed") {
    return `${event.count} changes since ${event.since} are not shown; see: viv ls`;
  }
  const { color } = term;
  const from = event.from ? `${paintState(event.from, term)} → ` : "";
  const to = event.to ? paintState(event.to, term) : color.dim("gone");
  const by = event.worker ? color.dim(` by ${event.worker}`) : "";
  return `${color.dim(event.at.slice(11, 23))}  ${event.id}  ${from}${to}${by}`;
}

/** What a model run does, a line for each step; null for one that only says what was used. */
function stepLine(line: LedgerLine, { color, width }: Term): string | null {
  const { at, task = "", event } = line;
  const time = color.dim(at.slice(11, 23));
  if (event === "usage") {
    const { usd, tokens } = line as { usd?: number; tokens?: number };
    return `${time}  ${task}  ${color.dim(`used ${formatUsd(usd ?? 0)}, ${formatCount(tokens ?? 0)} tokens`)}`;
  }
  const { kind, tool, target, text } = line as Partial<Record<string, string>>;
  const what = kind === "tool" ? `▸ ${[tool, target ?? text].filter(Boolean).join(" ")}` : text;
  if (!what) return null;
  return `${time}  ${task}  ${clip(what, Math.max(20, width - task.length - 16))}`;
}

export const commands = {
  status: statusCommand,
  watch: watchCommand,
} satisfies Record<string, Command>;
