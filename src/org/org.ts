import {
  drawerNameOf,
  type Headline,
  headlineAt,
  linesOf,
  type OrgDrawer,
  type OrgLine,
  type OrgProperty,
  propertiesIn,
  starsAt,
} from "./elements.ts";

/**
 * The parts of an org text that matter to manifests, lifecycles and boards, with their offsets (in
 * characters). Any text can be scanned, in time that grows with its length.
 *
 * - A block (`#+BEGIN_X` to the next `#+END_X`) is skipped with all its lines, also those that look
 *   like a heading. A block that is never closed does not count.
 * - A drawer that does not end before the next heading does not count.
 * - The properties of a heading are those of the first `:PROPERTIES:` drawer before the next heading.
 */
export interface OrgDocument {
  text: string;
  /** Of its first line; `\n` if it has but one. */
  eol: "\n" | "\r\n";
  headings: OrgHeading[];
  keywords: OrgKeyword[];
  /** One for each `#+TODO:` line; without any, TODO and DONE. */
  sequences: TodoSequence[];
  /** The first conflict marker of git, from 1. */
  conflictLine: number | null;
}

export interface TodoSequence {
  open: string[];
  done: string[];
}

export interface OrgKeyword {
  /** In capitals. */
  name: string;
  value: string;
  line: number;
}

export interface OrgHeading extends Headline {
  index: number;
  line: number;
  from: number;
  to: number;
  /** Where the text under it begins, and where the next heading, of whatever level, does. */
  next: number;
  end: number;
  properties: OrgProperty[];
  /** The drawer of its properties, and the lines in it that are not properties. */
  drawer: OrgDrawer | null;
  strays: number[];
  logbook: OrgDrawer | null;
  /** Behind the heading and its planning line: where a drawer belongs. */
  drawersAt: OrgLine;
}

/** The first property of that name, in any case. */
export function propertyOf(heading: OrgHeading, name: string): OrgProperty | undefined {
  const wanted = name.toUpperCase();
  return heading.properties.find((property) => property.name.toUpperCase() === wanted);
}

export function statesOf(org: OrgDocument): string[] {
  return org.sequences.flatMap(({ open, done }) => [...open, ...done]);
}

const KEYWORD = /^[ \t]*#\+([^\s:]+):/;
const BLOCK = /^[ \t]*#\+(BEGIN|END)_(\S+)/i;
const CONFLICT = /^(?:<{7}|>{7}|\|{7})(?: |$)/;
const PLANNING = /^[ \t]*(?:CLOSED|DEADLINE|SCHEDULED):/;
const TODO_KEYWORDS = ["TODO", "SEQ_TODO", "TYP_TODO"];

export function scanOrg(text: string): OrgDocument {
  const lines = linesOf(text);
  const words = lines.map(({ from, to }) => text.slice(from, to));
  const { starts, keywords, drawers } = sort(text, lines, words);
  const sequences = sequencesOf(keywords);
  const known = new Set(sequences.flatMap(({ open, done }) => [...open, ...done]));
  const isTodo = (word: string) => known.has(word);
  let nextDrawer = 0;
  const headings = starts.map((start, index): OrgHeading => {
    const line = lines[start] as OrgLine;
    const afterLast = starts[index + 1] ?? lines.length;
    const own: Span[] = [];
    while (nextDrawer < drawers.length && (drawers[nextDrawer] as Span).first < afterLast) {
      const drawer = drawers[nextDrawer++] as Span;
      if (drawer.first > start) own.push(drawer);
    }
    const named = (name: string) => own.find((drawer) => drawer.name === name);
    const properties = named("PROPERTIES");
    const logbook = named("LOGBOOK");
    const isPlanned = start + 1 < afterLast && PLANNING.test(words[start + 1] as string);
    const head = headlineAt(text, line.from, line.to, isTodo);
    const inside = properties && propertiesIn(text, lines, properties.first, properties.last);
    // Written out: copying with `...` makes this ten times slower, and a board is scanned at each claim.
    return {
      level: head.level,
      todo: head.todo,
      todoFrom: head.todoFrom,
      todoTo: head.todoTo,
      title: head.title,
      index,
      line: start + 1,
      from: line.from,
      to: line.to,
      next: line.next,
      end: lines[afterLast]?.from ?? text.length,
      properties: inside?.properties ?? [],
      strays: inside?.strays ?? [],
      drawer: properties === undefined ? null : drawerOf(text, lines, properties),
      logbook: logbook === undefined ? null : drawerOf(text, lines, logbook),
      drawersAt: isPlanned ? (lines[start + 1] as OrgLine) : line,
    };
  });
  const conflict = words.findIndex((word) => CONFLICT.test(word));
  return {
    text,
    eol: lines[0] !== undefined && lines[0].next - lines[0].to === 2 ? "\r\n" : "\n",
    ...{ headings, keywords, sequences },
    conflictLine: conflict === -1 ? null : conflict + 1,
  };
}

/** A drawer, by the indices of its first and last line. */
interface Span {
  name: string;
  first: number;
  last: number;
}

/** Classifies each line. Ends are listed first, so that no line is searched twice. */
function sort(text: string, lines: readonly OrgLine[], words: readonly string[]) {
  const blockEnds = new Map<string, number[]>();
  const drawerEnds: number[] = [];
  const stars: number[] = [];
  words.forEach((word, i) => {
    const block = BLOCK.exec(word);
    if (block?.[1]?.toUpperCase() === "END") {
      const name = (block[2] as string).toUpperCase();
      const ends = blockEnds.get(name);
      if (ends === undefined) blockEnds.set(name, [i]);
      else ends.push(i);
    }
    if (drawerNameOf(word) === "END") drawerEnds.push(i);
    if (starsAt(word, 0, word.length) > 0) stars.push(i);
  });
  const blockEndAfter = new Map([...blockEnds].map(([name, ends]) => [name, after(ends)]));
  const drawerEndAfter = after(drawerEnds);
  const starsAfter = after(stars);

  const starts: number[] = [];
  const keywords: OrgKeyword[] = [];
  const drawers: Span[] = [];
  for (let i = 0; i < words.length; i++) {
    const word = words[i] as string;
    if (starsAt(word, 0, word.length) > 0) {
      starts.push(i);
      continue;
    }
    const block = BLOCK.exec(word);
    if (block?.[1]?.toUpperCase() === "BEGIN") {
      i = blockEndAfter.get((block[2] as string).toUpperCase())?.(i) ?? i;
      continue;
    }
    const name = drawerNameOf(word);
    if (name !== null && name !== "END") {
      const last = drawerEndAfter(i);
      if (last === undefined || last > (starsAfter(i) ?? words.length)) continue;
      drawers.push({ name, first: i, last });
      i = last;
      continue;
    }
    const keyword = KEYWORD.exec(word);
    if (keyword === null) continue;
    const { from, to } = lines[i] as OrgLine;
    const value = text.slice(from + keyword[0].length, to).trim();
    keywords.push({ name: (keyword[1] as string).toUpperCase(), value, line: i + 1 });
  }
  return { starts, keywords, drawers };
}

/** The first of these numbers above another; the arguments must increase. */
function after(numbers: readonly number[]): (than: number) => number | undefined {
  let at = 0;
  return (than) => {
    while (at < numbers.length && (numbers[at] as number) <= than) at++;
    return numbers[at];
  };
}

function drawerOf(text: string, lines: readonly OrgLine[], span: Span): OrgDrawer {
  const first = lines[span.first] as OrgLine;
  const last = lines[span.last] as OrgLine;
  return {
    from: first.from,
    to: last.to,
    next: last.next,
    innerFrom: first.next,
    innerTo: last.from,
    indent: text.slice(first.from, text.indexOf(":", first.from)),
  };
}

function sequencesOf(keywords: readonly OrgKeyword[]): TodoSequence[] {
  const found: TodoSequence[] = [];
  for (const { name, value } of keywords) {
    if (!TODO_KEYWORDS.includes(name)) continue;
    // `WAIT(w@/!)`: brackets hold keys and notes.
    const words = value.split(/\s+/).map((word) => word.replace(/\([^)]*\)$/, ""));
    const bar = words.indexOf("|");
    const [open, done] =
      bar === -1 ? [words.slice(0, -1), words.slice(-1)] : [words.slice(0, bar), words.slice(bar)];
    const isWord = (word: string) => word !== "" && word !== "|";
    const sequence = { open: open.filter(isWord), done: done.filter(isWord) };
    if (sequence.open.length + sequence.done.length > 0) found.push(sequence);
  }
  return found.length > 0 ? found : [{ open: ["TODO"], done: ["DONE"] }];
}
