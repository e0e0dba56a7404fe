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
/** As many bad ends (crashed, failed, killed) in a row park it. */
export const MOST_BAD_ENDS = 5;

const NO_WORK_MS = { first: 60_000, longest: 30 * 60_000 };
const CRASH_MS = { first: 1_000, longest: 5 * 60_000 };
/** Later than this only with an interval that is longer itself. */
const LONGEST_AFTER_FAILURE_MS = 6 * 3_600_000;

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
  /** Bad ends in a row, with this one. */
  crashes: number;
  tookMs: number;
  isContinuous?: boolean;
}

/** From the end of a tick to the start of the next. */
export function nextDelay(tick: EndedTick): number {
  const pause = pauseAfter(tick);
  // A pause after a crash, and one of a continuous member, begins when the tick ends.
  const isFromEnd = tick.outcome === "crashed" || (tick.isContinuous ?? false);
  return isFromEnd ? pause : Math.max(0, pause - Math.max(0, tick.tookMs));
}

/** Whether the next tick comes at another time than its clock alone would have it. */
export function isBackingOff(tick: EndedTick): boolean {
  return tick.outcome === "crashed" || pauseAfter(tick) > tick.baseMs;
}

/**
 * A run without work and a failed one cost as much as any other, so both stretch the interval from
 * the first time on; NO-WORK to at least a minute, doubled each time. A crash has no result and mostly
 * costs nothing: its pauses are short.
 */
function pauseAfter({ outcome, baseMs, streak, crashes }: EndedTick): number {
  const stretched = (times: number, longest: number) =>
    Math.max(baseMs, growingPause(times, { first: 2 * baseMs, longest }));
  switch (outcome) {
    case "done":
      return baseMs;
    case "no_work":
      return Math.max(stretched(streak, NO_WORK_MS.longest), growingPause(streak, NO_WORK_MS));
    case "crashed":
      return growingPause(crashes, CRASH_MS);
    case "failed":
    case "killed":
      return Math.max(
        stretched(crashes, LONGEST_AFTER_FAILURE_MS),
        growingPause(crashes, CRASH_MS),
      );
  }
}

/** At the beginning of a line, plain, emphasised or as a list item: elsewhere it is a quotation. */
const NO_WORK_LINE =
  /^(?:[#*_`\s-]|\d+[.)]\s)*NO[-\u2010\u2011]WORK[*_`]*(?:\s*[:.,;!(]|\s+[—–-]\s|\s*$)/iu;
/** Lines that may stand before it: a greeting, a title, where was looked, that nothing is there. */
const IDLE_LINES = [
  /^(?:hi|hello|hey|hallo|good (?:morning|day|afternoon|evening)|okay|understood|thanks)\b.{0,20}$/i,
  /^(?:summary|status|result|report|update|final (?:answer|report|text))[:*_\s]*$/i,
  /^(?:I(?:['’]ve| have)? )?(?:just )?(?:looked|checked|read|scanned|reviewed|inspected)\b/i,
  /^(?:I(?:['’]ll| will) |let me )?(?:first )?(?:look|check|read|scan|review|inspect)(?:ing)?\b/i,
  /^(?:there(?:['’]s| is| are) |I (?:found|see|have) |(?:the|my) (?:board|queue|inbox) (?:has|is) )?(?:nothing|none|empty)\b/i,
  /^(?:there(?:['’]s| is| are) |I (?:found|see|have) )?no (?:[\w-]+ ){0,3}(?:tasks?|stor(?:y|ies)|work|items?|leads?|drafts?|assignments?|changes?)\b/i,
  /^already up to date\b/i,
];
/** Something was done, or may have been: a verb of the past (a state is in capitals), or an arrow. */
const WORK =
  /\b[A-Z]?[a-z]+ed\b|\b(?:[Ww]rote|[Ww]ritten|did|[Dd]one|[Mm]ade|[Bb]uilt|[Ss]ent|[Rr]an|[Tt]ook)\b|→|->/;
const NO_WORK_VERBS =
  /\b(?:un)?(?:looked|checked|scanned|reviewed|inspected|claimed|assigned|blocked|parked|need|changed)\b/gi;

/**
 * The line in which the last text of a run reports that there was nothing to do; null: it does not.
 * The text begins with NO-WORK; or a line does, only lines that are known to report nothing stand
 * before it, and no other line may report work. In doubt there was work: that costs one tick at the
 * usual time, while the other mistake keeps work waiting.
 */
export function noWorkIn(text: string): string | null {
  const all = text.split("\n").flatMap((line) => line.trim() || []);
  const isFenced = [all[0], all.at(-1)].every((line) => /^```\w*$/.test(line ?? ""));
  const lines = isFenced ? all.slice(1, -1) : all;
  if (/^NO[-\u2010\u2011]WORK(?!\w)/i.test(lines[0] ?? "")) return lines[0] as string;
  const at = lines.findIndex((line) => NO_WORK_LINE.test(line));
  const isIdle = (line: string) =>
    IDLE_LINES.some((one) => one.test(line.replace(/^[#*_\s-]+/, "")));
  const isWork = (line: string) => WORK.test(line.replace(NO_WORK_VERBS, ""));
  if (at === -1 || !lines.slice(0, at).every(isIdle)) return null;
  return lines.some((line, i) => i !== at && isWork(line)) ? null : (lines[at] as string);
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
