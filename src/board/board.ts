import { isUtf8 } from "node:buffer";
import { VivError } from "../base/errors.ts";
import { suggest } from "../base/names.ts";
import type { OrgDrawer } from "../org/elements.ts";
import {
  type OrgDocument,
  type OrgHeading,
  propertyOf,
  scanOrg,
  statesOf,
  type TodoSequence,
} from "../org/org.ts";

/** A board: an org text in which a heading with one of its TODO words is a task. */
export interface Board {
  org: OrgDocument;
  tasks: BoardTask[];
}

export interface BoardTask {
  slug: string;
  state: string;
  isDone: boolean;
  /** The holder of the claim. */
  agent: string | null;
  title: string;
  line: number;
  heading: OrgHeading;
}

/** Bytes as text and back without loss: other encodings than UTF-8 are taken byte by byte. */
export function decodeBoard(bytes: Buffer): { text: string; encoding: "utf8" | "latin1" } {
  const encoding = isUtf8(bytes) ? "utf8" : "latin1";
  return { text: bytes.toString(encoding), encoding };
}

export function readBoard(text: string): Board {
  const org = scanOrg(text);
  const done = new Set(org.sequences.flatMap((sequence) => sequence.done));
  const tasks: BoardTask[] = [];
  for (const heading of org.headings) {
    const { todo: state, title, line } = heading;
    if (state === null) continue;
    const slug = propertyOf(heading, "CUSTOM_ID")?.value || slugOf(title) || `line-${line}`;
    const agent = propertyOf(heading, "AGENT")?.value || null;
    tasks.push({ slug, state, isDone: done.has(state), agent, title, line, heading });
  }
  return { org, tasks };
}

/** `Hello, world — a story` is hello-world. */
export function slugOf(title: string): string {
  return (title.split(" — ")[0] ?? "")
    .normalize("NFC")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-+|-+$/g, "");
}

/** Throws for a board with conflict markers. */
export function assertWhole({ org }: Board, file: string): void {
  if (org.conflictLine === null) return;
  const message = `${file} was committed with conflict markers (line ${org.conflictLine}); resolve the conflict and commit first.`;
  throw new VivError("CORRUPT", message, { file, line: org.conflictLine });
}

export function taskNamed({ tasks }: Board, slug: string, file: string): BoardTask {
  const found = tasks.filter((task) => task.slug === slug);
  const [task] = found;
  if (task === undefined) {
    const meant = suggest(slug, new Set(tasks.map((one) => one.slug)));
    const hint = meant === undefined ? "see: viv board ls" : `did you mean ${meant}?`;
    const message = `there is no task ${JSON.stringify(slug)} on ${file}; ${hint}`;
    throw new VivError("TASK_NOT_FOUND", message, { slug, meant });
  }
  if (found.length === 1) return task;
  const lines = found.map(({ line }) => line);
  const message = `${slug} is the name of ${lines.length} tasks on ${file} (lines ${lines.join(" and ")}); give all but one a :CUSTOM_ID: of its own.`;
  throw new VivError("INVALID", message, { slug, lines });
}

export function assertState({ org }: Board, state: string): string {
  const known = statesOf(org);
  if (known.includes(state)) return state;
  const meant = suggest(state, known);
  const hint = meant === undefined ? `there are ${known.join(" ")}` : `did you mean ${meant}?`;
  const message = `${JSON.stringify(state)} is not a state of this board; ${hint}`;
  throw new VivError("INVALID", message, { known });
}

/** It becomes the value of a property and the name of an author. */
const AGENT = /^[\p{L}\p{N}_][\p{L}\p{N}._@+-]{0,63}$/u;

export function assertAgent(name: string | undefined): string {
  if (name === undefined || name === "") {
    throw new VivError("USAGE", "no agent is named; pass --agent NAME, or set VIV_AGENT.");
  }
  if (AGENT.test(name)) return name;
  const message = `${JSON.stringify(name.slice(0, 40))} is not a valid agent name; use letters, digits and . _ @ + -, at most 64.`;
  throw new VivError("INVALID", message);
}

export function sequenceOf({ org }: Board, state: string): TodoSequence {
  const found = org.sequences.find(({ open, done }) => [...open, ...done].includes(state));
  return found ?? { open: [], done: [] };
}

/** The state behind this one; behind the last open one, the first that is done. */
export function stateAfter(board: Board, state: string): string | undefined {
  const { open, done } = sequenceOf(board, state);
  return open.includes(state) ? (open[open.indexOf(state) + 1] ?? done[0]) : undefined;
}

export function stateBefore(board: Board, state: string): string | undefined {
  const { open } = sequenceOf(board, state);
  return open[open.indexOf(state) - 1];
}

/**
 * Where a claim moves a task: as `#+CLAIM: FROM TO` lines say; without any, from the first of at
 * least two open states to the second. From elsewhere it stays where it is.
 */
export function claimedState(board: Board, state: string): string {
  const rules = pairs(board, "CLAIM");
  if (rules.length > 0) {
    const to = rules.find(([from]) => from === state)?.[1];
    return to !== undefined && statesOf(board.org).includes(to) ? to : state;
  }
  const { open } = sequenceOf(board, state);
  return open[0] === state ? (open[1] ?? state) : state;
}

/** A newsroom's words; any other state is its own prefix, in small letters. */
const PREFIXES: Readonly<Record<string, string>> = {
  ASSIGNED: "desk",
  RESEARCH: "research",
  WRITING: "write",
  EDIT: "edit",
  PUBLISHED: "publish",
  KILLED: "kill",
};

export function prefixOf(board: Board, state: string): string {
  const own = pairs(board, "PREFIX").find(([from]) => from === state)?.[1];
  const known = Object.hasOwn(PREFIXES, state) ? PREFIXES[state] : undefined;
  return own ?? known ?? (slugOf(state) || "board");
}

function pairs({ org }: Board, keyword: string): (readonly [string, string | undefined])[] {
  return org.keywords
    .filter(({ name }) => name === keyword)
    .map(({ value }) => value.split(/\s+/))
    .map(([from = "", to]) => [from, to] as const);
}

/**
 * The task an agent would take now: the first of its own, or else the first that is free. An agent
 * that works on a state works also on the one to which a claim moves a task from it.
 */
export function nextFor(board: Board, agent: string, wanted?: readonly string[]): BoardTask | null {
  const states =
    wanted?.flatMap((state) => [state, claimedState(board, assertState(board, state))]) ?? null;
  const times = new Map<string, number>();
  for (const { slug } of board.tasks) times.set(slug, (times.get(slug) ?? 0) + 1);
  // Of two with one name neither can be claimed.
  const open = board.tasks.filter(
    (task) =>
      !task.isDone &&
      times.get(task.slug) === 1 &&
      (states === null || states.includes(task.state)),
  );
  return open.find((task) => task.agent === agent) ?? open.find((task) => !task.agent) ?? null;
}

/**
 * The text under a task's heading, in parts: the properties by their names as written (of two with
 * one name the first counts), the lines of its LOGBOOK with the oldest first, and as body the rest,
 * with the headings below it that are not tasks.
 */
export function textOf({ org }: Board, { heading }: BoardTask) {
  const { drawer, logbook, properties, next } = heading;
  const cut = [drawer, logbook].filter((one) => one !== null).sort((a, b) => a.from - b.from);
  let body = "";
  let at = next;
  for (const one of cut) {
    body += org.text.slice(at, one.from);
    at = one.next;
  }
  body += org.text.slice(at, endOf(org, heading));
  return {
    properties: Object.fromEntries(
      [...properties, ...properties.toReversed()].map(({ name, value }) => [name, value]),
    ),
    body: unix(body).replace(/^(?:[ \t]*\n)+|\s+$/g, ""),
    log: logbook === null ? [] : logLines(org.text, logbook),
  };
}

/** Where the next task begins, or the next heading that is not below this one. */
function endOf({ headings, text }: Board["org"], { index, level }: BoardTask["heading"]): number {
  const after = headings
    .slice(index + 1)
    .find((heading) => heading.level <= level || heading.todo !== null);
  return after?.from ?? text.length;
}

/** Each begins with `- `; a line without it goes on with the one before, as Org writes long notes. */
function logLines(text: string, { innerFrom, innerTo }: OrgDrawer): string[] {
  const lines = unix(text.slice(innerFrom, innerTo))
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const entries: string[] = [];
  for (const line of lines) {
    if (line.startsWith("- ") || entries.length === 0) entries.push(line.replace(/^- /, ""));
    else entries.push(`${entries.pop()} ${line}`);
  }
  return entries;
}

function unix(text: string): string {
  return text.replaceAll("\r\n", "\n");
}
