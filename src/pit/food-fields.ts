import { suggest } from "../base/names.ts";

/**
 * Takes the text of a food apart into fields and the rest, however it was typed. food-values.ts
 * reads the values.
 */

const FIELDS = [
  ...(["task", "done-when", "tossed-by", "for", "size", "too-big", "part-of", "after"] as const),
  ...(["tossed-at", "not-before", "priority", "max-attempts", "timeout", "review"] as const),
  "details",
] as const;
export type FieldName = (typeof FIELDS)[number];

export interface FoodText {
  /** Values as they stand: lines joined, indentation taken off, fences whole. */
  fields: Map<FieldName, string>;
  /** All lines that belong to no field. */
  rest: string[];
  warnings: string[];
}

/** Other spellings; to overlook them would do harm. */
const ALIASES = new Map<string, FieldName>([
  ["depends-on", "after"],
  ["donewhen", "done-when"],
]);
const LONG = new Set<FieldName>(["task", "done-when", "details"]);
/** So many unknown names are compared with ours: a mistyped field is among the first. */
const UNKNOWN_LIMIT = 50;

interface Open {
  name: FieldName;
  indent: number;
  inFront: boolean;
  first: string;
  more: string[];
}

export function readFoodText(text: string): FoodText {
  const lines = text
    .replace(/^\uFEFF/, "")
    .replace(/\r\n?/g, "\n")
    .split("\n");
  const front = frontMatter(lines);
  const fences = new Map(findFences(lines).map((fence) => [fence.open, fence]));
  const lastComment = lines.findLastIndex((line) => line.includes("-->"));
  const found: FoodText = { fields: new Map(), rest: [], warnings: [] };
  const unknownNames = new Set<string>();
  let open: Open | null = null;
  let blanks = 0;

  const add = (to: string[], more: string[]) => {
    for (; blanks > 0; blanks--) to.push("");
    for (const line of more) to.push(line);
  };
  const close = () => {
    if (open !== null) found.fields.set(open.name, joined(open));
    open = null;
    add(found.rest, []);
  };

  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? "";
    const field = open as Open | null;
    if (front !== null && (at === front.open || at === front.close)) {
      close();
      continue;
    }
    const fence = fences.get(at);
    if (fence !== undefined) {
      const block = lines.slice(fence.open, fence.close + 1);
      if (field !== null && takesFence(field, fence, blanks)) add(field.more, block);
      else {
        close();
        add(found.rest, block);
      }
      at = fence.close;
      continue;
    }
    if (line.trim() === "") {
      blanks++;
      continue;
    }
    const end = at < lastComment ? commentEnd(lines, at) : null;
    if (end !== null) {
      close();
      for (const one of lines.slice(at, end + 1)) found.rest.push(one);
      at = end;
      continue;
    }
    const indent = indentOf(line);
    const begun = fieldAt(line);
    const name = begun === null ? undefined : known(begun.name);
    if (begun !== null && name !== undefined) {
      const isNested = field !== null && indent > field.indent;
      if (!isNested || begun.isBold || name === "done-when") {
        close();
        if (found.fields.has(name)) {
          found.warnings.push(`${name} is there more than once; only the first counts.`);
          found.rest.push(line);
        } else {
          const inFront = front !== null && at < front.close;
          open = { name, indent, inFront, first: begun.value, more: [] };
        }
        continue;
      }
    }
    if (field !== null && indent > field.indent && takesLine(field, blanks)) {
      add(field.more, [line]);
      continue;
    }
    close();
    found.rest.push(line);
    if (begun !== null && name === undefined && unknownNames.size < UNKNOWN_LIMIT) {
      unknownNames.add(begun.name);
    }
  }
  close();
  for (const name of unknownNames) {
    const meant = suggest(name, FIELDS);
    if (meant) found.warnings.push(`unknown field "${name}"; did you mean "${meant}"?`);
  }
  found.warnings = [...new Set(found.warnings)];
  return found;
}

/** The last line of an HTML comment of several lines that begins here: its fields do not count. */
function commentEnd(lines: readonly string[], at: number): number | null {
  const first = lines[at]?.trimStart() ?? "";
  if (!first.startsWith("<!--") || first.includes("-->", 4)) return null;
  const end = lines.findIndex((line, i) => i > at && line.includes("-->"));
  return end === -1 ? null : end;
}

const MARKER = /^(?:[-*+]|\d{1,9}[.)])[ \t]+/;
const NAME =
  /^(\*{1,3}|_{1,2}|`)?([A-Za-z][A-Za-z _-]{0,29}?)[ \t]{0,3}(?:(\*{1,3}|_{1,2}|`)[ \t]{0,3}:|:(\*{1,3}|_{1,2}|`)?)/;

function fieldAt(line: string): { name: string; value: string; isBold: boolean } | null {
  const item = line.trimStart().replace(MARKER, "").trimStart();
  const body = item.replace(/^\[[ xX]\][ \t]+/, "");
  // Names are short: the rest of the line is not searched.
  const match = NAME.exec(body.slice(0, 60));
  if (match === null) return null;
  const [whole, before, name = "", inside, behind] = match;
  const isBold = before !== undefined;
  if (!isBold && (inside ?? behind) !== undefined) return null;
  let value = body.slice(whole.length);
  if (isBold && inside === undefined && behind === undefined) {
    // All of it is bold: **task: x**
    if (!value.trimEnd().endsWith(before)) return null;
    value = value.trimEnd().slice(0, -before.length);
  }
  const spelled = name.toLowerCase().replace(/[ _-]+/g, "-");
  // Without a blank it may be anything (`for:each`), unless no other word is spelled like it.
  const isSure = isBold || spelled === "task" || spelled.includes("-");
  if (!isSure && value !== "" && !/^[ \t]/.test(value)) return null;
  return { name: spelled, value: value.trim(), isBold };
}

function known(name: string): FieldName | undefined {
  return FIELDS.find((field) => field === name) ?? ALIASES.get(name);
}

function takesFence(field: Open, fence: Fence, blanks: number): boolean {
  const isEmpty = field.first === "" && field.more.length === 0;
  if (field.name === "details" || !LONG.has(field.name)) return isEmpty;
  return isEmpty || blanks === 0 || field.name === "done-when" || fence.indent > field.indent;
}

function takesLine(field: Open, blanks: number): boolean {
  if (LONG.has(field.name) || field.inFront) return true;
  return blanks === 0 && (field.first === "" || field.name === "after");
}

function joined(field: Open): string {
  let indent = Number.POSITIVE_INFINITY;
  for (const line of field.more) if (line.trim() !== "") indent = Math.min(indent, indentOf(line));
  const more = field.more.map((line) => dedent(line, indent));
  const first = field.inFront ? plainScalar(field.first) : field.first;
  return first === "" ? more.join("\n") : [first, ...more].join("\n");
}

/** What YAML writes around a value. */
function plainScalar(value: string): string {
  if (/^[|>][+-]?$/.test(value)) return "";
  if (value.length < 2) return value;
  if (value.startsWith('"') && value.endsWith('"')) {
    try {
      const inner: unknown = JSON.parse(value);
      return typeof inner === "string" ? inner : value;
    } catch {
      return value; // not a string after all, such as "a" and "b"
    }
  }
  if (value.startsWith("'") && value.endsWith("'")) return value.slice(1, -1).replaceAll("''", "'");
  return value;
}

/** A block between two lines `---` at the very beginning, if there are fields in it. */
function frontMatter(lines: string[]): { open: number; close: number } | null {
  let open = 0;
  while (open < lines.length && lines[open]?.trim() === "") open++;
  if (lines[open]?.trimEnd() !== "---") return null;
  for (let close = open + 1; close < lines.length; close++) {
    const line = lines[close]?.trimEnd() ?? "";
    if (line !== "---" && line !== "...") continue;
    const inner = lines.slice(open + 1, close);
    return inner.some((field) => known(fieldAt(field)?.name ?? "")) ? { open, close } : null;
  }
  return null;
}

/** A fenced block, by the indices of its first and last line. */
interface Fence {
  open: number;
  close: number;
  indent: number;
  info: string;
}

/** Longer runs are ornaments. The limit also bounds how often a text is searched. */
const LONGEST = 40;

/**
 * The fenced blocks of a text. One that is never closed is none: else a stray fence would swallow
 * the fields below it.
 */
export function findFences(lines: string[]): Fence[] {
  const fences: Fence[] = [];
  // A search that failed once fails from every later line too.
  const unclosed: Record<string, number> = {};
  for (let open = 0; open < lines.length; open++) {
    const mark = markOf(lines[open] ?? "");
    if (mark === null || mark.length >= (unclosed[mark.char] ?? LONGEST + 1)) continue;
    let close = open + 1;
    while (close < lines.length && !closes(lines[close] ?? "", mark)) close++;
    if (close === lines.length) {
      unclosed[mark.char] = mark.length;
      continue;
    }
    fences.push({ open, close, indent: indentOf(lines[open] ?? ""), info: mark.info });
    open = close;
  }
  return fences;
}

export function contentOf(lines: string[], fence: Fence): string {
  const inner = lines.slice(fence.open + 1, fence.close);
  return inner.map((line) => dedent(line, fence.indent)).join("\n");
}

function indentOf(line: string): number {
  return indentTo(line, Number.POSITIVE_INFINITY).column;
}

/** Without up to so many columns of white space. */
function dedent(line: string, columns: number): string {
  return line.slice(indentTo(line, columns).at);
}

/** The end of the indentation, at most `columns` wide; a tab goes on to the next multiple of four. */
function indentTo(line: string, columns: number): { at: number; column: number } {
  let column = 0;
  let at = 0;
  for (; column < columns && (line[at] === " " || line[at] === "\t"); at++) {
    column += line[at] === " " ? 1 : 4 - (column % 4);
  }
  return { at, column };
}

interface Mark {
  char: string;
  length: number;
  info: string;
}

function markOf(line: string): Mark | null {
  const text = line.trim();
  const run = /^(?:`{3,}|~{3,})/.exec(text)?.[0];
  if (run === undefined) return null;
  const info = text.slice(run.length).trim();
  const char = run.charAt(0);
  return char === "`" && info.includes("`") ? null : { char, length: run.length, info };
}

function closes(line: string, mark: Mark): boolean {
  const text = line.trim();
  return text.startsWith(mark.char.repeat(mark.length)) && markOf(text)?.info === "";
}
