import { isVivError, VivError } from "../base/errors.ts";
import { assertName, suggest } from "../base/names.ts";

/**
 * Prompts are templates over the task:
 *
 *   {{payload.goal}} {{payload.files[0].path}} {{payload["my key"]}}    a field of the payload
 *   {{payload}} {{task}}                      all of it, as JSON; {{task.priority}} is a field of it
 *   {{task_id}} {{task_type}} {{attempt}}
 *   {{parent}} {{note}} {{evidence}}          empty when there is none
 *   {{artifact "t.plan"}} {{artifact payload.plan}} {{artifact parent}}    what a task has left
 *   {{payload.hint?}} {{artifact "t.plan"?}}  empty when it is missing, where else that is an error
 *   {{{{                                      two braces that are just two braces
 *
 * A tag stands on one line; `}}` outside of one is text. What is inserted is data: it is never read
 * as a template again. Mistakes of the template itself are found here, when a worker starts; what
 * a task lacks can be known only when it is rendered.
 */
export interface Template {
  file: string;
  parts: readonly (string | Tag)[];
}

export interface Tag {
  line: number;
  /** As it is written, for messages. */
  source: string;
  what: Reference | { artifact: string | Reference };
  isOptional: boolean;
}

/** A name, and the way to a field of it. */
export interface Reference {
  name: Name;
  path: readonly (string | number)[];
}

const NAMES = [
  "payload",
  "task",
  "task_id",
  "task_type",
  "attempt",
  "parent",
  "evidence",
  "note",
] as const;
export type Name = (typeof NAMES)[number];
const ALL = [...NAMES, "artifact"];

const BRACES = /\{{2,}/g;
/** What is in quotes may hold braces. */
const TAG = /\{\{((?:"(?:[^"\\\n]|\\[^\n])*"|[^"}\n]|\}(?!\}))*)\}\}/y;
const REFERENCE =
  /^([\p{L}_][\p{L}\p{N}_]*)((?:\.[\p{L}\p{N}_-]+|\[\d+\]|\["(?:[^"\\]|\\.)*"\])*)$/u;
const STEP = /\.([\p{L}\p{N}_-]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/gu;

/** Throws INVALID with all mistakes, each on a line of its own with its place in the file. */
export function parseTemplate(text: string, file: string): Template {
  const parts: (string | Tag)[] = [];
  const problems: { line: number; message: string }[] = [];
  let line = 1;
  let from = 0;
  const pass = (to: number) => {
    const piece = text.slice(from, to);
    if (piece !== "") parts.push(piece);
    line += piece.split("\n").length - 1;
    from = to;
  };
  for (;;) {
    BRACES.lastIndex = from;
    const braces = BRACES.exec(text);
    if (braces === null) break;
    pass(braces.index);
    if (braces[0].length >= 4) {
      parts.push("{{");
      from += 4;
      continue;
    }
    try {
      if (braces[0].length === 3) throw new VivError("INVALID", THREE);
      const tag = tagAt(text, from);
      parts.push({ line, ...tag });
      from += tag.source.length;
    } catch (error) {
      if (!isVivError(error, "INVALID")) throw error;
      problems.push({ line, message: error.message });
      from = endOfTag(text, from);
    }
  }
  pass(text.length);
  if (problems.length === 0) return { file, parts };
  const message = problems.map((p) => `${file}:${p.line}: ${p.message}`).join("\n");
  throw new VivError("INVALID", message, { problems });
}

const THREE =
  "{{{ can be read in two ways; write { {{ with a space, or {{{{ for two braces that are no tag.";

/** Where to go on after a mistake: behind the tag, or behind the braces when it has no end. */
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
    throw new VivError("INVALID", `{{ has ${why}; write {{{{ if it is no tag.`);
  }
  const isOptional = inside.trimEnd().endsWith("?");
  const words = isOptional ? inside.trim().slice(0, -1).trim() : inside.trim();
  if (words === "") throw new VivError("INVALID", `${source} is empty; there are ${list(ALL)}.`);
  const [, argument] = /^artifact(?![\p{L}\p{N}_])\s*(.*)$/su.exec(words) ?? [];
  const what =
    argument === undefined
      ? readReference(words, source)
      : { artifact: readArtifact(argument, source) };
  return { source, what, isOptional };
}

function readReference(words: string, source: string): Reference {
  const [, name = "", way = ""] = REFERENCE.exec(words) ?? [];
  if (name === "") {
    throw new VivError("INVALID", `${source} cannot be read; write it like {{payload.goal}}.`);
  }
  const known = NAMES.find((one) => one === name);
  if (known === undefined) throw new VivError("INVALID", unknown(words, name, source));
  if (way !== "" && known !== "payload" && known !== "task") {
    throw new VivError("INVALID", `${source}: ${name} has no fields; write {{${name}}}.`);
  }
  const path = [...way.matchAll(STEP)].map(([, key, index, quoted]) =>
    index !== undefined ? Number(index) : quoted !== undefined ? unquote(quoted, source) : key,
  );
  return { name: known, path: path as (string | number)[] };
}

function unknown(words: string, name: string, source: string): string {
  const meant = suggest(name, ALL);
  if (meant !== undefined) return `${source}: there is no ${name}; did you mean ${meant}?`;
  return `${source}: there is no ${name}, only ${list(ALL)}; a field of the task's payload is {{payload.${words}}}.`;
}

function readArtifact(argument: string, source: string): string | Reference {
  if (argument.startsWith('"')) return assertName("task id", unquote(argument, source));
  const [, name = ""] = REFERENCE.exec(argument) ?? [];
  if (NAMES.some((one) => one === name)) return readReference(argument, source);
  const id = /^[\w.-]+$/.test(argument) ? argument : "t.plan";
  throw new VivError(
    "INVALID",
    `${source} needs a task's id in quotes, like {{artifact ${JSON.stringify(id)}}}.`,
  );
}

function unquote(text: string, source: string): string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "string") return value;
  } catch {
    // Said below, in the same words as for what is no string.
  }
  throw new VivError("INVALID", `${source}: ${text} cannot be read as a text in quotes.`);
}

function list(names: readonly string[]): string {
  return `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}
