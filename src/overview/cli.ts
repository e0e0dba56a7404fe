import type * as z from "zod/mini";
import { formatCount, formatUsd } from "../base/amount.ts";
import { withDecisions } from "../base/decisions.ts";
import { formatDuration, formatTook } from "../base/duration.ts";
import { isRecord } from "../base/json.ts";
import { idWord } from "../base/names.ts";
import { formatSize } from "../base/size.ts";
import { counted, indentedLines } from "../base/text.ts";
import { type AccountState, describeAccount } from "../engines/accounts/account.ts";
import type { LandingFact } from "../merge/facts.ts";
import type { Command } from "../operation/command.ts";
import { type Cell, clip, plain, prose, type Term, table } from "../operation/term.ts";
import { type AttemptRecord, isAttempt, type Proof } from "../queue/attempt.ts";
import { countLine, paintState } from "../queue/cli/paint.ts";
import type { LedgerLine } from "../queue/ledger.ts";
import { pauseLine, workerPauseLine } from "../queue/pause-line.ts";
import type { Counts, Pause } from "../queue/store.ts";
import { paintLanding } from "./landed.ts";
import { ls, show, status, tree, type WatchEvent, watch } from "./operations.ts";

const lsCommand: Command = {
  op: ls,
  examples: [
    ["viv ls", "active tasks, the oldest first; then failed and done, the newest first"],
    ["viv ls --state done --limit 10", "the ten that were done last"],
    ["viv ls --state failed,review", "tasks that need a person"],
    ["viv ls --not-landed", "done tasks whose work is not in its target branch yet"],
    ["viv ls --state pending --types audit --limit 500 --json", ""],
  ],
  human: (output: z.output<typeof ls.output>, term, io) => {
    const lines = headLines(output, term, io.now());
    if (output.tasks.length > 0) {
      const hasLanding = output.tasks.some(({ landing }) => landing !== undefined);
      const rows = output.tasks.map((task) => [
        paintState(task.state, term),
        ...(hasLanding ? [paintLanding(task.landing, term)] : []),
        task.id,
        plain(task.type ?? "?"),
        task.priority && task.priority !== "normal" ? task.priority : "",
        `${formatDuration(io.now() - Date.parse(task.since))}${task.worker ? ` by ${task.worker}` : ""}`,
        task.unproven ? prose(`unproven: ${task.unproven}`) : "",
      ]);
      lines.push("", table(rows, term));
      if (output.more !== 0) {
        const n = output.more === null ? "perhaps" : output.more;
        lines.push(term.color.dim(`… ${n} more; choose with --state, --types, --limit`));
      }
    }
    return lines.join("\n");
  },
};

interface Head {
  run_id: string;
  run_dir: string;
  counts: Counts;
  paused?: Pause;
  paused_workers?: { name: string; paused: Pause }[];
  closed_accounts?: AccountState[];
}

/** The run, its counts, and a line for each closed account. */
function headLines(
  { run_id, run_dir, counts, paused, paused_workers = [], closed_accounts = [] }: Head,
  term: Term,
  now: number,
): string[] {
  const { color } = term;
  const closed = closed_accounts.map((account) => {
    const paint = account.state === "parked" ? color.red : color.yellow;
    const text = `account ${account.account} ${describeAccount(account, now)}`;
    return `${paint(plain(text))}${color.dim("  (see: viv accounts)")}`;
  });
  return [
    `${color.bold(plain(run_id))}  ${color.dim(run_dir)}`,
    countLine(counts, term),
    ...(paused ? [color.yellow(plain(pauseLine(paused, now)))] : []),
    ...paused_workers.map((one) => color.yellow(plain(workerPauseLine(one.name, one.paused, now)))),
    ...closed,
  ];
}

const SHOWN_FIRST = ["task_type", "priority", "depends_on", "not_before", "deadline", "done_when"];
const NOT_SHOWN = ["id", "type", "task_id", "payload", "run_id"];

const showCommand: Command = {
  op: show,
  positionals: [{ key: "id" }],
  examples: [
    ["viv show t.1", ""],
    ["viv show t.1 --json | jq .history", "every attempt"],
  ],
  human: (output: z.output<typeof show.output>, term) => {
    const { color } = term;
    const by = output.worker ? ` by ${output.worker}` : "";
    const lines = [
      `${color.bold(output.id)}  ${paintState(output.state, term)}${by} ${color.dim(`since ${output.since}`)}`,
    ];
    if (output.reason) lines.push(color.red(plain(output.reason)));
    if (output.unproven) lines.push(color.red(`unproven: ${plain(output.unproven)}`));
    lines.push(...approvedUnproven(output.ledger).map((line) => color.red(line)));
    if (output.task)
      lines.push(table(fields(output.task), term), "payload", indented(output.task.payload));
    if (output.history.length > 0) {
      lines.push("", color.bold("Attempts"), ...attemptLines(output, term));
    }
    if (output.proof) lines.push("", color.bold("Proof"), ...proofLines(output.proof, term));
    if (output.landing) lines.push("", color.bold("Landing"), landingTable(output.landing, term));
    if (output.ledger.length > 0) {
      // `viv logs` shows the steps.
      const events = output.ledger.filter(({ event }) => event !== "step");
      lines.push("", color.bold("Ledger"), ...events.map((line) => ledgerLine(line, term)));
    }
    return lines.join("\n");
  },
};

/** Approvals of work without a valid proof. */
function approvedUnproven(ledger: readonly Record<string, unknown>[]): string[] {
  return ledger.flatMap(({ event, unproven, by = "someone" }) => {
    if (event !== "approved" || unproven === undefined) return [];
    return [`approved without proof by ${plain(String(by))}: ${plain(String(unproven))}`];
  });
}

function fields(task: Record<string, unknown>): string[][] {
  const keys = [...SHOWN_FIRST, ...Object.keys(task).filter((key) => !SHOWN_FIRST.includes(key))];
  return keys
    .filter((key) => !NOT_SHOWN.includes(key))
    .map((key) => [plain(key), plain(text(task[key] ?? ""))])
    .filter(([, value]) => value !== "");
}

/** Only the names of models in a list. */
function text(value: unknown): string {
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) return JSON.stringify(value);
  const items = value.map((item: unknown) => {
    if (isRecord(item) && "model" in item) return String(item.model);
    return typeof item === "object" ? JSON.stringify(item) : item;
  });
  return items.join(", ");
}

function indented(value: unknown): string {
  return plain(JSON.stringify(value, null, 2)).replace(/^/gm, "  ");
}

function attemptLines({ history, ledger }: z.output<typeof show.output>, term: Term): string[] {
  return withDecisions(history, ledger).flatMap((one) => {
    if ("text" in one) return `  ${term.color.dim(one.at)}  ${hanging(plain(one.text))}`;
    return isAttempt(one) ? attemptLine(one, term) : [];
  });
}

function attemptLine(record: AttemptRecord, { color }: Term): string {
  const paint = record.outcome === "done" ? color.green : color.yellow;
  const note = record.note ? `  ${hanging(plain(record.note))}` : "";
  const rest = record.retry_at ? color.dim(`  next at ${record.retry_at}`) : "";
  const proof = record.receipt ? color.dim(`  receipt: ${plain(record.receipt)}`) : "";
  return `  ${color.dim(record.at)}  ${record.attempt}. ${plain(record.worker)}  ${paint(record.outcome)} → ${record.to}${note}${rest}${proof}`;
}

/** Further lines below the first, and not at the edge, where they would look like another record. */
function hanging(text: string): string {
  return text.trimEnd().replaceAll("\n", "\n      ");
}

function proofLines(proof: Proof, { color }: Term): string[] {
  const { command, exit, signal, timed_out, duration_ms, at, attempt, output, dropped } = proof;
  const how = timed_out ? "its time was up" : signal ? `ended by ${signal}` : `exit ${exit}`;
  const paint = exit === 0 ? color.green : color.red;
  const cut = dropped > 0 ? [color.dim(`  (${counted(dropped, "byte")} dropped)`)] : [];
  return [
    ...plain(command)
      .split("\n")
      .map((line, i) => `  ${i === 0 ? "$" : ">"} ${line}`),
    `  ${paint(how)} ${color.dim(`after ${formatTook(duration_ms)}, attempt ${attempt}, ${at}`)}`,
    ...cut,
    ...indentedLines(output, 20).map((line) => `  ${color.dim("│")} ${plain(line)}`),
  ];
}

function landingTable(fact: LandingFact, term: Term): string {
  const { code, text, command, branch, base, head, changed, uncommitted, reworks, evidence } = fact;
  const { color } = term;
  const paint = code === "landed" ? color.green : code === "no_changes" ? color.dim : color.yellow;
  const size =
    changed && `${counted(changed.files, "file")}, +${changed.insertions} -${changed.deletions}`;
  const rows: [string, string | null | undefined][] = [
    ["branch", head === null ? `${branch} (gone)` : `${branch} at ${head.slice(0, 10)}`],
    ["base", base.slice(0, 10)],
    ["changed", size && `${size}${uncommitted ? ", uncommitted changes included" : ""}`],
    ["reworks", reworks > 0 ? String(reworks) : null],
    ["evidence", evidence],
  ];
  const shown = rows.flatMap(([key, value]) => (value ? [[`  ${key}`, plain(value)]] : []));
  const next = command ? [`  ${color.cyan(plain(command))}`] : [];
  return [`  ${paint(plain(text))}`, ...next, table(shown, term)].join("\n");
}

function ledgerLine(line: Record<string, unknown>, { color }: Term): string {
  const { at, event, task: _, token: __, type: ___, ...rest } = line;
  const details = Object.entries(rest).map(([key, value]) => `${plain(key)}=${text(value)}`);
  return `  ${color.dim(String(at))}  ${plain(String(event)).padEnd(10)} ${color.dim(hanging(plain(details.join(" "))))}`;
}

type TreeOutput = z.output<typeof tree.output>;
type Node = TreeOutput["families"][number];

const treeCommand: Command = {
  op: tree,
  positionals: [{ key: "id" }],
  examples: [
    ["viv tree", "all tasks with children"],
    ["viv tree t.1", "the family of one task"],
  ],
  human: ({ families, more }: TreeOutput, term) => {
    const lines: string[] = [];
    for (const family of families) lines.push(...drawn(family, term));
    if (more > 0) lines.push(term.color.dim(`and ${more} more; see --limit`));
    if (lines.length === 0) lines.push(term.color.dim("no task has enqueued another"));
    return lines.join("\n");
  },
};

function drawn(root: Node, term: Term): string[] {
  const lines: string[] = [];
  const open = [{ node: root, first: "", rest: "" }];
  for (let top = open.pop(); top !== undefined; top = open.pop()) {
    const { id, type, state, landing, children } = top.node;
    const kind = type === null ? "" : term.color.dim(` (${plain(type)})`);
    const painted = state === null ? term.color.dim("gone") : paintState(state, term);
    const way = landing === undefined ? "" : `, ${paintLanding(landing, term)}`;
    lines.push(`${top.first}${id}${kind} ${painted}${way}`);
    const below = children.map((node, i) => {
      const isLast = i === children.length - 1;
      return {
        node,
        first: `${top.rest}${isLast ? "└─ " : "├─ "}`,
        rest: `${top.rest}${isLast ? "   " : "│  "}`,
      };
    });
    open.push(...below.reverse());
  }
  return lines;
}

const SENTENCES = ["summary", "next_step", "risk"];
const CHECKPOINT = ["summary", "next_step", "next_task_id", "risk", "current_worker", "timestamp"];

const statusCommand: Command = {
  op: status,
  examples: [
    ["viv status", ""],
    [
      'viv status --summary "Plan is written" --next-step "Implement it" --next-task-id t.2',
      "a checkpoint",
    ],
  ],
  human: (output: z.output<typeof status.output>, term, io) => {
    const lines = headLines(output, term, io.now());
    for (const why of output.held_workspaces ?? []) lines.push(term.color.yellow(plain(why)));
    const { bytes = 0, limit } = output.workspaces ?? {};
    if (bytes > 0) {
      const of = limit === undefined ? "" : ` of ${formatSize(limit)}`;
      lines.push(term.color.dim(`workspaces take ${formatSize(bytes)}${of}`));
    }
    const checkpoint = (output.status?.checkpoint ?? {}) as Record<string, unknown>;
    const keys = CHECKPOINT.filter((key) => checkpoint[key]);
    const rows = keys.map((key) => {
      const value = plain(String(checkpoint[key]));
      return [key, SENTENCES.includes(key) ? prose(value) : value];
    });
    if (rows.length > 0) lines.push("", table(rows, term));
    // Shown, never run: any writer of the run may have set it.
    if (checkpoint.resume_command)
      lines.push(`resume_command (not run)  ${plain(String(checkpoint.resume_command))}`);
    const workers = output.workers.map(workerRow);
    if (workers.length > 0) lines.push("", term.color.bold("Workers"), table(workers, term));
    return lines.join("\n");
  },
};

function workerRow(worker: z.output<typeof status.output>["workers"][number]): Cell[] {
  const { name, process, heartbeat_age: age, types, claims, note, paused } = worker;
  // A worker's own heartbeat names its tasks.
  const isSaid = note.split(/[\s,]+/).every((word) => word === "" || claims.includes(word));
  return [
    name,
    process === "none" ? "" : process,
    age === null ? "no heartbeat" : `${formatDuration(age * 1000)} ago`,
    types ? types.join(",") : "any type",
    claims.length > 0 ? `holds ${claims.join(", ")}` : "",
    prose(plain([...(paused ? [pausedWords(paused)] : []), ...(isSaid ? [] : [note])].join("; "))),
  ];
}

function pausedWords({ by, note }: Pause): string {
  return `paused by ${by}${note ? `: ${note}` : ""}`;
}

const watchCommand: Command = {
  op: watch,
  examples: [
    ["viv watch", ""],
    ["viv watch --until-idle && viv ls --state failed", "wait for a run to finish"],
    ["viv watch --json | jq -r 'select(.to==\"failed\").id'", "one line of JSON per change"],
  ],
  view: (term) => ({ event: (event: WatchEvent) => describe(event, term) }),
  jsonView: () => ({
    event: (event: WatchEvent) =>
      event.kind === "counts" || event.kind === "unattended" ? null : JSON.stringify(event),
  }),
};

function describe(event: WatchEvent, term: Term): string | null {
  if (event.kind === "counts") return countLine(event.counts, term);
  if (event.kind === "unattended") {
    const id = idWord(event.id);
    const text = `no worker runs that takes ${id}; see: viv why ${id}`;
    return term.color.yellow(text);
  }
  if (event.kind === "ledger") return stepLine(event.line, term);
  if (event.kind === "missed") {
    const are = event.count === 1 ? "is" : "are";
    return `${counted(event.count, "change")} since ${event.since} ${are} not shown; see: viv ls`;
  }
  const { color } = term;
  const from = event.from ? `${paintState(event.from, term)} → ` : "";
  const to = event.to ? paintState(event.to, term) : color.dim("gone");
  const by = event.worker ? color.dim(` by ${event.worker}`) : "";
  return `${color.dim(event.at.slice(11, 23))}  ${event.id}  ${from}${to}${by}`;
}

/** A line for each step of a model run; null for one that only reports usage. */
function stepLine(line: LedgerLine, { color, width }: Term): string | null {
  const { at, task = "", event } = line;
  const time = color.dim(at.slice(11, 23));
  if (event === "usage") {
    const { usd, tokens } = line as { usd?: number; tokens?: number };
    return `${time}  ${task}  ${color.dim(`used ${formatUsd(usd ?? 0)}, ${counted(tokens ?? 0, "token", formatCount)}`)}`;
  }
  const { kind, tool, target, text } = line as Partial<Record<string, string>>;
  const what = kind === "tool" ? `▸ ${[tool, target ?? text].filter(Boolean).join(" ")}` : text;
  if (!what) return null;
  return `${time}  ${task}  ${clip(what, Math.max(20, width - task.length - 16))}`;
}

export const commands = {
  ls: lsCommand,
  show: showCommand,
  status: statusCommand,
  tree: treeCommand,
  watch: watchCommand,
} satisfies Record<string, Command>;
