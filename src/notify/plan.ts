import { growingPause, withJitter } from "../base/growing-pause.ts";
import { counted } from "../base/text.ts";
import { isNotifyName, type Target } from "./config.ts";
import type { Message } from "./message.ts";
import { quietUntil } from "./quiet.ts";

/** More than so many requests within so long a target does not get; what is left is said in one. */
export const MOST_REQUESTS = 5;
export const WITHIN_MS = 60_000;
/** So many messages are said in one request. */
const MOST_TOGETHER = 500;
export const MOST_TRIES = 10;
const BACKOFF = { first: 5_000, longest: 15 * 60_000 };
/** A server that asks for more has other worries. */
const LONGEST_WAIT_MS = 6 * 3_600_000;

/** What is known of a target's requests. */
export interface Pace {
  /** The times of the last ones. */
  requests: readonly number[];
  /** After a failure that may pass: not before. */
  until?: number;
  /** Since when messages wait for it, and viv.toml has no such target. */
  lost?: number;
}

export interface Batch {
  target: Target;
  messages: readonly Message[];
}

/**
 * What is to be sent now, and when to look again (null: when there is news). `isLast`: this process
 * ends, and another may not come soon: no digest waits for more, and one more request is made.
 */
export function planned(
  waiting: readonly Message[],
  targets: readonly Target[],
  paceOf: (target: string) => Pace,
  now: number,
  isLast = false,
): { batches: Batch[]; next: number | null } {
  const batches: Batch[] = [];
  const times: number[] = [];
  for (const target of targets) {
    const own = waiting.filter((one) => one.target === target.name);
    if (own.length === 0) continue;
    const { ready, next } = readyFor(target, own, paceOf(target.name), now, isLast);
    for (const messages of ready) batches.push({ target, messages });
    if (next !== null) times.push(next);
  }
  return { batches, next: times.length === 0 ? null : Math.min(...times) };
}

/** So long a message waits for a target that is gone. */
const LOST_MS = 86_400_000;

/**
 * Messages whose target was taken away and has not come back within a day: months later they would be
 * no news. `noted`: what changes in `lost` of each target.
 */
export function withoutTarget(
  waiting: readonly Message[],
  targets: readonly Target[],
  pace: ReadonlyMap<string, Pace>,
  now: number,
): { failed: Message[]; noted: Map<string, number | undefined>; next: number | null } {
  const failed: Message[] = [];
  const noted = new Map<string, number | undefined>();
  const times: number[] = [];
  for (const name of new Set([...waiting.map(({ target }) => target), ...pace.keys()])) {
    if (!isNotifyName(name)) continue;
    const own = waiting.filter(({ target }) => target === name);
    const { lost } = pace.get(name) ?? {};
    // A time in the future is that of a clock that was set back.
    const since = lost !== undefined && lost <= now ? lost : undefined;
    const isGone = own.length > 0 && !targets.some((one) => one.name === name);
    if (since !== undefined && since + LOST_MS <= now) {
      failed.push(...own.filter(({ entered }) => timeOf(entered) <= since));
      noted.set(name, undefined);
    } else if (isGone) {
      if (since === undefined) noted.set(name, now);
      times.push((since ?? now) + LOST_MS);
    } else if (lost !== undefined) noted.set(name, undefined);
  }
  return { failed, noted, next: soonest(times) };
}

function readyFor(
  { quiet, digestMs, isWhole }: Target,
  own: readonly Message[],
  { requests, until = 0 }: Pace,
  now: number,
  isLast: boolean,
): { ready: Message[][]; next: number | null } {
  const later = (next: number) => ({ ready: [], next });
  if (until > now) return later(until);
  const quietEnd = quiet && quietUntil(now, quiet);
  if (quietEnd) return later(quietEnd);
  if (digestMs !== undefined && !isLast) {
    const oldest = Math.min(...own.map(({ entered }) => timeOf(entered)));
    if (oldest + digestMs > now) return later(oldest + digestMs);
  }
  const due = own.filter((one) => timeOf(one.due) <= now);
  const next = soonest(own.filter((one) => !due.includes(one)).map((one) => timeOf(one.due)));
  if (due.length === 0) return { ready: [], next };
  if (isWhole) return { ready: due.map((one) => [one]), next };
  // A time in the future is that of a clock that was set back.
  const recent = requests.filter((at) => at > now - WITHIN_MS && at <= now);
  const allowed = Math.max(MOST_REQUESTS - recent.length, isLast ? 1 : 0);
  if (allowed <= 0) return later(Math.min(...recent) + WITHIN_MS);
  const isTogether = digestMs !== undefined || due.length > allowed;
  if (!isTogether) return { ready: due.map((one) => [one]), next };
  const rest = due.length > MOST_TOGETHER ? now : null;
  return { ready: [due.slice(0, MOST_TOGETHER)], next: soonest([rest, next]) };
}

function timeOf(iso: string | undefined): number {
  const at = iso === undefined ? 0 : Date.parse(iso);
  return Number.isNaN(at) ? 0 : at;
}

function soonest(times: readonly (number | null)[]): number | null {
  const known = times.filter((one) => one !== null);
  return known.length === 0 ? null : Math.min(...known);
}

/** What a try came to. */
export type Attempted =
  | { kind: "sent" }
  /** It has not arrived, and may the next time. `waitMs`: what the other side asks for. */
  | { kind: "again"; reason: string; waitMs?: number }
  | { kind: "refused"; reason: string }
  /** It may have arrived. */
  | { kind: "unsure"; reason: string };

/** The message after a try, and its state. `until`: when its target may be tried again. */
export function afterTry(
  message: Message,
  attempted: Attempted,
  now: number,
  random: number,
): { message: Message; until?: number } {
  const { due: _, reason: __, ...rest } = message;
  const tries = message.tries + 1;
  const at = new Date(now).toISOString();
  const ended = (state: "sent" | "failed" | "unsure", reason?: string) => ({
    message: { ...rest, tries, reason, end: { state, at } },
  });
  if (attempted.kind === "sent") return ended("sent");
  const { reason } = attempted;
  if (attempted.kind !== "again") {
    return ended(attempted.kind === "refused" ? "failed" : "unsure", reason);
  }
  if (tries >= MOST_TRIES) return ended("failed", `${counted(tries, "try")}: ${reason}`);
  const pause = withJitter(growingPause(tries, BACKOFF), random);
  const until = now + Math.max(pause, Math.min(attempted.waitMs ?? 0, LONGEST_WAIT_MS));
  const due = new Date(until).toISOString();
  return { message: { ...rest, tries, reason, due, end: { state: "new", at } }, until };
}
