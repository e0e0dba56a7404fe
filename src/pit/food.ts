import { VivError } from "../base/errors.ts";
import { canonicalJson } from "../base/json.ts";
import { fenceFor } from "../base/text.ts";
import type { Task } from "../queue/task.ts";
import { quoteDoneWhen } from "./done-when.ts";
import { parseFood, setOwn } from "./food-read.ts";

export { parseFood } from "./food-read.ts";

/**
 * Writes a task as food: what people read as fields, anything else as JSON under `details`. What a
 * field does not give back exactly (a carriage return, a `#` in an odd place) is found by reading the
 * text again, and goes to `details` too; so nothing needs to be known here about how fields are read.
 */
export function foodOf(task: Task): string {
  const parts = partsOf(task);
  for (;;) {
    const text = render(task, parts);
    const read = readAgain(text, task);
    if (read !== null && canonicalJson(read) === canonicalJson(task)) return text;
    // If it cannot be read at all, any of them may be the reason.
    const wrong = parts.filter(
      (part) => part.forms.length > 0 && (!read || differs(part, task, read)),
    );
    const blamed = wrong.length > 0 ? wrong : parts.filter((part) => part.forms.length > 0);
    if (blamed.length === 0) {
      throw new VivError(
        "INVALID",
        `task ${JSON.stringify(task.task_id)} cannot be written as food: one of its keys has a value that no food may have.`,
      );
    }
    for (const part of blamed) part.forms.shift();
  }
}

/** One value of a task, with the ways to write it, best first. Without any it goes to details. */
interface Part {
  key: string;
  inPayload: boolean;
  forms: string[];
}

function partsOf(task: Task): Part[] {
  const { payload } = task;
  const parts: Part[] = [];
  const top = (key: string, name: string, value: unknown) => {
    if (typeof value === "string" && isPlain(value)) {
      parts.push({
        key,
        inPayload: false,
        forms: [`- **${name}:**${value.startsWith("\n") ? "" : " "}${value}`],
      });
    }
  };
  const inPayload = (key: string, forms: (value: string) => string[]) => {
    const value = Object.hasOwn(payload, key) ? payload[key] : undefined;
    if (typeof value === "string" && isPlain(value)) {
      parts.push({ key, inPayload: true, forms: forms(value) });
    }
  };
  inPayload("task", (value) => [
    `- **task:** ${indented(value)}`,
    `- **task:**\n\n  ${fenceFor(value)}text\n${lines(value)}\n  ${fenceFor(value)}`,
  ]);
  if (typeof task.done_when === "string") top("done_when", "done-when", proofOf(task.done_when));
  else if (task.review === true) {
    inPayload("done_when", (value) => [`- **done-when:** ${indented(value)}`]);
  }
  top("created_by", "tossed-by", task.created_by);
  top("task_type", "for", task.task_type === "food" ? undefined : task.task_type);
  top("parent", "part-of", task.parent);
  top("depends_on", "after", task.depends_on.join(", ") || undefined);
  top("created_at", "tossed-at", task.created_at);
  top("not_before", "not-before", task.not_before);
  top("priority", "priority", task.priority);
  top("max_attempts", "max-attempts", numeral(task.max_attempts));
  top("timeout", "timeout", task.timeout);
  top("review", "review", task.review === true ? "yes" : undefined);
  inPayload("text", (value) => [value]);
  return parts;
}

function render(task: Task, parts: Part[]): string {
  const written = parts.filter((part) => part.forms.length > 0);
  const isWritten = (key: string, inPayload: boolean) =>
    written.some((part) => part.key === key && part.inPayload === inPayload);
  const payload: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(task.payload)) {
    if (!isWritten(key, true)) setOwn(payload, key, value);
  }
  const details: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(task)) {
    if (!isUsual(key, value) && !isWritten(key, false)) setOwn(details, key, value);
  }
  const hasMore = Object.keys(payload).length > 0 || !isWritten("task", true);
  if (hasMore) details.payload = payload;

  const isProse = (part: Part) => part.inPayload && part.key === "text";
  const fields = written.filter((part) => !isProse(part)).map((part) => part.forms[0]);
  if (Object.keys(details).length > 0) {
    fields.push(`- **details:**\n\n  \`\`\`json\n${lines(canonicalJson(details))}\n  \`\`\``);
  }
  const prose = written.filter(isProse).map((part) => `\n${part.forms[0]}\n`);
  return `# ${task.task_id}\n\n${fields.join("\n")}\n${prose.join("")}`;
}

/** What a food has without saying it; the payload is looked at key by key. */
function isUsual(key: string, value: unknown): boolean {
  if (["task_id", "run_id", "payload"].includes(key) || value === undefined) return true;
  if (key === "task_type") return value === "food";
  if (key === "depends_on") return Array.isArray(value) && value.length === 0;
  return value === null && ["created_by", "tier_hint", "deadline"].includes(key);
}

function differs(part: Part, task: Task, read: Task): boolean {
  const [a, b] = part.inPayload ? [task.payload, read.payload] : [task, read];
  return canonicalJson(a[part.key]) !== canonicalJson(b[part.key]);
}

function readAgain(text: string, task: Task): Task | null {
  try {
    return parseFood(text, task.task_id, { runId: task.run_id, createdAt: "" });
  } catch {
    return null; // the caller writes it in another way, and throws when there is none left
  }
}

/** Half a surrogate pair would not come back from the disk. */
function isPlain(value: string): boolean {
  return !/\p{Surrogate}/u.test(value);
}

function proofOf(command: string): string {
  const quoted = quoteDoneWhen(command);
  return quoted.includes("\n") ? `\n\n${lines(quoted)}` : quoted;
}

const numeral = (value: unknown) => (typeof value === "number" ? String(value) : undefined);
const indented = (text: string) => lines(text).slice(2);

function lines(text: string): string {
  return text
    .split("\n")
    .map((line) => (line === "" ? "" : `  ${line}`))
    .join("\n");
}
