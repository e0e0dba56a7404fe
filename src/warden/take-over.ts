import type { Ending } from "./execute.ts";
import { hasAnsweredSeed, type SeedState } from "./seed-dance.ts";
import type { Look } from "./suspects/suspect.ts";

/**
 * How a dance goes on that the seed has left, by its table: interrogating restarts from its attempt,
 * evaluating checks for an answer and goes on, executing verifies the kill, and what was pardoned or
 * complete is cleaned up. One that was to be executed and lives is asked again: only what this
 * warden asked itself, and has bound, is ended.
 */
export function takenOver(
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
    // Nobody else was about to end it.
    const isKilled = seed === "executing";
    const why = isKilled
      ? "a warden before this one was executing it, and it is gone; nobody saw how"
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
