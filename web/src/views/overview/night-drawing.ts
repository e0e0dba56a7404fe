import type { Lane, Span, Timeline } from "../../live/shapes.ts";
import { clock, moment } from "../../parts/format.ts";

/** The strip of the overview as numbers: bars of what ended, lanes of who worked. */

export interface Frame {
  from: number;
  to: number;
  /** What still runs ends there. */
  now: number;
  /** Where the first pixel of time is, and how many there are. */
  left: number;
  width: number;
}

export function xOf({ from, to, left, width }: Omit<Frame, "now">, time: number): number {
  const share = (Math.min(Math.max(time, from), to) - from) / Math.max(1, to - from);
  return Math.round((left + share * width) * 10) / 10;
}

export type SpanLook = "ok" | "no" | "again" | "run";

/** As the bars above the lanes count them. */
const FAILED = ["failed", "unproven", "timed_out", "crashed"];

export function lookOf({ outcome, again }: Pick<Span, "outcome" | "again">): SpanLook {
  if (outcome === null) return "run";
  if (outcome === "done" || outcome === "proven" || outcome === "review") return "ok";
  return FAILED.includes(outcome) && !again ? "no" : "again";
}

/** One path per look: a night has thousands of spans, and the page four elements per lane. */
export function lanePaths(
  lane: Lane,
  frame: Frame,
  y: number,
  height: number,
): Record<SpanLook, string> {
  const paths: Record<SpanLook, string> = { ok: "", no: "", again: "", run: "" };
  for (const span of lane.spans) {
    const { from, to } = span;
    const begin = Date.parse(from);
    const end = to === null ? frame.now : Date.parse(to);
    if (end < frame.from || begin > frame.to) continue;
    const x = xOf(frame, begin);
    const wide = Math.max(1.2, xOf(frame, end) - x - 0.7);
    paths[lookOf(span)] += `M${x} ${y}h${wide.toFixed(1)}v${height}h${(-wide).toFixed(1)}z`;
  }
  return paths;
}

/** Of agents that have no lane here, as one in tmux that the warden ended: their marks stand apart. */
export function strangersIn<K extends { name: string; at: string }>(
  kills: readonly K[],
  lanes: readonly { name: string }[],
  { from, to }: Pick<Frame, "from" | "to">,
): K[] {
  return kills.filter(({ name, at }) => {
    const time = Date.parse(at);
    return time >= from && time <= to && lanes.every((lane) => lane.name !== name);
  });
}

const STEPS_MIN = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10_080];

/** Times for the axis: round ones, at least `apart` pixels from each other. */
export function ticksOf({ from, to, width }: Frame, apart = 64): number[] {
  const perPixel = (to - from) / Math.max(1, width);
  const step = (STEPS_MIN.find((one) => (one * 60_000) / perPixel >= apart) ?? 10_080) * 60_000;
  const zone = new Date(from).getTimezoneOffset() * 60_000;
  const ticks: number[] = [];
  for (let at = Math.ceil((from - zone) / step) * step + zone; at <= to; at += step) ticks.push(at);
  return ticks;
}

/** `18:00`; of several days, the first of each names it: `Fri 13`. */
export function tickText({ from, to }: Frame, time: number, before = Number.NaN): string {
  const isNewDay = new Date(time).getDate() !== new Date(before).getDate();
  const isLong = to - from > 26 * 3_600_000;
  return isLong && isNewDay ? moment(time, 0).replace(", 00:00", "") : clock(time);
}

/** Shorter is not drawn: a bar of seconds would say nothing. */
const SHORTEST = 120_000;

/**
 * From the beginning of the period, or, where most of it is empty, from the first that happened; up
 * to a little after now, so that now has its line.
 */
export function frameOf(timeline: Timeline, left: number, width: number): Frame {
  const since = Date.parse(timeline.since);
  const now = Date.parse(timeline.until);
  const begins = timeline.lanes.flatMap(({ spans }) =>
    spans[0] ? [Date.parse(spans[0].from)] : [],
  );
  const first = Math.min(now, ...begins);
  const isLate = first - since > (now - since) * 0.3;
  const from = isLate ? Math.max(since, Math.min(first, now - SHORTEST)) : since;
  return { from, to: now + (now - from) * 0.02, now, left, width };
}
