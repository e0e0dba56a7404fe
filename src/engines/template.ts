import { isVivError, VivError } from "../base/errors.ts";
import { assertName, isName, suggest } from "../base/names.ts";
import { counted, shown } from "../base/text.ts";
import type { Task } from "../queue/task.ts";

/**
 * Prompts are templates over the task:
 *
 *   {{payload.goal}} {{payload.files[0].path}} {{payload["my key"]}}    a field of the payload
 *   {{payload}} {{task}}                      all of it, as JSON; {{task.priority}} is a field of it
 *   {{task_id}} {{task_type}} {{attempt}}
 *   {{parent}} {{note}} {{evidence}}          empty when there is none
 *   {{artifact "t.plan"}} {{artifact payload.plan}} {{artifact parent}}    the artifact of a task
 *   {{payload.hint?}} {{artifact "t.plan"?}}  empty when it is missing; an error without the mark
 *   {{{{                                      two braces that are no tag
 *
 * A tag stands on one line; `}}` outside of one is text. Inserted text is data, never parsed as a
 * template. Mistakes of the template itself are found when a worker starts; missing fields of a task
 * only when it is rendered.
 */
export interface Template {
  file: string;
  parts: readonly (string | Tag)[];
}

interface Tag {
  line: number;
  /** As it is written, for messages. */
  source: string;
  value: Reference | { artifact: string | Reference };
  isOptional: boolean;
}

/** A name, and the path to a field of it. */
interface Reference {
  name: (typeof NAMES)[number];
  path: readonly (string | number)[];
}

interface Problem {
  line: number;
  message: string;
}

const NAMES = [
  ...(["payload", "task", "task_id", "task_type", "attempt"] as const),
  ...(["parent", "evidence", "note"] as const),
] as const;
const ALL = [...NAMES, "artifact"];

const BRACES = /\{{2,}/g;
/** Quoted text may hold braces. */
const TAG = /\{\{((?:"(?:[^"\\\n]|\\[^\n])*"|[^"}\n]|\}(?!\}))*)\}\}/y;
const REFERENCE =
  /^([\p{L}_][\p{L}\p{N}_]*)((?:\.[\p{L}\p{N}_-]+|\[\d+\]|\["(?:[^"\\]|\\.)*"\])*)$/u;
const STEP = /\.([\p{L}\p{N}_-]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/gu;

const THREE =
  "{{{ can be read in two ways; write { {{ with a space, or {{{{ for two braces that are no tag.";

/** Throws INVALID with all mistakes, each on a line of its own with its place in the file. */
export function parseTemplate(text: string, file: string): Template {
  const parts: (string | Tag)[] = [];
  const problems: Problem[] = [];
  let line = 1;
  let from = 0;
  const addText = (to: number) => {
    const piece = text.slice(from, to);
    if (piece !== "") parts.push(piece);
    line += piece.split("\n").length - 1;
    from = to;
  };
  for (;;) {
    BRACES.lastIndex = from;
    const braces = BRACES.exec(text);
    if (braces === null) break;
    addText(braces.index);
    if (braces[0].length >= 4) {
      parts.push("{{");
      from += 4;
      continue;
    }
    try {
      if (braces[0].length === 3) throw invalid(THREE);
      const tag = tagAt(text, from);
      parts.push({ line, ...tag });
      from += tag.source.length;
    } catch (error) {
      if (!isVivError(error, "INVALID")) throw error;
      problems.push({ line, message: error.message });
      from = endOfTag(text, from);
    }
  }
  addText(text.length);
  throwProblems(file, problems);
  return { file, parts };
}

function throwProblems(file: string, problems: readonly Problem[]): void {
  if (problems.length === 0) return;
  const message = problems.map((one) => `${file}:${one.line}: ${one.message}`).join("\n");
  throw new VivError("INVALID", message, { problems });
}

const invalid = (message: string) => new VivError("INVALID", message);

/** After a mistake, parsing continues behind the tag, or behind the braces when it has no end. */
function endOfTag(text: string, from: number): number {
  const begin = text.startsWith("{{{", from) ? from + 3 : from + 2;
  const close = text.indexOf("}}", begin);
  const end = text.indexOf("\n", begin);
  return close < 0 || (end >= 0 && end < close) ? begin : close + 2;
}

function tagAt(text: string, from: number): Omit<Tag, "line"> {
  TAG.lastIndex = from;
  const [source, inside = ""] = TAG.exec(text) ?? [];
  if (source === undefined) {
    const isClosed = endOfTag(text, from) > from + 2;
    const why = isClosed ? "a quote that is not closed" : "no }} on its line";
    throw invalid(`{{ has ${why}; write {{{{ if it is no tag.`);
  }
  const isOptional = inside.trimEnd().endsWith("?");
  const words = isOptional ? inside.trim().slice(0, -1).trim() : inside.trim();
  if (words === "") throw invalid(`${source} is empty; there are ${list(ALL)}.`);
  const [, argument] = /^artifact(?![\p{L}\p{N}_])\s*(.*)$/su.exec(words) ?? [];
  const value =
    argument === undefined
      ? readReference(words, source)
      : { artifact: readArtifact(argument, source) };
  return { source, value, isOptional };
}

function readReference(words: string, source: string): Reference {
  const [, name = "", way = ""] = REFERENCE.exec(words) ?? [];
  if (name === "") throw invalid(`${source} cannot be read; write it like {{payload.goal}}.`);
  const known = NAMES.find((one) => one === name);
  if (known === undefined) {
    const meant = suggest(name, ALL);
    if (meant !== undefined)
      throw invalid(`${source}: there is no ${name}; did you mean ${meant}?`);
    throw invalid(
      `${source}: there is no ${name}, only ${list(ALL)}; a field of the task's payload is {{payload.${words}}}.`,
    );
  }
  if (way !== "" && known !== "payload" && known !== "task") {
    throw invalid(`${source}: ${name} has no fields; write {{${name}}}.`);
  }
  const path = [...way.matchAll(STEP)].map(([, key = "", index, quoted]) => {
    if (index !== undefined) return Number(index);
    return quoted === undefined ? key : unquote(quoted, source);
  });
  return { name: known, path };
}

function readArtifact(argument: string, source: string): string | Reference {
  if (argument.startsWith('"')) return assertName("task id", unquote(argument, source));
  const [, name = ""] = REFERENCE.exec(argument) ?? [];
  if (NAMES.some((one) => one === name)) return readReference(argument, source);
  const id = /^[\w.-]+$/.test(argument) ? argument : "t.plan";
  throw invalid(`${source} needs a task's id in quotes, like {{artifact ${JSON.stringify(id)}}}.`);
}

function unquote(text: string, source: string): string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "string") return value;
  } catch {
    // Reported below, like a value that is no string.
  }
  throw invalid(`${source}: ${text} cannot be read as a text in quotes.`);
}

function list(names: readonly string[]): string {
  return `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

/** The most bytes that one tag inserts. */
export const MAX_INSERTED_BYTES = 100_000;
const MOST = `${MAX_INSERTED_BYTES / 1000} kB`;

export interface TemplateFacts {
  task: Task;
  attempt: number;
  /** Why the attempt before did not count; empty when it is the first. */
  note: string;
  /** The evidence of that attempt, or the end of it; empty when it left none. */
  evidence: string;
  /**
   * The artifact of a task, or more than MAX_INSERTED_BYTES of its beginning; null: none. Called only
   * with a valid id.
   */
  artifact(id: string): string | null;
}

/** The prompt. Throws INVALID that names every missing field. */
export function render(template: Template, facts: TemplateFacts): string {
  const problems: Problem[] = [];
  const texts = template.parts.map((part) => {
    if (typeof part === "string") return part;
    const found = insertFor(part, facts);
    if (!("missing" in found)) return found.text;
    if (part.isOptional) return "";
    const optional = part.source.replace(/\s*\}\}$/, "?}}");
    const message = `${part.source}: ${found.missing} Where it may be missing, write ${optional}.`;
    problems.push({ line: part.line, message });
    return "";
  });
  throwProblems(template.file, problems);
  return texts.join("");
}

type Found = { text: string } | { missing: string };

function insertFor({ value }: Tag, facts: TemplateFacts): Found {
  if (!("artifact" in value)) return lookUp(value, facts);
  const { artifact } = value;
  const id = typeof artifact === "string" ? { text: artifact } : lookUp(artifact, facts);
  if ("missing" in id) return id;
  if (!isName(id.text)) return { missing: `${shown(id.text)} is not the id of a task.` };
  const text = facts.artifact(id.text);
  if (text === null) return { missing: `the task ${id.text} has left no artifact.` };
  return { text: beginningOf(text, id.text) };
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

/** Own fields only: a payload inherits no constructor. */
function fieldOf(root: unknown, path: readonly (string | number)[], name: string): Found {
  let value = root;
  let where = name;
  for (const key of path) {
    const isList = Array.isArray(value);
    const isThere = isList
      ? /^\d+$/.test(String(key))
      : typeof value === "object" && value !== null && Object.hasOwn(value, key);
    const next: unknown = isThere ? (value as Record<string | number, unknown>)[key] : undefined;
    if (next === undefined) return { missing: missingField(value, String(key), where) };
    value = next;
    where += isList ? `[${key}]` : `.${key}`;
  }
  if (value === null) return { missing: `${where} is null.` };
  if (typeof value === "object") return { text: JSON.stringify(value, null, 2) };
  return { text: String(value) };
}

const MOST_SHOWN = 20;

function missingField(value: unknown, key: string, where: string): string {
  if (Array.isArray(value)) {
    return `${where} is a list of ${counted(value.length, "item")}, and has no ${shown(key)}.`;
  }
  if (typeof value !== "object" || value === null) {
    return `${where} is ${value === null ? "null" : `a ${typeof value}`}, and has no fields.`;
  }
  const fields = Object.keys(value);
  if (fields.length === 0) return `${where} has no field ${shown(key)}; it is empty.`;
  const more = fields.length - MOST_SHOWN;
  const all = `${fields.slice(0, MOST_SHOWN).map(shown).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
  const meant = suggest(key, fields);
  const hint = meant === undefined ? "" : ` did you mean ${shown(meant)}?`;
  return `${where} has no field ${shown(key)};${hint} it has ${all}.`;
}

/** An artifact begins with its subject. */
function beginningOf(text: string, id: string): string {
  const all = Buffer.from(text);
  if (all.length <= MAX_INSERTED_BYTES) return text;
  let end = MAX_INSERTED_BYTES;
  while (isContinuation(all[end])) end--; // no character is cut in two
  return `${all.subarray(0, end)}\n[cut: this is the first ${MOST}; the whole is artifacts/${id}.md]`;
}

/** A log ends with the reason of its failure. */
function endOf(text: string): string {
  const all = Buffer.from(text);
  if (all.length <= MAX_INSERTED_BYTES) return text;
  let begin = all.length - MAX_INSERTED_BYTES;
  while (isContinuation(all[begin])) begin++;
  return `[cut: this is the last ${MOST}]\n${all.subarray(begin)}`;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
