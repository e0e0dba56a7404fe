import { formatUsd } from "../../base/amount.ts";
import { formatTook } from "../../base/duration.ts";
import { VivError } from "../../base/errors.ts";
import { suggest } from "../../base/names.ts";
import { codeSpan, counted } from "../../base/text.ts";
import { dollarsOf, LedgerTotals } from "../../engines/costs/ledger-totals.ts";
import { totalTokens } from "../../engines/costs/usage.ts";
import type { Env } from "../../operation/operation.ts";
import { git } from "../../platform/git/git.ts";
import type { Proof } from "../../queue/attempt.ts";
import type { Store } from "../../queue/store.ts";
import type { Task } from "../../queue/task.ts";
import { changedFiles } from "../changes.ts";
import { titleOf } from "../message.ts";
import { redacted } from "./redact.ts";
import { cleaned, oneLine } from "./text.ts";

const NAMES = [
  ...(["title", "task", "type", "run", "branch", "base", "description"] as const),
  ...(["proof", "attempts", "cost", "commits", "files", "issue"] as const),
];

/** What a pull request says about the work: each is a `{{name}}` of the template. */
export type Told = Record<(typeof NAMES)[number], string>;

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
  /** `Closes #12` and its like, when the task was made of an issue. */
  issue: string | null;
  title?: string;
}

/** Reads what there is to tell; nothing in it is secret, as far as that can be told. */
export async function tell(store: Store, work: Work, env: Env): Promise<Told> {
  const { id } = work;
  // Before anything is cut: half a secret is none that can be told by its shape.
  const safe = (text: string) => redacted(cleaned(text), env);
  const task = { ...work.task, payload: withTexts(work.task.payload, safe) };
  const attempts = (await store.attemptsOf(id)).length;
  const told: Told = {
    title: work.title === undefined ? titleOf(task) : oneLine(safe(work.title), MOST_TITLE),
    task: code(id),
    type: code(task.task_type),
    run: code(store.runId),
    branch: code(work.branch),
    base: code(work.base),
    // An issue's text is another person's: under the user's name it would call people and close issues.
    description: work.issue === null ? descriptionOf(task) : "",
    proof: proofOf(await store.proof(id)),
    attempts: String(attempts),
    cost: await costOf(store, id),
    ...(await changesIn(work)),
    issue: work.issue ?? "",
  };
  for (const name of NAMES) told[name] = safe(told[name]);
  return told;
}

function withTexts(payload: Task["payload"], change: (text: string) => string): Task["payload"] {
  const entries = Object.entries(payload);
  return Object.fromEntries(
    entries.map(([key, value]) => [key, typeof value === "string" ? change(value) : value]),
  );
}

/** Keys of a payload under which people write what a task is about, the longest text first. */
const TEXTS = ["body", "description", "prompt", "goal"];

/** The task's own words, if there are more than the title. */
function descriptionOf(task: Task): string {
  const texts = TEXTS.flatMap((key) => {
    const value = task.payload[key];
    return typeof value === "string" && value.trim() !== "" ? [value.trim()] : [];
  });
  const [text = ""] = texts;
  return text === titleOf(task) ? "" : text.slice(0, MOST_BODY / 2);
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

async function changesIn({ repository, from, to }: Work) {
  const range = ["log", "--format=%h %s", "-n", "50", `${from}..${to}`, "--"];
  const log = await git(range, { cwd: repository });
  const files = await changedFiles({ repository, from, to });
  const shown = files.slice(0, MOST_FILES).map(({ path, insertions, deletions }) => {
    const lines = insertions === null ? "binary" : `+${insertions} −${deletions}`;
    return `- ${code(path)} ${lines}`;
  });
  const more = files.length - shown.length;
  if (more > 0) shown.push(`- and ${more} more`);
  return {
    files: [`${counted(files.length, "file")} changed:`, ...shown].join("\n"),
    commits: log
      .split("\n")
      .map((line) => `- ${line}`)
      .join("\n"),
  };
}

function code(text: string): string {
  return codeSpan(text.replace(/\s+/g, " ").trim());
}
