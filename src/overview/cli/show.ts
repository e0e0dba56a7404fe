import { formatTook } from "../../base/duration.ts";
import { lastLines } from "../../base/text.ts";
import type { Command } from "../../operation/command.ts";
import { plain, type Term, table } from "../../operation/term.ts";
import { type HistoryRecord, isAttempt } from "../../queue/attempt.ts";
import { paintState } from "../../queue/cli/paint.ts";
import type { Proof } from "../../queue/proof.ts";
import { show } from "../operations/show.ts";

interface Output {
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

export const command: Command = {
  op: show,
  positionals: [{ key: "id" }],
  examples: [
    ["viv show t.1", ""],
    ["viv show t.1 --json | jq .history", "every attempt"],
  ],
  human: (output: Output, term) => {
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
