import { parseInterval } from "../base/interval.ts";
import { isName, suggest } from "../base/names.ts";
import { shown } from "../base/text.ts";
import { type OrgHeading, propertyOf, scanOrg } from "../org/org.ts";
import type { TickOutcome } from "./status.ts";

/** The phases a member goes through, as an org file describes them. */
export interface LifecycleSpec {
  /** Empty if there is no state at all. */
  start: string;
  states: ReadonlyMap<string, LifecycleState>;
  /** All that is wrong with it, each with its line: then the member is parked. */
  problem: string | null;
}

export interface LifecycleState {
  /** A `rem` reflects on what was done, instead of following the def. */
  kind: (typeof KINDS)[number];
  /** So many ticks that did something, then the next state. */
  repeat: number;
  next: string;
  /** Between two of its own runs. */
  minIntervalMs: number;
}

/** Where a member is: its state, and how many ticks have counted in it. */
export interface LifecyclePosition {
  state: string;
  hits: number;
}

/** What a tick does to the position. */
export const LIFECYCLE_EFFECTS: Readonly<Record<TickOutcome, "hit" | "next" | "stay">> = {
  done: "hit",
  no_work: "next",
  failed: "stay",
  killed: "stay",
  crashed: "stay",
};

const KINDS = ["wake", "rem"] as const;
const PROPERTIES = ["KIND", "REPEAT", "NEXT", "MIN-INTERVAL"];

/**
 * Where it is written when a state was last run; `name` is "" for the singleton. It is the seed's naming, and
 * not one to one: `a` in `b-x` and `a-b` in `x` have the same.
 */
export function ranFileOf(name: string, state: string): string {
  return `lifecycle-ran-${name === "" ? "" : `${name}-`}${state.replace(/[^A-Za-z0-9_-]/g, "_")}`;
}

/** Reads a spec: every heading, of whatever level, is a state. Nothing makes it throw. */
export function parseLifecycle(text: string): LifecycleSpec {
  const org = scanOrg(text);
  const problems: { line: number; what: string }[] = [];
  const wrong = (line: number, what: string) => problems.push({ line, what });
  if (org.conflictLine !== null) wrong(org.conflictLine, "there is a conflict marker of git");
  const states = new Map<string, LifecycleState>();
  for (const heading of org.headings) {
    const { title: name, line } = heading;
    // It becomes part of a file's name.
    if (!isName(name)) wrong(line, `${shown(name)} cannot be the name of a state`);
    else if (states.has(name)) wrong(line, `there are two states ${name}`);
    else states.set(name, stateFrom(heading, wrong));
  }
  const named = org.keywords.find(({ name, value }) => name === "START" && value !== "");
  const start = named?.value ?? [...states.keys()][0] ?? "";
  if (states.size === 0) wrong(1, "it has no states; a state is a heading, like * wake");
  else if (!states.has(start)) wrong(named?.line ?? 1, nowhere("START", start, states));
  for (const heading of org.headings) {
    const next = propertyOf(heading, "NEXT");
    if (next === undefined || next.value === "" || states.has(next.value)) continue;
    wrong(next.line, nowhere("NEXT", next.value, states));
  }
  problems.sort((a, b) => a.line - b.line);
  const told = problems.map(({ line, what }) => `line ${line}: ${what}`);
  return { start, states, problem: told.length === 0 ? null : told.join("; ") };
}

function stateFrom(heading: OrgHeading, wrong: (line: number, what: string) => void) {
  const read = <T>(name: string, what: string, parse: (value: string) => T | null): T | null => {
    const property = propertyOf(heading, name);
    if (property === undefined || property.value === "") return null;
    const value = parse(property.value);
    if (value === null) wrong(property.line, `${name} ${shown(property.value)} must be ${what}`);
    return value;
  };
  for (const { name, line } of heading.properties) {
    const known = name.toUpperCase().replaceAll("_", "-");
    const meant = PROPERTIES.includes(name.toUpperCase()) ? undefined : suggest(known, PROPERTIES);
    // What resembles nothing is somebody's own; a NEXT that is misspelt would hold it for ever.
    if (meant !== undefined) wrong(line, `unknown property ${shown(name)}; did you mean ${meant}?`);
  }
  for (const line of heading.strays) wrong(line, "this is no property; write it like :NEXT: state");
  return {
    kind:
      read("KIND", "wake or rem", (value) => {
        return KINDS.find((kind) => kind === value.toLowerCase()) ?? null;
      }) ?? "wake",
    repeat:
      read("REPEAT", "a whole number, at least 1", (value) => {
        const count = /^\d{1,9}$/.test(value) ? Number(value) : 0;
        return count >= 1 ? count : null;
      }) ?? 1,
    next: propertyOf(heading, "NEXT")?.value || heading.title,
    minIntervalMs: read("MIN-INTERVAL", "like 90s, 10m, 2h or milliseconds", parseInterval) ?? 0,
  };
}

function nowhere(what: string, state: string, states: ReadonlyMap<string, unknown>): string {
  const meant = state.length <= 40 ? suggest(state, states.keys()) : undefined;
  const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
  return `${what} ${shown(state)} points nowhere${hint}`;
}
