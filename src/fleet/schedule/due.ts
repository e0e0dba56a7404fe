import type { Fires } from "./cron.ts";

/** What is kept of a schedule; times in milliseconds since the epoch. */
export interface Handled {
  /** Every fire up to this time is enqueued or skipped. */
  handled: number;
  /** A fire that may be enqueued in part. */
  begun: number | null;
}

export interface Policy {
  missed: "once" | "skip";
  /** Paused, or not enabled. */
  isOff: boolean;
}

export interface Due {
  /** Fires to enqueue, in order. */
  fires: number[];
  /** Whether others were skipped. */
  hasSkipped: boolean;
  /** The new `handled`, once these are enqueued. */
  handled: number;
}

/** A fire that is later than this was missed. */
export const ON_TIME_MS = 60_000;
/** A time handled that lies further in the future is that of a clock that was wrong. */
const WRONG_CLOCK_MS = 86_400_000;

/**
 * Which fires in `(handled, now]` are enqueued. Those on time are, each. Of the missed ones the last is,
 * if no other is on time and the policy says so. One that was begun is finished, whatever the policy.
 */
export function dueFires(
  { handled, begun }: Handled,
  now: number,
  policy: Policy,
  fires: Fires,
): Due {
  const unfinished = begun === null ? [] : [begun];
  if (handled > now) {
    const isWrong = handled - now > WRONG_CLOCK_MS;
    return { fires: unfinished, hasSkipped: false, handled: isWrong ? now : handled };
  }
  const missed = lastIn(fires, handled, now - ON_TIME_MS);
  const onTime = policy.isOff ? [] : allIn(fires, Math.max(handled, now - ON_TIME_MS), now);
  const isCaughtUp = missed !== null && onTime.length === 0 && policy.missed === "once";
  const caughtUp = isCaughtUp && !policy.isOff ? [missed] : [];
  const all = [...new Set([...unfinished, ...caughtUp, ...onTime])].sort((a, b) => a - b);
  const hasSkipped = missed !== null && missed !== begun && caughtUp.length === 0;
  return { fires: all, hasSkipped, handled: now };
}

function allIn(fires: Fires, after: number, upTo: number): number[] {
  const found: number[] = [];
  for (let at = fires.after(after); at !== null && at <= upTo; at = fires.after(at)) found.push(at);
  return found;
}

/**
 * The last fire in `(after, upTo]`. It looks backwards in growing steps, so that a year of a fire each
 * second costs no more than a day of it.
 */
function lastIn(fires: Fires, after: number, upTo: number): number | null {
  for (let span = ON_TIME_MS; ; span *= 4) {
    const from = Math.max(after, upTo - span);
    const first = upTo > from ? fires.after(from) : null;
    if (first !== null && first <= upTo) return lastFrom(fires, first, upTo);
    if (from === after) return null;
  }
}

/** The last fire up to `upTo`, from one that is not later. Halves the rest while it is long. */
function lastFrom(fires: Fires, first: number, upTo: number): number {
  let last = first;
  let end = upTo;
  while (end - last > ON_TIME_MS) {
    const middle = last + Math.floor((end - last) / 2);
    const next = fires.after(middle);
    if (next !== null && next <= upTo) last = next;
    else end = middle;
  }
  for (let at = fires.after(last); at !== null && at <= upTo; at = fires.after(at)) last = at;
  return last;
}
