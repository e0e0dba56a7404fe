import * as z from "zod/mini";
import { VivError } from "../base/errors.ts";
import { parseRecord } from "../base/json.ts";
import { isName } from "../base/names.ts";
import { oneLine as lineOf } from "../base/text.ts";

/** Kinds of targets. A script that only knows a session's name means a tmux session. */
export const TARGET_KINDS = ["tmux", "pid", "worker", "agent"] as const;
export type TargetKind = (typeof TARGET_KINDS)[number];

const pid = z.int().check(z.positive());

/** One tmux session for good: another of the same name differs in at least one of these. */
const boundSession = z.object({
  is: z.literal("session"),
  /** Of the server. */
  socket: z.string(),
  server: z.object({ pid, started: z.string() }),
  /** Like `$3`: never given out again by that server. */
  session: z.string(),
  /** Seconds since 1970. */
  created: z.number(),
});

/** One process for good, and the mark that its tree carries (VIV_CLAIM; "" if it has none). */
const boundProcess = z.object({
  is: z.literal("process"),
  host: z.string(),
  boot: z.string(),
  pid,
  started: z.string(),
  claim: z.string(),
});

export type BoundSession = z.output<typeof boundSession>;
export type BoundProcess = z.output<typeof boundProcess>;
export type Bound = BoundSession | BoundProcess;

/**
 * `spare`: it is watched, reported, and left alone. `execute`: it is ended if it did not work during
 * the whole dance, though it could not be asked.
 */
export const UNASKED = ["spare", "execute"] as const;
export type Unasked = (typeof UNASKED)[number];

export interface Warrant {
  id: string;
  /** A session's name, a pid, a worker's or an agent's name. */
  target: string;
  reason: string;
  requester: string;
  /** ISO. */
  filed_at: string;
  /** When a dog last gave it back: its place in the queue is by that then. */
  released_at?: string;
  kind: TargetKind;
  /** Its identity. Null: the dog finds out when it begins. */
  bound: Bound | null;
  /** Files whose growth is progress: a transcript, an artifact. Absolute. */
  watch: string[];
  /** It is a shell, and may be typed to (as comments). */
  shell: boolean;
  /** Close its session when its agent has left and nothing but a shell is there. */
  close?: boolean;
  /** For a target that could not be asked; the warden's own setting if it is missing. */
  unasked?: Unasked;
  /** For how long a tool call counts as work, and a queued question waits for the turn to end. */
  patience_ms?: number;
  /** The tmux server; null for the warden's, or the user's own. */
  socket: string | null;
  /** Of a worker: its run. Of an agent: the state folder of its crew, or its pit. Absolute. */
  home: string | null;
}

/** A target by its name and place. `own`: `[warden] tmux_socket`, for warrants that name no server. */
export function targetKey({ kind, target, socket, home }: Warrant, own?: string): string {
  return JSON.stringify([kind, target, kind === "tmux" ? (socket ?? own) : home]);
}

/** A target by its identity, whatever its name. */
function identityOf(bound: Bound): string {
  if (bound.is === "process")
    return JSON.stringify([bound.host, bound.boot, bound.pid, bound.started]);
  const { server, session, created } = bound;
  return JSON.stringify([server.pid, server.started, session, created]);
}

/**
 * Targets that have an open warrant: one for each. Where the identity of both is known, that decides
 * (two servers may have one name, and one process has several names); else the name.
 */
export class OpenTargets {
  readonly #named = new Map<string, Warrant[]>();
  readonly #bound = new Map<string, string>();
  readonly #own: string | undefined;

  constructor(open: readonly Warrant[], own?: string) {
    this.#own = own;
    for (const one of open) this.add(one);
  }

  add(warrant: Warrant): void {
    const key = targetKey(warrant, this.#own);
    this.#named.set(key, [...(this.#named.get(key) ?? []), warrant]);
    if (warrant.bound) this.#bound.set(identityOf(warrant.bound), warrant.id);
  }

  /** The id of the open warrant for this one's target. */
  same(warrant: Warrant): string | undefined {
    const { bound } = warrant;
    const namesakes = this.#named.get(targetKey(warrant, this.#own)) ?? [];
    const named = namesakes.find((one) => one.bound === null || bound === null);
    return (bound ? this.#bound.get(identityOf(bound)) : undefined) ?? named?.id;
  }
}

const MAX_TEXT = 2000;

const absolutePath = z.string().check(z.regex(/^\/\P{Cc}*$/u));

/** The keys that must be right if they are there. */
const warrantFile = z.object({
  target: z.union([
    z.number(),
    z.string().check(z.regex(/^(?=.*\S)\P{Cc}*$/su), z.maxLength(MAX_TEXT)),
  ]),
  kind: z.nullish(z.enum(TARGET_KINDS)),
  // An invalid one is refused: binding anew could mean another target.
  bound: z.nullish(z.discriminatedUnion("is", [boundSession, boundProcess])),
  watch: z.nullish(z.union([absolutePath, z.array(absolutePath)])),
  unasked: z.optional(z.enum(UNASKED)),
  patience_ms: z.optional(z.int().check(z.nonnegative())),
  socket: z.nullish(absolutePath),
  home: z.nullish(absolutePath),
});

const PROBLEMS: Record<keyof z.output<typeof warrantFile>, string> = {
  target: `it needs a target of at most 2000 characters without control characters, like {"target": "my-session", "reason": "no_progress"}`,
  kind: `kind must be one of ${TARGET_KINDS.join(", ")}`,
  bound: "bound does not identify the target",
  watch: "watch must be an absolute path",
  unasked: `unasked must be one of ${UNASKED.join(", ")}`,
  patience_ms: "patience_ms must be a whole number of milliseconds",
  socket: "socket must be an absolute path",
  home: "home must be an absolute path",
};

/**
 * Reads a warrant. Any script can write one: only `target` is needed; the id is the file's name
 * unless it has one inside, and the file's time is when it was filed unless it has `filed_at`.
 */
export function parseWarrant(text: string, name: string, fileTime: number): Warrant {
  const all = parseRecord(text);
  if (all === null) throw invalid("it is not a JSON object");
  const id = all.id ?? name;
  if (!isName(id)) {
    const start = all.id === undefined ? "its name is its id" : "its id may have only";
    throw invalid(`${start}: letters, digits, . _ - and at most 128`);
  }
  const read = warrantFile.safeParse(all);
  if (!read.success) throw invalid(PROBLEMS[read.error.issues[0]?.path[0] as "target"]);
  const given = read.data;
  const filed = timeIn(all.filed_at);
  const isPast = filed !== null && filed <= fileTime + 1000;
  const released = timeIn(all.released_at);
  return {
    id,
    target: String(given.target),
    reason: oneLine(all.reason) || "no reason given",
    requester: oneLine(all.requester) || "unknown",
    filed_at: new Date(isPast ? filed : fileTime).toISOString(),
    released_at: released === null ? undefined : new Date(released).toISOString(),
    kind: given.kind ?? "tmux",
    bound: given.bound ?? null,
    watch: [given.watch ?? []].flat(),
    shell: all.shell === true,
    close: all.close === true || undefined,
    unasked: given.unasked,
    patience_ms: given.patience_ms,
    socket: given.socket ?? null,
    home: given.home ?? null,
  };
}

/** Milliseconds since 1970. Null also for the year 1, which is how Go writes an unset time. */
export function timeIn(value: unknown): number | null {
  const time = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return time >= 0 ? time : null;
}

/** For lists, and for a question that is typed: without control characters, and cut. */
export function oneLine(value: unknown): string {
  return typeof value === "string" ? lineOf(value, MAX_TEXT) : "";
}

function invalid(why: string): VivError {
  return new VivError("INVALID", `not a warrant: ${why}.`);
}
