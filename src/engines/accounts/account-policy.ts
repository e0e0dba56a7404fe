import { formatDuration } from "../../base/duration.ts";
import { growingPause, withJitter } from "../../base/growing-pause.ts";
import type { EngineOutcome } from "../engine.ts";
import {
  ACCOUNT_TRANSITIONS,
  type AccountBy,
  type AccountEvent,
  type AccountState,
  type ClosingReason,
  openAccount,
} from "./account.ts";

/** By an attempt that met a limit or was refused, or by a person. */
export interface Closing {
  reason: ClosingReason;
  /** ISO; null when the vendor named no time. Ignored by reasons that park. */
  until: string | null;
  message: string;
  /** What a person should do about it. */
  todo: string;
  by: AccountBy;
  /** The start of the run that met it, in milliseconds. */
  began: number;
}

const PAUSE_MS = { first: 60_000, longest: 60 * 60_000 };
/** The longest limits of vendors are weekly ones. */
const FARTHEST_RESET_MS = 8 * 86_400_000;
const MAX_TEXT = 500;

/** 1 min, 2, 4, … up to an hour, of which a random half to whole is taken. */
export function pauseMs(failures: number, random: number): number {
  return withJitter(growingPause(failures, PAUSE_MS), random);
}

/** A reset time in the past, or farther away than any real limit, is a mistake. */
export function isPlausible(until: string, now: number): boolean {
  const ahead = Date.parse(until) - now;
  return ahead > 0 && ahead <= FARTHEST_RESET_MS;
}

const EVENTS: Record<ClosingReason, AccountEvent> = {
  rate_limited: "limited",
  unavailable: "limited",
  by_hand: "closed_by_hand",
  unauthorized: "refused",
  quota: "refused",
};

/**
 * The account after a closing; `before` itself, which is as of now, when nothing changes. The later
 * time wins, and a parked account stays parked.
 */
export function afterClosing(
  before: AccountState,
  closing: Closing,
  now: number,
  random: number,
): AccountState {
  if (isOldNews(before, closing)) return before;
  const to = ACCOUNT_TRANSITIONS[before.state][EVENTS[closing.reason]];
  if (to === before.state && to !== "closed") return before;
  const { reason } = closing;
  const base = {
    account: before.account,
    since: new Date(now).toISOString(),
    by: closing.by,
    message: oneLine(closing.message),
    todo: oneLine(closing.todo),
    failures: failuresAfter(before, closing),
  };
  if (reason === "unauthorized" || reason === "quota") {
    return { ...base, state: "parked", reason, until: null };
  }
  const { until, note } = untilFor(before, closing, base.failures, now, random);
  if (before.state === "closed" && Date.parse(before.until) >= Date.parse(until)) {
    return before.failures === base.failures ? before : { ...before, failures: base.failures };
  }
  return { ...base, state: "closed", reason, until, message: base.message + note };
}

/**
 * Several attempts that meet one limit are one failure: all that began before the account was closed.
 * A closing by hand is no failure.
 */
function failuresAfter(before: AccountState, closing: Closing): number {
  if (closing.reason === "by_hand") return before.failures;
  return isAboutTheSame(before, closing) ? Math.max(1, before.failures) : before.failures + 1;
}

function isAboutTheSame({ since }: AccountState, { began }: Closing): boolean {
  return since !== null && began < Date.parse(since);
}

function untilFor(
  before: AccountState,
  closing: Closing,
  failures: number,
  now: number,
  random: number,
): { until: string; note: string } {
  const named = closing.until;
  const counts = named !== null && (closing.reason === "by_hand" || isPlausible(named, now));
  if (counts) return { until: new Date(named).toISOString(), note: "" };
  // The pause for the same limit runs already.
  if (before.state === "closed" && isAboutTheSame(before, closing)) {
    return { until: before.until, note: "" };
  }
  const pause = pauseMs(failures, random);
  const until = new Date(now + pause).toISOString();
  return { until, note: named === null ? "" : implausible(named, pause) };
}

/** A run from before a person opened it, perhaps with a new key, is no evidence about now. */
function isOldNews({ state, by, since }: AccountState, { began }: Closing): boolean {
  const isByPerson = state === "open" && by !== null && "person" in by;
  return isByPerson && since !== null && began < Date.parse(since);
}

function implausible(named: string, pause: number): string {
  const time = oneLine(named).slice(0, 40);
  return ` (it named ${time} as the time to come back, which is not plausible: a pause of ${formatDuration(pause)} instead)`;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim().slice(0, MAX_TEXT);
}

/** After a success of a run that began then. It opens nothing that was closed later, or by a person. */
export function afterSuccess(before: AccountState, began: number, now: number): AccountState {
  const isByHand = before.state === "closed" && before.reason === "by_hand";
  const isNews = before.since === null || began >= Date.parse(before.since);
  if (!isNews || isByHand) return before;
  if (ACCOUNT_TRANSITIONS[before.state].succeeded !== "open") return before;
  if (before.state === "open" && before.failures === 0) return before;
  return openAccount(before.account, { since: new Date(now).toISOString() });
}

export function afterOpening(before: AccountState, person: string, now: number): AccountState {
  return openAccount(before.account, { since: new Date(now).toISOString(), by: { person } });
}

/** The closing of a run's account by the run's outcome. */
export function closingFor(
  outcome: EngineOutcome,
  note: string,
): Pick<Closing, "reason" | "until" | "message" | "todo"> {
  const { kind } = outcome;
  const isLimit = kind === "rate_limited" || kind === "unavailable" || kind === "quota";
  return {
    reason: isLimit ? kind : "unauthorized",
    until: "until" in outcome ? outcome.until : null,
    message: "message" in outcome ? outcome.message : note,
    todo: "todo" in outcome ? outcome.todo : "",
  };
}
