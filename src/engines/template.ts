import { VivError } from "../base/errors.ts";
import { isName, suggest } from "../base/names.ts";
import type { Task } from "../queue/task.ts";
import type { Reference, Tag, Template } from "./template-parse.ts";

/** What is put into one place of a prompt has at most so many bytes. */
export const MAX_INSERTED_BYTES = 100_000;

export interface TemplateFacts {
  task: Task;
  attempt: number;
  /** Why the attempt before did not count, in words; empty when it is the first. */
  note: string;
  /** What it left, or the end of it; empty when it left nothing. */
  evidence: string;
  /**
   * What a task has left, or more than MAX_INSERTED_BYTES of its beginning; null: nothing. Asked
   * only for what may be a task's id.
   */
  artifact(id: string): string | null;
}

/** The prompt. Throws INVALID that names every field which the template wants and the task lacks. */
export function render(template: Template, facts: TemplateFacts): string {
  const problems: { line: number; message: string }[] = [];
  const texts = template.parts.map((part) => {
    if (typeof part === "string") return part;
    const found = insertFor(part, facts);
    if (!("missing" in found)) return found.text;
    if (!part.isOptional) problems.push({ line: part.line, message: messageFor(part, found) });
    return "";
  });
  if (problems.length === 0) return texts.join("");
  const message = problems.map((p) => `${template.file}:${p.line}: ${p.message}`).join("\n");
  throw new VivError("INVALID", message, { problems });
}

type Found = { text: string } | { missing: string };

function messageFor({ source }: Tag, { missing }: { missing: string }): string {
  const optional = source.replace(/\s*\}\}$/, "?}}");
  return `${source}: ${missing} Where it may be missing, write ${optional}.`;
}

function insertFor({ what }: Tag, facts: TemplateFacts): Found {
  if (!("artifact" in what)) return lookUp(what, facts);
  if (typeof what.artifact === "string") return artifactOf(what.artifact, facts);
  const id = lookUp(what.artifact, facts);
  return "missing" in id ? id : artifactOf(id.text, facts);
}

function artifactOf(id: string, facts: TemplateFacts): Found {
  if (!isName(id)) return { missing: `${shown(id)} is not the id of a task.` };
  const artifact = facts.artifact(id);
  if (artifact === null) return { missing: `the task ${id} has left no artifact.` };
  return { text: beginningOf(artifact, id) };
}

function lookUp({ name, path }: Reference, facts: TemplateFacts): Found {
  switch (name) {
    case "payload":
      return fieldOf(facts.task.payload, path, name);
    case "task":
      return fieldOf(facts.task, path, name);
    case "task_id":
    case "task_type":
      return { text: facts.task[name] };
    case "attempt":
      return { text: String(facts.attempt) };
    case "parent":
      return { text: String(facts.task.parent ?? "") };
    case "note":
      return { text: facts.note };
    case "evidence":
      return { text: endOf(facts.evidence) };
  }
}

/** Own fields only: a payload has no constructor, unless it says so. */
function fieldOf(root: unknown, path: readonly (string | number)[], name: string): Found {
  let value = root;
  let where = name;
  for (const key of path) {
    const isList = Array.isArray(value);
    const isThere = isList
      ? /^\d+$/.test(String(key))
      : typeof value === "object" && value !== null && Object.hasOwn(value, key);
    const next: unknown = isThere ? (value as Record<string | number, unknown>)[key] : undefined;
    if (next === undefined) return { missing: lacks(value, key, where) };
    value = next;
    where += isList ? `[${key}]` : `.${key}`;
  }
  if (value === null) return { missing: `${where} is null.` };
  if (typeof value === "object") return { text: JSON.stringify(value, null, 2) };
  return { text: String(value) };
}

const MOST_SHOWN = 20;

function lacks(value: unknown, key: string | number, where: string): string {
  if (Array.isArray(value)) {
    const most = value.length === 1 ? "1 item" : `${value.length} items`;
    return `${where} is a list of ${most}, and has no ${shown(key)}.`;
  }
  if (typeof value !== "object" || value === null) {
    return `${where} is ${value === null ? "null" : `a ${typeof value}`}, and has no fields.`;
  }
  const fields = Object.keys(value);
  if (fields.length === 0) return `${where} has no field ${shown(key)}; it is empty.`;
  const more = fields.length - MOST_SHOWN;
  const all = `${fields.slice(0, MOST_SHOWN).map(shown).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
  const meant = suggest(String(key), fields);
  const hint = meant === undefined ? "" : ` did you mean ${shown(meant)}?`;
  return `${where} has no field ${shown(key)};${hint} it has ${all}.`;
}

function shown(key: string | number): string {
  const text = String(key);
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);
}

/** An artifact begins with what it is about. */
function beginningOf(text: string, id: string): string {
  const all = Buffer.from(text);
  if (all.length <= MAX_INSERTED_BYTES) return text;
  let end = MAX_INSERTED_BYTES;
  // No character is cut in two.
  while (isContinuation(all[end])) end--;
  return `${all.subarray(0, end)}\n[cut: this is the first ${MOST}; the whole is artifacts/${id}.md]`;
}

/** A log ends with why it failed. */
function endOf(text: string): string {
  const all = Buffer.from(text);
  if (all.length <= MAX_INSERTED_BYTES) return text;
  let begin = all.length - MAX_INSERTED_BYTES;
  while (isContinuation(all[begin])) begin++;
  return `[cut: this is the last ${MOST}]\n${all.subarray(begin)}`;
}

const MOST = `${MAX_INSERTED_BYTES / 1000} kB`;

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
