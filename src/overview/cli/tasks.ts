import type * as z from "zod/mini";
import { formatDuration, formatTook } from "../../base/duration.ts";
import { lastLines } from "../../base/text.ts";
import { type AccountState, describeAccount } from "../../engines/accounts/account.ts";
import type { Command } from "../../operation/command.ts";
import { plain, type Term, table } from "../../operation/term.ts";
import { type HistoryRecord, isAttempt, type Proof } from "../../queue/attempt.ts";
import { countLine, paintState } from "../../queue/cli/paint.ts";
import { ls, show, tree, why } from "../operations/tasks.ts";

type LsOutput = z.output<typeof ls.output> & { closed_accounts?: AccountState[] };

const lsCommand: Command = {
  op: ls,
  examples: [
    ["viv ls", "active tasks first, done tasks last"],
    ["viv ls --state failed,review", "tasks that need a person"],
    ["viv ls --state pending --types audit --limit 500 --json", ""],
  ],
  human: (output: LsOutput, term, io) => {
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

interface ShowOutput {
  id: string;
  state: string;
  since: string;
  worker?: string;
  token?: string;
  reason?: string;
  task: Record<string, unknown> | null;
  history: HistoryRecord[];
  ledger: Record<string, unknown>[];
  proof?: Proof;
}

const SHOWN_FIRST = ["task_type", "priority", "depends_on", "not_before", "deadline", "done_when"];
const NOT_SHOWN = ["task_id", "payload", "run_id"];

const showCommand: Command = {
  op: show,
  positionals: [{ key: "id" }],
  examples: [
    ["viv show t.1", ""],
    ["viv show t.1 --json | jq .history", "every attempt"],
  ],
  human: (output: ShowOutput, term) => {
    const { color } = term;
    const by = output.worker ? ` by ${output.worker}` : "";
    const lines = [
      `${color.bold(output.id)}  ${paintState(output.state, term)}${by} ${color.dim(`since ${output.since}`)}`,
    ];
    if (output.reason) lines.push(color.red(plain(output.reason)));
    if (output.task)
      lines.push(table(fields(output.task), term), "payload", indented(output.task.payload));
    if (output.history.length > 0) {
      lines.push("", color.bold("Attempts"), ...output.history.map((h) => historyLine(h, term)));
    }
    if (output.proof) lines.push("", color.bold("Proof"), ...proofLines(output.proof, term));
    if (output.ledger.length > 0) {
      // Steps are what `viv logs` shows.
      const events = output.ledger.filter(({ event }) => event !== "step");
      lines.push("", color.bold("Ledger"), ...events.map((line) => ledgerLine(line, term)));
    }
    return lines.join("\n");
  },
};

function fields(task: Record<string, unknown>): string[][] {
  const keys = [...SHOWN_FIRST, ...Object.keys(task).filter((key) => !SHOWN_FIRST.includes(key))];
  return keys
    .filter((key) => !NOT_SHOWN.includes(key) && !isEmpty(task[key]))
    .map((key) => [plain(key), plain(text(task[key]))]);
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}

function text(value: unknown): string {
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) return JSON.stringify(value);
  return value.map((item: unknown) => (typeof item === "object" ? named(item) : item)).join(", ");
}

/** Of a model in a list, its name says enough. */
function named(item: object | null): string {
  return item !== null && "model" in item ? String(item.model) : JSON.stringify(item);
}

function indented(value: unknown): string {
  return plain(JSON.stringify(value, null, 2)).replace(/^/gm, "  ");
}

function historyLine(record: HistoryRecord, { color }: Term): string {
  if (!isAttempt(record)) {
    return `  ${color.dim(record.at)}  sent round again by ${plain(record.by)}${record.note ? `: ${plain(record.note)}` : ""}`;
  }
  const paint = record.outcome === "done" ? color.green : color.yellow;
  const note = record.note ? `  ${plain(record.note)}` : "";
  const rest = record.retry_at ? color.dim(`  next at ${record.retry_at}`) : "";
  const proof = record.receipt ? color.dim(`  receipt: ${plain(record.receipt)}`) : "";
  return `  ${color.dim(record.at)}  ${record.attempt}. ${plain(record.worker)}  ${paint(record.outcome)} → ${record.to}${note}${rest}${proof}`;
}

function proofLines(proof: Proof, { color }: Term): string[] {
  const { command, exit, signal, timed_out, duration_ms, at, attempt, output, dropped } = proof;
  const how = timed_out ? "its time was up" : signal ? `ended by ${signal}` : `exit ${exit}`;
  const paint = exit === 0 ? color.green : color.red;
  const cut = dropped > 0 ? [color.dim(`  (${dropped} bytes dropped)`)] : [];
  return [
    ...plain(command)
      .split("\n")
      .map((line, i) => `  ${i === 0 ? "$" : ">"} ${line}`),
    `  ${paint(how)} ${color.dim(`after ${formatTook(duration_ms)}, attempt ${attempt}, ${at}`)}`,
    ...cut,
    ...lastLines(output, 20).map((line) => `  ${color.dim("│")} ${plain(line)}`),
  ];
}

function ledgerLine(line: Record<string, unknown>, { color }: Term): string {
  const { at, event, task: _, token: __, type: ___, ...rest } = line;
  const details = Object.entries(rest).map(([key, value]) => `${plain(key)}=${text(value)}`);
  return `  ${color.dim(String(at))}  ${plain(String(event)).padEnd(10)} ${color.dim(plain(details.join(" ")))}`;
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
    for (const family of families) draw(family, "", "", lines, term);
    if (more > 0) lines.push(term.color.dim(`and ${more} more; see --limit`));
    if (lines.length === 0) lines.push(term.color.dim("no task has enqueued another"));
    return lines.join("\n");
  },
};

function draw(root: Node, first: string, rest: string, lines: string[], term: Term): void {
  const open = [{ node: root, first, rest }];
  for (let top = open.pop(); top !== undefined; top = open.pop()) {
    const { id, type, state, children } = top.node;
    const kind = type === null ? "" : term.color.dim(` (${plain(type)})`);
    lines.push(
      `${top.first}${id}${kind} ${state === null ? term.color.dim("gone") : paintState(state as never, term)}`,
    );
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
}

type WhyOutput = z.output<typeof why.output>;

const whyCommand: Command = {
  op: why,
  positionals: [{ key: "id" }],
  examples: [["viv why t.1", "every reason, each with the command that would change it"]],
  human: (output: WhyOutput, term) => {
    const { color } = term;
    const lines = [`${color.bold(output.id)} is ${paintState(output.state, term)}`];
    output.reasons.forEach((reason, i) => {
      lines.push(`  ${i + 1}. ${plain(reason.text)}`);
      if (reason.command) lines.push(`     ${color.cyan(plain(reason.command))}`);
    });
    if (output.reasons.length === 0)
      lines.push("  nothing holds it back; it will move in a moment");
    return lines.join("\n");
  },
};

export const commands = {
  ls: lsCommand,
  show: showCommand,
  tree: treeCommand,
  why: whyCommand,
} satisfies Record<string, Command>;
