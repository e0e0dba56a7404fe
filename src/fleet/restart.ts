import { growingPause } from "../base/growing-pause.ts";

/**
 * Whether and when a process that has ended is started again. One for one: what happens to one is
 * no matter of the others.
 *
 * - It died: again, after a pause that doubles from 1 s to 1 min, and begins anew after a good life
 *   of 5 min. Five early deaths in a row (within a minute of the start) park it.
 * - It was refused, because it cannot work as it is configured: parked at once, because it would
 *   only be refused again.
 * - Its place is taken by another process: it looks again and again, and that counts for nothing.
 */
export type Death = "died" | "refused" | "taken";

export interface RestartHistory {
  /** Since its last good life. */
  readonly pauses: number;
  /** In a row. */
  readonly earlyDeaths: number;
}

export type RestartDecision =
  | { kind: "restart"; afterMs: number; history: RestartHistory }
  | { kind: "park"; why: string };

export const NO_DEATHS: RestartHistory = { pauses: 0, earlyDeaths: 0 };

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
const LOOK_AGAIN_MS = 2_000;
const GOOD_LIFE_MS = 5 * 60_000;
const EARLY_MS = 60_000;
const MOST_EARLY_DEATHS = 5;

export function afterDeath(before: RestartHistory, death: Death, livedMs: number): RestartDecision {
  if (death === "refused") return { kind: "park", why: "it cannot work as it is configured" };
  if (death === "taken") return { kind: "restart", afterMs: LOOK_AGAIN_MS, history: before };
  const earlyDeaths = livedMs < EARLY_MS ? before.earlyDeaths + 1 : 0;
  if (earlyDeaths >= MOST_EARLY_DEATHS) {
    const why = `it died ${MOST_EARLY_DEATHS} times in a row within a minute of its start`;
    return { kind: "park", why };
  }
  const pauses = livedMs >= GOOD_LIFE_MS ? 0 : before.pauses;
  const afterMs = growingPause(pauses + 1, { first: FIRST_PAUSE_MS, longest: LONGEST_PAUSE_MS });
  return { kind: "restart", afterMs, history: { pauses: pauses + 1, earlyDeaths } };
}

/**
 * The next run of what runs at a plain interval, from start to start. One that takes longer than
 * the interval is not caught up with: its next is the first that is due after its end.
 */
export function nextRunAt(startedAt: number, endedAt: number, everyMs: number): number {
  const intervals = Math.max(1, Math.ceil((endedAt - startedAt) / everyMs));
  return startedAt + intervals * everyMs;
}
