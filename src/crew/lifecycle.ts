import { nearest } from "../base/config-table.ts";
import { parseInterval } from "../base/interval.ts";
import { isName, suggest } from "../base/names.ts";
import { shown } from "../base/text.ts";
import { type OrgHeading, propertyOf, scanOrg } from "../org/org.ts";
import type { TickOutcome } from "./member-status.ts";

/** The phases a member goes through, as an org file describes them. */
export interface LifecycleSpec {
  /** Empty if there is no state at all. */
  start: string;
  states: ReadonlyMap<string, LifecycleState>;
  /** All its mistakes, each with its line: then the member is parked. */
  problem: string | null;
}

export interface LifecycleState {
  /** A `rem` reflects on past runs instead of following the def. */
  kind: (typeof KINDS)[number];
  /** Ticks with work, until the next state. */
  repeat: number;
  next: string;
  /** Between two runs in this state. */
  minIntervalMs: number;
}

/** A state, and how many ticks have counted in it. */
export interface LifecyclePosition {
  state: string;
  hits: number;
}

/** The effect of a tick on the position. */
const EFFECTS: Readonly<Record<TickOutcome, "hit" | "next" | "stay">> = {
  done: "hit",
  no_work: "next",
  failed: "stay",
  killed: "stay",
  crashed: "stay",
};

const KINDS = ["wake", "rem"] as const;
const PROPERTIES = ["KIND", "REPEAT", "NEXT", "MIN-INTERVAL"];

/** Reads a spec: every heading, of any level, is a state. Never throws. */
export function parseLifecycle(text: string): LifecycleSpec {
  const org = scanOrg(text);
  const problems: { line: number; what: string }[] = [];
  const wrong = (line: number, what: string) => problems.push({ line, what });
  if (org.conflictLine !== null) wrong(org.conflictLine, "there is a conflict marker of git");
  const states = new Map<string, LifecycleState>();
  for (const heading of org.headings) {
    const { title: name, line } = heading;
    // It becomes part of a file name.
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
  const problem = problems.map(({ line, what }) => `line ${line}: ${what}`).join("; ") || null;
  return { start, states, problem };
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
    // Other properties are allowed; a misspelt NEXT would hold the member for ever.
    if (meant !== undefined) wrong(line, `unknown property ${shown(name)}; did you mean ${meant}?`);
  }
  for (const line of heading.strays)
    wrong(line, "this is not a property; write it like :NEXT: state");
  const kindFrom = (value: string) => KINDS.find((kind) => kind === value.toLowerCase()) ?? null;
  const countFrom = (value: string) => (/^\d{1,9}$/.test(value) && Number(value)) || null;
  return {
    kind: read("KIND", "wake or rem", kindFrom) ?? "wake",
    repeat: read("REPEAT", "a whole number, at least 1", countFrom) ?? 1,
    next: propertyOf(heading, "NEXT")?.value || heading.title,
    minIntervalMs: read("MIN-INTERVAL", "like 90s, 10m, 2h or milliseconds", parseInterval) ?? 0,
  };
}

function nowhere(what: string, state: string, states: ReadonlyMap<string, unknown>): string {
  const meant = nearest(state, [...states.keys()]);
  const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
  return `${what} ${shown(state)} points nowhere${hint}`;
}

/** The persisted position; the start, when it cannot be read or names a removed state. */
export function positionFrom(text: string | null, spec: LifecycleSpec): LifecyclePosition {
  const match = /^(\S+)[ \t]+(\d{1,9})$/.exec(text?.trim() ?? "");
  const state = spec.states.get(match?.[1] ?? "");
  if (match === null || state === undefined) return { state: spec.start, hits: 0 };
  // The spec may have been edited since: then the next hit moves on.
  return { state: match[1] as string, hits: Math.min(Number(match[2]), state.repeat - 1) };
}

export function positionText({ state, hits }: LifecyclePosition): string {
  return `${state} ${hits}`;
}

export function afterTick(
  spec: LifecycleSpec,
  position: LifecyclePosition,
  outcome: TickOutcome,
): LifecyclePosition {
  const effect = EFFECTS[outcome];
  const state = spec.states.get(position.state);
  if (effect === "stay" || state === undefined) return position;
  const hits = position.hits + 1;
  if (effect === "hit" && hits < state.repeat) return { state: position.state, hits };
  return { state: state.next, hits: 0 };
}

/** Within its MIN-INTERVAL. A last run in the future (the clock was set back) does not count. */
export function isClosed(
  spec: LifecycleSpec,
  position: LifecyclePosition,
  lastRanAt: number | null,
  now: number,
): boolean {
  const minIntervalMs = spec.states.get(position.state)?.minIntervalMs ?? 0;
  if (lastRanAt === null || lastRanAt > now) return false;
  return now - lastRanAt < minIntervalMs;
}

/**
 * The file with the time of a state's last run; `name` is "" for the singleton. It is the seed's
 * naming, and ambiguous: `a` in `b-x` and `a-b` in `x` have the same.
 */
export function ranFileOf(name: string, state: string): string {
  return `lifecycle-ran-${name === "" ? "" : `${name}-`}${state.replace(/[^A-Za-z0-9_-]/g, "_")}`;
}

/**
 * The owner of each `lifecycle-ran-` file. Two members can have the same name for one; then each
 * would keep the other from its state. The first one gets it.
 */
export class RanFiles {
  readonly #owners = new Map<string, { key: string; state: string }>();

  /** Replaces the states of one member. Returns the problem, or null. */
  take(key: string, states: readonly string[]): string | null {
    this.release(key);
    for (const state of states) {
      const file = ranFileOf(key, state);
      const owner = this.#owners.get(file);
      if (owner !== undefined) {
        this.release(key);
        const other = owner.key === key ? "its own state" : `${owner.key} in its state`;
        const what = `its state ${state} would share the file ${file} with ${other} ${owner.state}`;
        return `${what}; rename one of them, then: viv crew resume`;
      }
      this.#owners.set(file, { key, state });
    }
    return null;
  }

  release(key: string): void {
    for (const [file, owner] of this.#owners) if (owner.key === key) this.#owners.delete(file);
  }
}
