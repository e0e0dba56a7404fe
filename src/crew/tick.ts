import { growingPause } from "../base/growing-pause.ts";
import { shown } from "../base/text.ts";
import type { TickOutcome } from "./member-status.ts";

/**
 * When a standing agent ticks.
 *
 * - Plain: its interval counts from the start of a tick to the start of the next. A tick that took
 *   longer is followed at once by the next; missed ticks are not made up for.
 * - Continuous: it has no interval, only a breather, which begins when a tick ends.
 */
export const BREATHER_MS = 45_000;
/** As many crashes in a row park it. */
export const MOST_CRASHES = 5;

const NO_WORK_MS = { first: 60_000, longest: 30 * 60_000 };
const CRASH_MS = { first: 1_000, longest: 5 * 60_000 };

interface FirstTick {
  graceMs: number;
  intervalMs: number;
  /** Null: it has never run. */
  sinceLastRunMs: number | null;
  index: number;
  staggerMs: number;
}

/** From the start of the crew to a member's first tick: a clock goes on where it was. */
export function firstDelay(tick: FirstTick): number {
  const { graceMs, intervalMs, sinceLastRunMs, index, staggerMs } = tick;
  const left = sinceLastRunMs === null ? 0 : intervalMs - Math.max(0, sinceLastRunMs);
  return Math.max(graceMs, left) + index * staggerMs;
}

export interface EndedTick {
  outcome: TickOutcome;
  /** The interval, or the breather. */
  baseMs: number;
  /** Ticks in a row, with this one, that found nothing to do. */
  streak: number;
  /** Crashes in a row, with this one. */
  crashes: number;
  tookMs: number;
  isContinuous?: boolean;
}

/** From the end of a tick to the start of the next. */
export function nextDelay(tick: EndedTick): number {
  const { outcome, baseMs, streak, crashes, tookMs, isContinuous = false } = tick;
  if (outcome === "crashed") return growingPause(crashes, CRASH_MS);
  const backoff = outcome === "no_work" ? growingPause(streak, NO_WORK_MS) : 0;
  const delay = Math.max(baseMs, backoff);
  return isContinuous ? delay : Math.max(0, delay - Math.max(0, tookMs));
}

/** Whether the last text of a run reports that there was nothing to do. */
export function isNoWork(text: string): boolean {
  return /^\s*NO-WORK/i.test(text);
}

/** Ten digits are seconds until 2286; as milliseconds they would be a day of 1970. */
const LEAST_MS = 100_000_000_000;

/**
 * The last run, from its file: milliseconds, as we write it; others write seconds or ISO. A time in
 * the future counts as now: the clock was set back. Any other text counts as never, with a warning.
 */
export function lastRunFrom(
  text: string | null,
  now: number,
): { at: number | null; problem?: string } {
  const written = text?.trim() ?? "";
  if (text === null) return { at: null };
  const at = /^\d{1,16}(?:\.\d{1,9})?$/.test(written) ? fromDigits(written) : fromIso(written);
  if (at !== null) return { at: Math.min(at, now) };
  return { at: null, problem: `its last run ${shown(written)} is not a time; it counts as never` };
}

function fromDigits(text: string): number {
  const value = Number(text);
  return Math.floor(value < LEAST_MS ? value * 1000 : value);
}

function fromIso(text: string): number | null {
  if (!/^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}/.test(text) || text.length > 40) return null;
  const at = Date.parse(text);
  return Number.isNaN(at) || at < 0 ? null : at;
}
