import type { OrgLine } from "./elements.ts";
import { type OrgDocument, type OrgHeading, propertyOf } from "./org.ts";

export interface OrgEdit {
  from: number;
  to: number;
  text: string;
}

/**
 * The text with all edits made; they must not overlap. Insertions at one offset keep their order.
 * Edits of one scan may be made together, except that two of them which both need a
 * new drawer would make two: scan again between them.
 */
export function patch(text: string, edits: readonly OrgEdit[]): string {
  const sorted = [...edits].sort((a, b) => a.from - b.from || a.to - b.to);
  const parts: string[] = [];
  let at = 0;
  for (const edit of sorted) {
    if (edit.from < at || edit.to < edit.from || edit.to > text.length) {
      throw new RangeError(`the edit of ${edit.from} to ${edit.to} overlaps another or the end`);
    }
    parts.push(text.slice(at, edit.from), edit.text);
    at = edit.to;
  }
  parts.push(text.slice(at));
  return parts.join("");
}

/** Another state, which must be one of the file's own. */
export function setTodo(
  { todo, todoFrom: from, todoTo, to }: OrgHeading,
  state: string,
): OrgEdit[] {
  if (state === todo) return [];
  // A title behind it is kept apart.
  const gap = todo === null && from < to ? " " : "";
  return [{ from, to: todoTo, text: state + gap }];
}

/** Sets the first property of that name (one word); without one it adds a line, and a drawer if needed. */
export function setProperty(
  org: OrgDocument,
  heading: OrgHeading,
  name: string,
  value: string,
): OrgEdit[] {
  const written = oneLine(value);
  const known = propertyOf(heading, name);
  if (known !== undefined) {
    if (known.value === written) return [];
    const { valueFrom: from, valueTo: to } = known;
    // Behind an empty one there may be a space already, which then ends the line.
    return [{ from, to, text: from === to ? ` ${written}` : written }];
  }
  const line = propertyLine(org, heading, name, written);
  if (heading.drawer !== null) {
    const at = heading.drawer.innerTo;
    return [{ from: at, to: at, text: line + eolOf(org, heading) }];
  }
  const indent = drawerIndent(org, heading);
  return [insertAfter(org, heading.drawersAt, [`${indent}:PROPERTIES:`, line, `${indent}:END:`])];
}

/** Removes every property of that name, and the drawer with the last one. */
export function removeProperty(heading: OrgHeading, name: string): OrgEdit[] {
  const wanted = name.toUpperCase();
  const isWanted = (property: { name: string }) => property.name.toUpperCase() === wanted;
  const gone = heading.properties.filter(isWanted);
  if (gone.length === 0) return [];
  const { drawer } = heading;
  const isLast = gone.length === heading.properties.length && heading.strays.length === 0;
  if (drawer !== null && isLast) return [{ from: drawer.from, to: drawer.next, text: "" }];
  return gone.map(({ from, next }) => ({ from, to: next, text: "" }));
}

/** `- text` as the last line of the heading's `:LOGBOOK:`, which is created if missing. */
export function appendLogLine(org: OrgDocument, heading: OrgHeading, text: string): OrgEdit[] {
  const { logbook, drawer } = heading;
  if (logbook !== null) {
    const at = logbook.innerTo;
    const line = `${logbook.indent}- ${oneLine(text)}${eolOf(org, heading)}`;
    return [{ from: at, to: at, text: line }];
  }
  const indent = drawer?.indent ?? drawerIndent(org, heading);
  const lines = [":LOGBOOK:", `- ${oneLine(text)}`, ":END:"].map((line) => indent + line);
  return [insertAfter(org, drawer ?? heading.drawersAt, lines)];
}

/**
 * A new heading behind another and all that belongs to it, or at the end of the file: as its last
 * child if the level is deeper. `body`: the lines under it.
 */
export function insertHeading(
  org: OrgDocument,
  after: OrgHeading | null,
  level: number,
  title: string,
  body: readonly string[] = [],
): OrgEdit[] {
  const depth = Math.min(level, after?.level ?? 0);
  const behind = after && org.headings.find((one) => one.index > after.index && one.level <= depth);
  const eol = after === null ? org.eol : eolOf(org, after);
  const lines = [`${"*".repeat(level)} ${oneLine(title)}`, ...body];
  const block = lines.join(eol) + eol;
  const at = behind?.from ?? org.text.length;
  const before = org.text.slice(Math.max(0, at - 4), at);
  if (behind) {
    // Where headings stand apart, this one does too.
    const gap = /\n\r?\n$/.test(before) ? eol : "";
    return [{ from: at, to: at, text: block + gap }];
  }
  if (at === 0 || before === "\ufeff") return [{ from: at, to: at, text: block }];
  if (!before.endsWith("\n")) {
    return [{ from: at, to: at, text: eol + block.slice(0, -eol.length) }];
  }
  const isApart = after !== null && /\n\r?\n$/.test(org.text.slice(0, after.from).slice(-4));
  const gap = isApart && !/\n\r?\n$/.test(before) ? eol : "";
  return [{ from: at, to: at, text: gap + block }];
}

/** Whole lines behind a line; a file without a line end at its end stays one. */
function insertAfter(
  org: OrgDocument,
  line: Pick<OrgLine, "to" | "next">,
  lines: readonly string[],
): OrgEdit {
  const eol = eolOf(org, line);
  if (line.next > line.to) {
    return { from: line.next, to: line.next, text: lines.map((one) => one + eol).join("") };
  }
  return { from: line.to, to: line.to, text: lines.map((one) => eol + one).join("") };
}

/** A file may have both kinds: a new line takes that of its neighbour. */
function eolOf(org: OrgDocument, line: Pick<OrgLine, "to" | "next">): string {
  return org.text.slice(line.to, line.next) || org.eol;
}

function oneLine(text: string): string {
  return text.replace(/[\r\n]+/g, " ").trim();
}

/** A line for a new property, aligned as those beside it, or as in the first drawer of the file. */
function propertyLine(org: OrgDocument, heading: OrgHeading, name: string, value: string): string {
  const [beside] = heading.properties;
  const indent =
    beside === undefined
      ? (heading.drawer?.indent ?? drawerIndent(org, heading))
      : org.text.slice(beside.from, org.text.indexOf(":", beside.from));
  const column = columnOf(org, beside === undefined ? modelOf(org) : heading);
  return `${indent}${`:${name}:`.padEnd(column - 1)} ${value}`.trimEnd();
}

/** The white space before a new drawer: as in the first drawer of the file, by level if that is. */
function drawerIndent(org: OrgDocument, heading: OrgHeading): string {
  const model = modelOf(org);
  const indent = model?.drawer?.indent ?? "";
  const isByLevel = model !== undefined && indent === " ".repeat(model.level + 1);
  return isByLevel ? " ".repeat(heading.level + 1) : indent;
}

function modelOf(org: OrgDocument): OrgHeading | undefined {
  return org.headings.find((heading) => heading.properties.length > 0);
}

/** Where values begin if they are aligned, counted from the first colon; 0 if one space is the rule. */
function columnOf(org: OrgDocument, model: OrgHeading | undefined): number {
  let column = 0;
  for (const { from, name, value, valueFrom } of model?.properties ?? []) {
    const start = valueFrom - org.text.indexOf(":", from);
    // A name that is too long for the column does not count.
    if (value !== "" && start > name.length + 3) column = Math.max(column, start);
  }
  return column;
}
