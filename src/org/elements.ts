/** The parts of an org text, with their offsets: lines, headlines, drawers and properties. */

/** A line of a text: `to` is behind its last character, `next` behind its line end. */
export interface OrgLine {
  from: number;
  to: number;
  next: number;
}

/** LF and CRLF end a line, also mixed in one text; a byte order mark belongs to no line. */
export function linesOf(text: string): OrgLine[] {
  const lines: OrgLine[] = [];
  for (let from = text.startsWith("\ufeff") ? 1 : 0; from < text.length; ) {
    const feed = text.indexOf("\n", from);
    const next = feed === -1 ? text.length : feed + 1;
    let to = feed === -1 ? text.length : feed;
    if (feed > from && text.charCodeAt(feed - 1) === 13) to--;
    lines.push({ from, to, next });
    from = next;
  }
  return lines;
}

function isBlank(char: string | undefined): boolean {
  return char === " " || char === "\t";
}

/** Without white space at both ends, as offsets. */
function trimmed(text: string, from: number, to: number): [from: number, to: number] {
  let first = from;
  let last = to;
  while (first < last && isBlank(text[first])) first++;
  while (last > first && isBlank(text[last - 1])) last--;
  return [first, last];
}

/** `** TODO [#A] a title   :tag:other:`, taken apart. */
export interface Headline {
  level: number;
  /** One of the file's own words, or null. */
  todo: string | null;
  /** The place of the word, or where it would be. */
  todoFrom: number;
  todoTo: number;
  /** Without priority and tags. */
  title: string;
}

const TAGS = /^:(?:[\p{L}\p{N}_@#%]+:)+$/u;

/** The number of stars; 0: not a heading. */
export function starsAt(text: string, from: number, to: number): number {
  let at = from;
  while (at < to && text[at] === "*") at++;
  return at < to && text[at] === " " ? at - from : 0;
}

/** Reads the heading between two offsets; `isTodo` knows the file's words. */
export function headlineAt(
  text: string,
  from: number,
  to: number,
  isTodo: (word: string) => boolean,
): Headline {
  const level = starsAt(text, from, to);
  let [at, end] = trimmed(text, from + level, to);
  let wordEnd = at;
  while (wordEnd < end && !isBlank(text[wordEnd])) wordEnd++;
  const word = text.slice(at, wordEnd);
  const todo = isTodo(word) ? word : null;
  const todoFrom = at;
  const todoTo = todo === null ? at : wordEnd;
  if (todo !== null) [at] = trimmed(text, wordEnd, end);
  const priority = /^\[#([A-Za-z]|\d{1,2})\]/.exec(text.slice(at, Math.min(at + 5, end)));
  if (priority !== null) [at] = trimmed(text, at + priority[0].length, end);
  if (text[end - 1] === ":") {
    let tagsFrom = end;
    while (tagsFrom > at && !isBlank(text[tagsFrom - 1])) tagsFrom--;
    if (TAGS.test(text.slice(tagsFrom, end))) [at, end] = trimmed(text, at, tagsFrom);
  }
  return { level, todo, todoFrom, todoTo, title: text.slice(at, end) };
}

/** `:NAME:` … `:END:`, both lines included. */
export interface OrgDrawer {
  from: number;
  to: number;
  /** Behind the line end of its `:END:`. */
  next: number;
  /** Where its first line ends and where its last begins. */
  innerFrom: number;
  innerTo: number;
  /** White space before `:NAME:`. */
  indent: string;
}

export interface OrgProperty {
  /** As it is written; it is compared without regard to case. */
  name: string;
  value: string;
  line: number;
  /** Its whole line. */
  from: number;
  to: number;
  next: number;
  /** Its value without white space around it; for an empty one both are behind the colon. */
  valueFrom: number;
  valueTo: number;
}

/** Of any letters. The two below take a fraction of the time, and suffice for nearly every line. */
const OPENING = /^[ \t]*:([\p{L}\p{N}_-]+):[ \t]*$/u;
const PLAIN_OPENING = /^[ \t]*:([A-Za-z0-9_-]+):[ \t]*$/;
const COLONS = /^[ \t]*:.+:[ \t]*$/;
const PROPERTY = /^[ \t]*:(\S+?):(?=[ \t]|$)/;

/** The name of the drawer that a line opens, in capitals; `END` closes one. */
export function drawerNameOf(line: string): string | null {
  if (!COLONS.test(line)) return null;
  return (PLAIN_OPENING.exec(line) ?? OPENING.exec(line))?.[1]?.toUpperCase() ?? null;
}

/** The lines of a property drawer; `strays` are those that are not properties. */
export function propertiesIn(text: string, lines: readonly OrgLine[], first: number, last: number) {
  const properties: OrgProperty[] = [];
  const strays: number[] = [];
  for (let i = first + 1; i < last; i++) {
    const { from, to, next } = lines[i] as OrgLine;
    const written = text.slice(from, to);
    const match = PROPERTY.exec(written);
    if (match === null) {
      if (written.trim() !== "") strays.push(i + 1);
      continue;
    }
    const colon = from + match[0].length;
    const [valueFrom, valueTo] = trimmed(text, colon, to);
    const isEmpty = valueFrom === valueTo;
    properties.push({
      name: match[1] as string,
      value: text.slice(valueFrom, valueTo),
      line: i + 1,
      from,
      to,
      next,
      valueFrom: isEmpty ? colon : valueFrom,
      valueTo: isEmpty ? colon : valueTo,
    });
  }
  return { properties, strays };
}
