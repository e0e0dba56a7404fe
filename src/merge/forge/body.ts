import { formatUsd } from "../../base/amount.ts";
import { formatTook } from "../../base/duration.ts";
import { VivError } from "../../base/errors.ts";
import { suggest } from "../../base/names.ts";
import { counted, longestBackticks } from "../../base/text.ts";
import { dollarsOf, LedgerTotals } from "../../engines/costs/ledger-totals.ts";
import { totalTokens } from "../../engines/costs/usage.ts";
import type { Env } from "../../operation/operation.ts";
import { git } from "../../platform/git/git.ts";
import type { Proof } from "../../queue/attempt.ts";
import type { Store } from "../../queue/store.ts";
import type { Task } from "../../queue/task.ts";
import { redacted } from "./redact.ts";
import { cleaned, oneLine } from "./text.ts";

/** What a pull request says about the work: each is a `{{name}}` of the template. */
export interface Told {
  title: string;
  task: string;
  type: string;
  run: string;
  branch: string;
  base: string;
  description: string;
  proof: string;
  attempts: string;
  cost: string;
  commits: string;
  files: string;
  issue: string;
}

const NAMES = [
  ...(["title", "task", "type", "run", "branch", "base", "description"] as const),
  ...(["proof", "attempts", "cost", "commits", "files", "issue"] as const),
] satisfies (keyof Told)[];

const DEFAULT_TEMPLATE = `{{description}}

- Proof: {{proof}}
- Attempts: {{attempts}}
- Cost: {{cost}}

{{files}}

{{issue}}

Task {{task}} ({{type}}) of the run {{run}}.
`;

/** A forge takes no more: GitHub 65,536 characters, and titles of 256. */
const MOST_BODY = 60_000;
const MOST_TITLE = 200;
const MOST_FILES = 50;

/** The text of a pull request; `template` null: the default. Throws INVALID for an unknown name. */
export function bodyOf(template: { text: string; file: string } | null, told: Told): string {
  const text = template?.text ?? DEFAULT_TEMPLATE;
  const body = text.replace(/\{\{\s*([^{}\n]*?)\s*\}\}/g, (tag, name: string) => {
    const known = NAMES.find((one) => one === name);
    if (known !== undefined) return told[known];
    const meant = suggest(name, NAMES);
    const hint = meant ? `did you mean {{${meant}}}?` : `there are ${NAMES.join(", ")}.`;
    throw new VivError("INVALID", `${template?.file}: ${tag} is unknown; ${hint}`);
  });
  const trimmed = body.replace(/\n{3,}/g, "\n\n").trim();
  return trimmed.length > MOST_BODY ? `${trimmed.slice(0, MOST_BODY)}\n\n[cut]` : trimmed;
}

export interface Work {
  id: string;
  task: Task;
  repository: string;
  branch: string;
  base: string;
  /** The commits that the branch began at and ends at. */
  from: string;
  to: string;
  /** `owner/name#12` or `#12`, when the task was made of an issue. */
  issue: string | null;
  title?: string;
}

/** Reads what there is to tell; nothing in it is secret, as far as that can be told. */
export async function tell(store: Store, work: Work, env: Env): Promise<Told> {
  const { id, task } = work;
  const attempts = (await store.attemptsOf(id)).length;
  const told: Told = {
    title: titleOf(work),
    task: code(id),
    type: code(task.task_type),
    run: code(store.runId),
    branch: code(work.branch),
    base: code(work.base),
    description: descriptionOf(task),
    proof: proofOf(await store.proof(id)),
    attempts: String(attempts),
    cost: await costOf(store, id),
    ...(await changesOf(work)),
    issue: work.issue === null ? "" : `Closes ${work.issue}`,
  };
  for (const name of NAMES) told[name] = redacted(cleaned(told[name]), env);
  return told;
}

/** Keys of a payload under which people write what a task is about, the best first. */
const SUBJECTS = ["title", "summary", "subject", "goal", "task", "prompt", "description"];

function titleOf({ id, task, title }: Work): string {
  if (title !== undefined) return oneLine(title, MOST_TITLE);
  for (const key of SUBJECTS) {
    const value = task.payload[key];
    const line = typeof value === "string" ? oneLine(value, MOST_TITLE) : "";
    if (line !== "") return line;
  }
  return `${task.task_type}: ${id}`;
}

/** The task's own words, but for those that are the title. */
function descriptionOf({ payload }: Task): string {
  const [, ...rest] = SUBJECTS.flatMap((key) =>
    typeof payload[key] === "string" && payload[key].trim() !== "" ? [payload[key]] : [],
  );
  const text = typeof payload.body === "string" ? payload.body : (rest[0] ?? "");
  return text.slice(0, MOST_BODY / 2);
}

function proofOf(proof: Proof | null): string {
  if (proof === null) return "none; the task has no `done_when`";
  const { command, exit, duration_ms, attempt } = proof;
  const result = exit === 0 ? "passed" : `ended with ${exit ?? proof.signal}`;
  return `${code(command)} ${result} in ${formatTook(duration_ms)} (attempt ${attempt})`;
}

async function costOf(store: Store, id: string): Promise<string> {
  const totals = new LedgerTotals([]);
  for await (const line of store.ledger({ task: id })) totals.add(line);
  const sum = totals.total();
  const tokens = totalTokens(sum.tokens);
  if (sum.attempts === 0) return "no model was used";
  const price = sum.unpriced > 0 ? `${formatUsd(dollarsOf(sum))}+` : formatUsd(dollarsOf(sum));
  return `${price} for ${counted(tokens, "token")}`;
}

async function changesOf({ repository, from, to }: Work) {
  const range = [from, to];
  const place = { cwd: repository };
  const stat = await git(["diff", "--numstat", "-z", "--no-renames", ...range, "--"], place);
  const rows = stat.split("\0").filter((row) => row !== "");
  const log = await git(["log", "--format=%h %s", "-n", "50", `${from}..${to}`, "--"], place);
  const shown = rows.slice(0, MOST_FILES).map((row) => {
    const [added = "-", removed = "-", path = ""] = row.split("\t");
    const lines = added === "-" ? "binary" : `+${added} −${removed}`;
    return `- ${code(path)} ${lines}`;
  });
  const more = rows.length - shown.length;
  if (more > 0) shown.push(`- and ${more} more`);
  const commits = log.split("\n").map((line) => `- ${line}`);
  return {
    files: [`${counted(rows.length, "file")} changed:`, ...shown].join("\n"),
    commits: commits.join("\n"),
  };
}

/** A span of code that its text does not end. */
function code(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  const ticks = "`".repeat(longestBackticks(line) + 1);
  const room = line.startsWith("`") || line.endsWith("`") ? " " : "";
  return `${ticks}${room}${line}${room}${ticks}`;
}
