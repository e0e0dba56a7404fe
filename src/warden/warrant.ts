import type { ClaimTree } from "../base/clock.ts";
import { VivError } from "../base/errors.ts";
import { isName } from "../base/names.ts";

/** Kinds of targets. A script that only knows a session's name means a tmux session. */
export const TARGET_KINDS = ["tmux", "pid", "worker", "agent"] as const;
export type TargetKind = (typeof TARGET_KINDS)[number];

/** One tmux session for good: another of the same name differs in at least one of these. */
export interface BoundSession {
  is: "session";
  /** Of the server. */
  socket: string;
  server: { pid: number; started: string };
  /** Like `$3`: never given out again by that server. */
  session: string;
  /** Seconds since 1970. */
  created: number;
}

/** One process for good, and the mark that its tree carries (VIV_CLAIM; "" if it has none). */
export interface BoundProcess extends ClaimTree {
  is: "process";
}

export type Bound = BoundSession | BoundProcess;

/**
 * `spare`: it is watched, reported, and left alone. `execute`: it is ended if it did not work during
 * the whole dance, though it could not be asked.
 */
export const UNASKED = ["spare", "execute"] as const;
export type Unasked = (typeof UNASKED)[number];

export interface Warrant {
  id: string;
  /** What it is called: a session's name, a pid, a worker's or an agent's name. */
  target: string;
  reason: string;
  requester: string;
  /** ISO. */
  filed_at: string;
  /** When a dog last gave it back: its place in the queue is by that then. */
  released_at?: string;
  kind: TargetKind;
  /** What it is. Null: the dog finds out when it begins. */
  bound: Bound | null;
  /** Files whose growth is progress: a transcript, an artifact. Absolute. */
  watch: string[];
  /** It is a shell, and may be typed to (as comments). */
  shell: boolean;
  /** Close its session when its agent has left and nothing but a shell is there. */
  close?: boolean;
  /** What becomes of a target that could not be asked; the warden's own setting if it is missing. */
  unasked?: Unasked;
  /** For how long a tool call counts as work, and a queued question waits for the turn to end. */
  patience_ms?: number;
  /** The tmux server; null for the user's own. */
  socket: string | null;
  /** Of a worker: its run. Of an agent: the state folder of its crew, or its pit. Absolute. */
  home: string | null;
}

/** A target by its name and place. */
export function targetKey({ kind, target, socket, home }: Warrant): string {
  return JSON.stringify([kind, target, kind === "tmux" ? socket : home]);
}

/** A target by its identity, whatever its name. */
function identityOf(bound: Bound): string {
  if (bound.is === "process")
    return JSON.stringify([bound.host, bound.boot, bound.pid, bound.started]);
  const { server, session, created } = bound;
  return JSON.stringify([server.pid, server.started, session, created]);
}

/**
 * Targets that have an open warrant: one for each. Where it is known of both what they are, that
 * decides (a name may be given out on two servers, and one process has several names); else the name.
 */
export class OpenTargets {
  readonly #named = new Map<string, Warrant[]>();
  readonly #bound = new Map<string, string>();

  constructor(open: readonly Warrant[] = []) {
    for (const one of open) this.add(one);
  }

  add(warrant: Warrant): void {
    const key = targetKey(warrant);
    this.#named.set(key, [...(this.#named.get(key) ?? []), warrant]);
    if (warrant.bound) this.#bound.set(identityOf(warrant.bound), warrant.id);
  }

  /** The id of the open warrant for this one's target. */
  same(warrant: Warrant): string | undefined {
    const { bound } = warrant;
    const namesakes = this.#named.get(targetKey(warrant)) ?? [];
    const named = namesakes.find((one) => one.bound === null || bound === null);
    return (bound ? this.#bound.get(identityOf(bound)) : undefined) ?? named?.id;
  }
}

const MAX_TEXT = 2000;

/**
 * Reads a warrant. Any script can write one: only `target` is needed; the id is the file's name
 * unless it has one inside, and the file's time is when it was filed unless it says so itself.
 */
export function parseWarrant(text: string, name: string, fileTime: number): Warrant {
  const given = objectFrom(text);
  const id = given.id ?? name;
  if (!isName(id)) {
    const whose = given.id === undefined ? "its name is its id" : "its id may have only";
    throw invalid(`${whose}: letters, digits, . _ - and at most 128`);
  }
  const said = given.filed_at === undefined ? Number.NaN : Date.parse(String(given.filed_at));
  const filed = Number.isNaN(said) || said > fileTime + 1000 ? fileTime : said;
  const kind = given.kind ?? "tmux";
  if (!TARGET_KINDS.includes(kind as TargetKind)) {
    throw invalid(`kind must be one of ${TARGET_KINDS.join(", ")}`);
  }
  const target = typeof given.target === "number" ? String(given.target) : given.target;
  if (typeof target !== "string" || target.trim() === "") {
    throw invalid('it needs a target, like {"target": "my-session", "reason": "no_progress"}');
  }
  if (hasControls(target) || target.length > MAX_TEXT) {
    throw invalid("its target has control characters, or is too long");
  }
  const released = timeFrom(given.released_at);
  return {
    id,
    target,
    reason: oneLine(given.reason) || "no reason given",
    requester: oneLine(given.requester) || "unknown",
    filed_at: new Date(filed).toISOString(),
    released_at: released ?? undefined,
    kind: kind as TargetKind,
    bound: boundFrom(given.bound),
    watch: pathsFrom(given.watch),
    shell: given.shell === true,
    close: given.close === true || undefined,
    unasked: given.unasked === undefined ? undefined : unaskedFrom(given.unasked),
    patience_ms: given.patience_ms === undefined ? undefined : msFrom(given.patience_ms),
    socket: pathFrom(given.socket, "socket"),
    home: pathFrom(given.home, "home"),
  };
}

function timeFrom(value: unknown): string | null {
  const time = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isNaN(time) ? null : new Date(time).toISOString();
}

/** For a question that is typed, and for lists: what scripts write may have anything in it. */
export function oneLine(value: unknown): string {
  if (typeof value !== "string") return "";
  const clean = value.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ").trim();
  return clean.length > MAX_TEXT ? `${clean.slice(0, MAX_TEXT)}…` : clean;
}

function objectFrom(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalid("it is not JSON");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalid("it must be a JSON object");
  }
  return value as Record<string, unknown>;
}

/** An invalid one is refused: binding anew could mean another target. */
function boundFrom(value: unknown): Bound | null {
  if (value === undefined || value === null) return null;
  const bound = value as Record<string, unknown>;
  const server = bound.server as Record<string, unknown> | undefined;
  const isPid = (pid: unknown) => Number.isSafeInteger(pid) && Number(pid) > 0;
  const areTexts = (...texts: unknown[]) => texts.every((one) => typeof one === "string");
  const isSession =
    bound.is === "session" &&
    areTexts(bound.socket, bound.session, server?.started) &&
    isPid(server?.pid) &&
    typeof bound.created === "number";
  const isProcess =
    bound.is === "process" &&
    areTexts(bound.host, bound.boot, bound.started, bound.claim) &&
    isPid(bound.pid);
  if (isSession || isProcess) return value as Bound;
  throw invalid("bound does not say what the target is");
}

function unaskedFrom(value: unknown): Unasked {
  if (UNASKED.includes(value as Unasked)) return value as Unasked;
  throw invalid(`unasked must be one of ${UNASKED.join(", ")}`);
}

function msFrom(value: unknown): number {
  if (Number.isSafeInteger(value) && Number(value) >= 0) return value as number;
  throw invalid("patience_ms must be a whole number of milliseconds");
}

function pathsFrom(value: unknown): string[] {
  if (value === undefined || value === null) return [];
  const list = Array.isArray(value) ? value : [value];
  return list.map((one) => pathFrom(one, "watch") as string);
}

function pathFrom(value: unknown, what: string): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value === "string" && value.startsWith("/") && !hasControls(value)) return value;
  throw invalid(`${what} must be an absolute path`);
}

function hasControls(text: string): boolean {
  return /\p{Cc}/u.test(text);
}

function invalid(what: string): VivError {
  return new VivError("INVALID", `not a warrant: ${what}.`);
}
