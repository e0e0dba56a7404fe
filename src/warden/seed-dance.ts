import { isName } from "../base/names.ts";
import type { Attempt, Dance, DanceState } from "./dance.ts";
import type { Ending } from "./dance-steps.ts";
import type { Look } from "./suspects/suspect.ts";
import { oneLine, parseWarrant, timeIn, type Warrant } from "./warrant.ts";

/**
 * A dance in the seed's own shape: `{id, warrant, state, attempt, started_at, last_message_at,
 * next_timeout}`. It has neither the target's identity nor a nonce, so no decision of the seed is
 * carried out before this warden has asked the target itself.
 */

const MOST_ATTEMPTS = 5;
/** The channel of its questions. */
export const EARLIER_POOL = "by a warden before this one";

/** Null when it is no such dance. Its state here is `evaluating`, whatever the seed had decided. */
export function parseSeedDance(
  { id, state, ...value }: { id: string; state: DanceState } & Record<string, unknown>,
  fileTime: number,
): Dance | null {
  // The file is written at every step: a session of the same name may have begun since.
  const begun = timeIn(value.started_at) ?? fileTime;
  const warrant = isName(id) ? warrantIn(value.warrant, Math.min(begun, fileTime)) : null;
  if (warrant === null) return null;
  const attempt = Number.isSafeInteger(value.attempt) ? Number(value.attempt) : 1;
  return {
    ...{ id, warrant, state: "evaluating", seed: state },
    attempt: Math.min(Math.max(attempt, 1), MOST_ATTEMPTS),
    started_at: timeFrom(value.started_at) ?? warrant.filed_at,
    last_message_at: timeFrom(value.last_message_at),
    next_timeout: timeFrom(value.next_timeout), // shown until this warden takes it over
    ...{ deadline: null, bound: warrant.bound, attempts: [] },
    ...{ screen_before: [], screen_last: [], files: {}, tree: [], outcome: null },
  };
}

function warrantIn(value: unknown, fileTime: number): Warrant | null {
  const id = (value as Warrant | null)?.id;
  try {
    return isName(id) ? parseWarrant(JSON.stringify(value), id, fileTime) : null;
  } catch {
    return null; // then the whole file is left alone
  }
}

function timeFrom(value: unknown): string | null {
  const time = timeIn(value);
  return time === null ? null : new Date(time).toISOString();
}

/** A record in `completed/` that another pool has left: its verdict, if it has one, and its details. */
export interface SeedRecord {
  dog: string;
  warrant: Warrant;
  /** `executed`, or its last state. */
  ended: string;
  details: string;
}

/** The dance as it ended, or its result `{dog_id, warrant, outcome, duration, details}`. */
export function parseSeedRecord(
  value: Record<string, unknown>,
  dog: string,
  fileTime: number,
): SeedRecord | null {
  const warrant = warrantIn(value.warrant, fileTime);
  const ended = oneLine(value.outcome) || oneLine(value.state);
  return warrant && ended ? { dog, warrant, ended, details: oneLine(value.details) } : null;
}

/** The seed's attempts: only their number is known. */
export function attemptsBefore(attempt: number, timeoutsMs: readonly number[]): Attempt[] {
  return Array.from({ length: attempt - 1 }, (_, n) => ({
    ...{ number: n + 1, nonce: `seed-${n + 1}`, timeout_ms: timeoutsMs[n] ?? 60_000 },
    ...{ asked_at: null, channel: EARLIER_POOL, arrived: false, submitted: false },
    ...{ bursts: [], ended_at: null, ended: "silent" as const },
  }));
}

/** Neither text above the seed's question nor its echo is an answer. */
function hasAnsweredSeed(screen: readonly string[]): boolean {
  const asked = screen.findLastIndex((line) => line.includes("[DOG] HEALTH CHECK"));
  if (asked === -1) return false;
  const text = screen.slice(asked).join("\n");
  return /\bALIVE\b/.test(text.replace(/respond\W+ALIVE\W+within/g, ""));
}

/**
 * How a dance of the seed continues: interrogating restarts from its attempt, evaluating checks for an
 * answer, executing verifies the kill (a target that lives is asked again), the others end.
 */
export function takeOver(
  seed: DanceState,
  look: Look,
  attempt: number,
  timeoutsMs: readonly number[],
): { ending: Ending } | { attempt: number } {
  const over = endedBefore(seed, look);
  if (over !== null) return { ending: over };
  if (look.is === "unknown") {
    return { ending: { event: "unknown", verdict: "failed", why: look.why } };
  }
  if (look.is === "gone") {
    // No other process was about to end it.
    const isKilled = seed === "executing";
    const why = isKilled
      ? "a warden before this one was executing it, and it is gone; how was not seen"
      : look.why;
    return { ending: { event: "gone", verdict: isKilled ? "executed" : "already_dead", why } };
  }
  if (seed !== "idle" && hasAnsweredSeed(look.screen)) {
    const why = "it had answered the warden before this one";
    return { ending: { event: "alive", verdict: "pardoned", why, look } };
  }
  const next = seed === "evaluating" ? attempt + 1 : attempt;
  return { attempt: Math.min(next, timeoutsMs.length) };
}

function endedBefore(seed: DanceState, look: Look): Ending | null {
  if (seed === "pardoned") {
    return { event: "alive", verdict: "pardoned", why: "a warden before this one pardoned it" };
  }
  if (seed === "failed") {
    return { event: "unknown", verdict: "failed", why: "it failed at a warden before this one" };
  }
  if (seed !== "complete") return null;
  const was = "its dance was complete when this warden found it";
  if (look.is === "gone")
    return { event: "gone", verdict: "already_dead", why: `${was}; it is gone` };
  if (look.is === "there") return { event: "alive", verdict: "pardoned", why: `${was}; it lives` };
  return { event: "unknown", verdict: "failed", why: `${was}; ${look.why}` };
}
