import { formatDuration } from "../../base/duration.ts";
import { VivError } from "../../base/errors.ts";
import type { EngineRoute } from "../config-engine.ts";

/**
 * An account is what shares a rate limit. Its gate is state of the machine, not of a run: what one
 * worker learns from the vendor holds for all of the user's workers.
 *   open     may be used
 *   closed   not before a time
 *   parked   not before a person has done something about it
 */
export const ACCOUNT_STATES = ["open", "closed", "parked"] as const;
export type AccountStateName = (typeof ACCOUNT_STATES)[number];

/** What can happen to it: the vendor said so, a run succeeded, or a person decides. */
export type AccountEvent = "limited" | "refused" | "succeeded" | "opened" | "closed_by_hand";

/** A success counts only if its run began after the account was closed, and no person closed it. */
export const ACCOUNT_TRANSITIONS: Record<
  AccountStateName,
  Record<AccountEvent, AccountStateName>
> = {
  open: {
    limited: "closed",
    refused: "parked",
    succeeded: "open",
    opened: "open",
    closed_by_hand: "closed",
  },
  closed: {
    limited: "closed",
    refused: "parked",
    succeeded: "open",
    opened: "open",
    closed_by_hand: "closed",
  },
  parked: {
    limited: "parked",
    refused: "parked",
    succeeded: "parked",
    opened: "open",
    closed_by_hand: "parked",
  },
};

/** `unavailable`: the vendor is down, overloaded, or cannot be reached. */
export const CLOSING_REASONS = ["rate_limited", "unavailable", "by_hand"] as const;
export const PARKING_REASONS = ["unauthorized", "quota"] as const;
export type ClosingReason = (typeof CLOSING_REASONS)[number] | (typeof PARKING_REASONS)[number];

/** Whose word it was: an attempt's, or a person's. */
export type AccountBy = { run: string; worker: string; task: string } | { person: string };

interface Account {
  account: string;
  /** When it came into this state, ISO; null for one that never left the first. */
  since: string | null;
  by: AccountBy | null;
  /** How often in a row it was closed without a success in between. */
  failures: number;
  /** Why its file could not be used. Then it counts as open: one bad file must not stop a fleet. */
  trouble?: string;
}

export interface OpenAccount extends Account {
  state: "open";
  reason: null;
  until: null;
  message: "";
  todo: "";
}

export interface ClosedAccount extends Account {
  state: "closed";
  reason: (typeof CLOSING_REASONS)[number];
  since: string;
  until: string;
  message: string;
  todo: string;
}

export interface ParkedAccount extends Account {
  state: "parked";
  reason: (typeof PARKING_REASONS)[number];
  since: string;
  until: null;
  message: string;
  todo: string;
}

export type AccountState = OpenAccount | ClosedAccount | ParkedAccount;

export function openAccount(account: string, more: Partial<Account> = {}): OpenAccount {
  const nothing = { reason: null, until: null, message: "", todo: "" } as const;
  return { account, state: "open", ...nothing, since: null, by: null, failures: 0, ...more };
}

/** As it is at that time: what was closed until then is open, and remembers how often it was. */
export function accountAt(state: AccountState, now: number): AccountState {
  if (state.state !== "closed" || Date.parse(state.until) > now) return state;
  return openAccount(state.account, { since: state.since, failures: state.failures });
}

const REASONS: Record<ClosingReason, string> = {
  rate_limited: "rate limit",
  unavailable: "the vendor does not answer",
  by_hand: "by hand",
  unauthorized: "not authorized",
  quota: "quota used up",
};

/** `is closed until 14:05 UTC (in 12m): rate limit`. */
export function describeAccount(state: AccountState, now: number): string {
  switch (state.state) {
    case "open":
      return "is open";
    case "closed":
      return `is closed until ${describeUntil(state.until, now)}: ${whyClosed(state)}`;
    case "parked":
      return `is parked: ${whyClosed(state)}`;
  }
}

/** What the vendor said of a rate limit is in its file; that it is one says enough. */
export function whyClosed({ reason, message }: ClosedAccount | ParkedAccount): string {
  if (reason === "rate_limited" || message === "") return REASONS[reason];
  return reason === "by_hand" ? `by hand (${message})` : message;
}

/** With the day when that is not the next such time. */
export function describeUntil(until: string, now: number): string {
  const left = Date.parse(until) - now;
  const [day = "", time = ""] = until.split("T");
  const at = left > 20 * 3_600_000 ? `${day} ${time.slice(0, 5)}` : time.slice(0, 5);
  return `${at} UTC (in ${formatDuration(left)})`;
}

/** The account that a file says. CORRUPT when it does not say one. */
export function parseAccount(text: string, account: string): AccountState {
  const file = asObject(text);
  const { state, reason, until, since, failures } = file;
  const base = { account, by: readBy(file.by), failures: isCount(failures) ? failures : 0 };
  if (state === "open") {
    return openAccount(account, { ...base, since: isTime(since) ? since : null });
  }
  const words = { message: textOf(file.message), todo: textOf(file.todo) };
  if (!isTime(since)) throw corrupt("since is not a time");
  if (state === "closed" && CLOSING_REASONS.some((known) => known === reason)) {
    if (!isTime(until)) throw corrupt("until is not a time");
    return { ...base, state, reason: reason as ClosedAccount["reason"], until, since, ...words };
  }
  if (state === "parked" && PARKING_REASONS.some((known) => known === reason)) {
    const parked = { state, reason: reason as ParkedAccount["reason"], until: null } as const;
    return { ...base, ...parked, since, ...words };
  }
  throw corrupt(
    `state ${JSON.stringify(state)} with reason ${JSON.stringify(reason)} is not known`,
  );
}

function asObject(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw corrupt("it is not JSON", cause);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw corrupt("it is not a JSON object");
}

function corrupt(message: string, cause?: unknown): VivError {
  return new VivError("CORRUPT", message, {}, { cause });
}

function isTime(value: unknown): value is string {
  return typeof value === "string" && /^\d{4}-.*T.*Z$/.test(value) && Date.parse(value) > 0;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function readBy(value: unknown): AccountBy | null {
  if (typeof value !== "object" || value === null) return null;
  const { person, run, worker, task } = value as Record<string, unknown>;
  if (typeof person === "string") return { person };
  return typeof run === "string" ? { run, worker: textOf(worker), task: textOf(task) } : null;
}

/** The part of a route that engines know. */
export interface RoutedEngine {
  engine?: EngineRoute;
}

/** The account that a route's model runs use; null when they share no limit. */
export function accountOfRoute(route: RoutedEngine | undefined): string | null {
  return route?.engine?.account ?? null;
}
