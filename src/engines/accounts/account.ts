import * as z from "zod/mini";
import { formatDuration } from "../../base/duration.ts";
import { VivError } from "../../base/errors.ts";
import { isRecord, parseRecord } from "../../base/json.ts";
import type { EngineRoute } from "../config-engine.ts";

/**
 * Runs with the same account share a rate limit. Its gate is state of the machine, not of a run: a limit
 * that one worker meets holds for all of the user's workers.
 *   open     may be used
 *   closed   not before a time
 *   parked   not before a person has opened it
 */
export const CLOSING_REASONS = ["rate_limited", "unavailable", "by_hand"] as const;
export const PARKING_REASONS = ["unauthorized", "quota"] as const;
export type ClosingReason = (typeof CLOSING_REASONS)[number] | (typeof PARKING_REASONS)[number];

const time = z
  .string()
  .check(z.refine((text) => /^\d{4}-.*T.*Z$/.test(text) && Date.parse(text) > 0));

const by = z.union([
  z.object({ person: z.string() }),
  z.object({ run: z.string(), worker: z.string(), task: z.string() }),
]);
export type AccountBy = z.output<typeof by>;

const account = z.string();
const texts = {
  message: z.string(),
  /** What a person should do about it. */
  todo: z.string(),
};
const record = {
  by: z.nullable(by),
  /** Closings in a row without a success in between. */
  failures: z.int().check(z.gte(0)),
  /** Why its file cannot be used. Then it counts as open: one bad file must not stop a fleet. */
  trouble: z.optional(z.string()),
};

/** The order of the keys is that of the output. */
export const accountState = z.discriminatedUnion("state", [
  z.object({
    account,
    state: z.literal("open"),
    reason: z.null(),
    until: z.null(),
    ...texts,
    /** Null: it was never closed. */
    since: z.nullable(time),
    ...record,
  }),
  z.object({
    account,
    ...record,
    state: z.literal("closed"),
    reason: z.enum(CLOSING_REASONS),
    until: time,
    since: time,
    ...texts,
  }),
  z.object({
    account,
    ...record,
    state: z.literal("parked"),
    reason: z.enum(PARKING_REASONS),
    until: z.null(),
    since: time,
    ...texts,
  }),
]);
export type AccountState = z.output<typeof accountState>;
type OpenAccount = Extract<AccountState, { state: "open" }>;

export type AccountEvent = "limited" | "refused" | "succeeded" | "opened" | "closed_by_hand";

const UNPARKED = {
  limited: "closed",
  refused: "parked",
  succeeded: "open",
  opened: "open",
  closed_by_hand: "closed",
} as const;

/** A success counts only if its run began after the account was closed, and no person closed it. */
export const ACCOUNT_TRANSITIONS: Record<
  AccountState["state"],
  Record<AccountEvent, AccountState["state"]>
> = {
  open: UNPARKED,
  closed: UNPARKED,
  parked: {
    limited: "parked",
    refused: "parked",
    succeeded: "parked",
    opened: "open",
    closed_by_hand: "parked",
  },
};

export function openAccount(account: string, more: Partial<OpenAccount> = {}): OpenAccount {
  const nothing = { reason: null, until: null, message: "", todo: "" } as const;
  return { account, state: "open", ...nothing, since: null, by: null, failures: 0, ...more };
}

/** As it is at that time: an account whose closing has passed is open, and keeps its failures. */
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

/** Without the vendor's words about a rate limit, which its file has. */
export function whyClosed({ reason, message }: Exclude<AccountState, OpenAccount>): string {
  if (reason === "rate_limited" || message === "") return REASONS[reason];
  return reason === "by_hand" ? `by hand (${message})` : message;
}

/** With the day, unless it is the next such time. */
export function describeUntil(until: string, now: number): string {
  const left = Date.parse(until) - now;
  const [day = "", time = ""] = until.split("T");
  const at = left > 20 * 3_600_000 ? `${day} ${time.slice(0, 5)}` : time.slice(0, 5);
  return `${at} UTC (in ${formatDuration(left)})`;
}

/** A file's account. A person may have edited it: missing texts are empty, other keys are ignored. */
export function parseAccount(text: string, account: string): AccountState {
  const file = parseRecord(text);
  if (file === null) throw new VivError("CORRUPT", "it is not a JSON object");
  const state = accountState.safeParse({
    ...file,
    account,
    message: texts.message.safeParse(file.message).data ?? "",
    todo: texts.todo.safeParse(file.todo).data ?? "",
    by: by.safeParse(isRecord(file.by) && { worker: "", task: "", ...file.by }).data ?? null,
    failures: record.failures.safeParse(file.failures).data ?? 0,
    trouble: undefined,
    ...(file.state === "closed" ? {} : { until: null }),
    ...(file.state === "open"
      ? { reason: null, message: "", todo: "", since: time.safeParse(file.since).data ?? null }
      : {}),
  });
  if (state.success) return state.data;
  throw new VivError("CORRUPT", `${state.error.issues[0]?.path.join(".")} is not valid`);
}

/** The part of a route that engines know. */
export interface RoutedEngine {
  engine?: EngineRoute;
}

/** The account that a route's model runs use; null when they share no limit. */
export function accountOfRoute(route: RoutedEngine | undefined): string | null {
  return route?.engine?.account ?? null;
}
