import { isName } from "../base/names.ts";
import type { Attempt, Dance } from "./dance.ts";
import type { Ending } from "./execute.ts";
import type { Look } from "./suspects/suspect.ts";
import { parseWarrant, type Warrant } from "./warrant.ts";

/**
 * A dance in the seed's own shape: `{id, warrant, state, attempt, started_at, last_message_at,
 * next_timeout}` and no more. It does not say what the target is, nor with which nonce it was asked:
 * so nothing that was decided there is carried out before the target was asked by us.
 */
const SEED_STATES = [
  ...["idle", "interrogating", "evaluating"],
  ...["pardoned", "executing", "complete", "failed"],
] as const;
export type SeedState = (typeof SEED_STATES)[number];

const MOST_ATTEMPTS = 5;

/** Null when it is no such dance. It waits for a decision, whatever the seed had decided. */
export function parseSeedDance(value: Record<string, unknown>, fileTime: number): Dance | null {
  const { id, state } = value;
  const isOne = isName(id) && SEED_STATES.includes(state as SeedState) && !("attempts" in value);
  const warrant = isOne ? warrantIn(value.warrant, fileTime) : null;
  if (warrant === null) return null;
  const attempt = Number.isSafeInteger(value.attempt) ? Number(value.attempt) : 1;
  return {
    ...{ id: id as string, warrant, state: "evaluating", seed: state as SeedState },
    attempt: Math.min(Math.max(attempt, 1), MOST_ATTEMPTS),
    started_at: timeFrom(value.started_at) ?? warrant.filed_at,
    last_message_at: timeFrom(value.last_message_at),
    ...{ next_timeout: null, deadline: null, bound: warrant.bound, attempts: [] },
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

/** Go writes a time that was never set as the year 1. */
function timeFrom(value: unknown): string | null {
  const time = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isNaN(time) || time < 0 ? null : new Date(time).toISOString();
}

/** The seed's attempts: only their number is known. Their nonces were never shown. */
export function attemptsBefore(attempt: number, timeoutsMs: readonly number[]): Attempt[] {
  return Array.from({ length: attempt - 1 }, (_, n) => ({
    ...{ number: n + 1, nonce: `seed-${n + 1}`, timeout_ms: timeoutsMs[n] ?? 60_000 },
    ...{ asked_at: null, channel: "by a warden before this one", arrived: false, submitted: false },
    ...{ bursts: [], ended_at: null, ended: "silent" as const },
  }));
}

/** Whether it answered the seed's question: neither text above the question nor its echo is an answer. */
function hasAnsweredSeed(screen: readonly string[]): boolean {
  const asked = screen.findLastIndex((line) => line.includes("[DOG] HEALTH CHECK"));
  if (asked === -1) return false;
  const text = screen.slice(asked).join("\n");
  const echo = /respond\W+ALIVE\W+within/g;
  return /\bALIVE\b/.test(text.replace(echo, ""));
}

/**
 * How a dance goes on that the seed has left, by its table: interrogating restarts from its attempt,
 * evaluating checks for an answer and goes on, executing verifies the kill, and what was pardoned or
 * complete is cleaned up. One that was to be executed and lives is asked again: only what this
 * warden asked itself, and has bound, is ended.
 */
export function takeOver(
  seed: SeedState,
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
    // Only the warden was about to end it.
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

function endedBefore(seed: SeedState, look: Look): Ending | null {
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
