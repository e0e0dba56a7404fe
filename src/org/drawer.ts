import { type OrgLine, trimmed } from "./line.ts";

/** `:NAME:` … `:END:`, both lines included. */
export interface OrgDrawer {
  /** In capitals. */
  name: string;
  /** Of its first line, from 1. */
  line: number;
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

/** Of any letters. The two below it are made in a fraction of the time, and do for nearly every line. */
const OPENING = /^[ \t]*:([\p{L}\p{N}_-]+):[ \t]*$/u;
const PLAIN_OPENING = /^[ \t]*:([A-Za-z0-9_-]+):[ \t]*$/;
const COLONS = /^[ \t]*:.+:[ \t]*$/;
const PROPERTY = /^[ \t]*:(\S+?):(?=[ \t]|$)/;

/** The name of the drawer that a line opens, in capitals; `END` closes one. */
export function drawerNameOf(line: string): string | null {
  if (!COLONS.test(line)) return null;
  return (PLAIN_OPENING.exec(line) ?? OPENING.exec(line))?.[1]?.toUpperCase() ?? null;
}

/** What stands in a drawer of properties; `strays` are the lines in it that are none. */
export function propertiesIn(
  text: string,
  lines: readonly OrgLine[],
  first: number,
  last: number,
): { properties: OrgProperty[]; strays: number[] } {
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
