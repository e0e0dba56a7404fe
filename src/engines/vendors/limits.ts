import { lastLines } from "../../base/text.ts";
import type { EngineExit, EngineOutcome, Waiting } from "../engine.ts";
import { brief } from "./event-reader.ts";

/** How an account is repaired, in each vendor's words. */
export interface Vendor {
  name: string;
  login: string;
  credit: string;
  /** Its quotas refill by themselves after a while. */
  quotasRefill?: boolean;
}

/** The vendor's reason for a failure. Never a text of the model. */
export interface Complaint {
  message: string;
  /** The HTTP status, where the vendor gives it apart from the message. */
  status?: number | null;
  /** The time of the next try, where the vendor gives it apart from the message. */
  until?: number | null;
}

type Cause = "session_lost" | "rate_limited" | "unavailable" | "quota" | "refused" | "unauthorized";

/** The first match is the cause; the more specific pattern comes first. */
const CAUSES: readonly (readonly [Cause, RegExp])[] = [
  [
    "session_lost",
    /no conversation found|no rollout found|rollout not found|thread not (?:found|loaded)|invalid session identifier|\bsession not found|no previous sessions found/i,
  ],
  // Google calls a limit per minute a quota; one that is lifted by itself is a limit.
  [
    "rate_limited",
    /RESOURCE_EXHAUSTED|resource has been exhausted|exhausted your (?:daily|capacity|quota)|quota will reset|\bresets? \w.{0,40}?[ap]m\b/i,
  ],
  [
    "quota",
    /credit balance is too low|insufficient[_ ](?:quota|credits?|funds|balance)|out of credits|spend(?:ing)? (?:cap|limit)|billing_error|billing_hard_limit|payment required|requires more credits|quota exceeded|exceeded your (?:current|monthly) quota|upgrade to plus:|no credits? (?:left|remaining)/i,
  ],
  [
    "rate_limited",
    /\brate[ _-]?limit(?:ed|_error|_exceeded)?\b|too many requests|usage[ _]limit|hit your (?:\S+ ){0,3}limit|(?:hour|daily|weekly|monthly|session|opus|sonnet|haiku|fable) limit reached|try again (?:at|in) \w/i,
  ],
  [
    "unavailable",
    /overloaded|at capacity|high demand|internal server error|service unavailable|bad gateway|gateway time-?out/i,
  ],
  [
    "refused",
    /model[_ ]not[_ ](?:found|supported)|models?\b[^\n]{0,120}?\b(?:not found|is not supported|not available|does(?: not|n't) exist|may not exist|not exist)|\b(?:unknown|invalid|unsupported) model|not authorized to access this model|issue with the selected model|unknown (?:option|argument)|unexpected argument|invalid value .{0,80} for|not inside a trusted directory|untrusted (?:workspace|folder)|cannot be used with root/i,
  ],
  [
    "unauthorized",
    /invalid (?:x-)?api[ -]?key|incorrect api key|api key (?:is )?(?:not valid|missing|invalid|expired)|(?:no|missing|set) (?:an? )?(?:\S+ )?api[ _]key|\/login\b|not logged in|log(?:ged)? in (?:again|with)|authenticat\w+[ _](?:error|failed|failure|required)|failed to authenticate|unauthorized|oauth (?:token|session)|token (?:has )?(?:expired|been revoked)|could not be refreshed|missing bearer|set an auth method|no auth credentials|must specify the \S+ environment variable|missing environment variable/i,
  ],
];

const BY_STATUS: Readonly<Record<number, Cause>> = {
  401: "unauthorized",
  402: "quota",
  403: "unauthorized",
  404: "refused",
  429: "rate_limited",
};

/** Failures of the network, before any server has answered. */
const UNREACHABLE =
  /\b(?:ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)\b|connection (?:error|refused|failed|reset|closed)|(?:cannot|unable to|failed to) connect|error sending request|fetch failed|network error|socket hang up|stream disconnected/i;

/** Finds the outcome of a run in a vendor's complaints. */
export class Diagnosis {
  readonly #vendor: Vendor;
  readonly #now: () => number;

  constructor(vendor: Vendor, now: () => number) {
    this.#vendor = vendor;
    this.#now = now;
  }

  /** The outcome by a known cause; null when the cause is unknown. */
  recognise(complaint: Complaint): EngineOutcome | null {
    const text = complaint.message.slice(0, 20_000);
    const cause = causeOf(text, complaint.status ?? statusIn(text));
    const refills = this.#vendor.quotasRefill === true && cause === "quota" && /quota/i.test(text);
    return cause === null ? null : this.outcome(refills ? "rate_limited" : cause, complaint);
  }

  /** The outcome by a cause that the vendor names itself. */
  outcome(cause: Cause, complaint: Complaint): EngineOutcome {
    const message = this.#named(complaint.message);
    if (cause === "unauthorized") return { kind: cause, message, todo: this.#vendor.login };
    if (cause === "quota") return { kind: cause, message, todo: this.#vendor.credit };
    if (cause !== "rate_limited" && cause !== "unavailable") return { kind: cause, message };
    const now = this.#now();
    const until = plausible(complaint.until ?? null, now) ?? resetTime(complaint.message, now);
    return { kind: cause, message, until: until === null ? null : new Date(until).toISOString() };
  }

  failed(message: string): EngineOutcome {
    return { kind: "failed", message: this.#named(message) };
  }

  /** The outcome of the vendor's last message: a known cause, or a plain failure. */
  outcomeOf(complaint: Complaint): EngineOutcome {
    return this.recognise(complaint) ?? this.failed(complaint.message);
  }

  /**
   * For a vendor's program that tries again by itself. An unknown cause is a fault of the vendor or the
   * network: for any other the program would not try again.
   */
  waiting(complaint: Complaint): Waiting {
    const outcome = this.recognise(complaint) ?? this.outcome("unavailable", complaint);
    return { outcome, isFinal: outcome.kind === "unauthorized" || outcome.kind === "quota" };
  }

  /**
   * The outcome of a run without a last event. Complaints of the stream come first. Without any, stderr
   * counts; there a vendor also reports errors that it has recovered from.
   */
  brokenOff(
    exit: EngineExit,
    complaint: Complaint | null,
    otherLines: readonly string[],
  ): EngineOutcome {
    const { name } = this.#vendor;
    const known = complaint && this.recognise(complaint);
    if (known) return known;
    if (exit.wasEnded) return { kind: "cut_off", message: `${name} was ended before it was done` };
    const last = lastLines(exit.stderr, 8);
    const errors = last.length > 0 ? last : otherLines;
    const message = complaint?.message ?? errors.slice(-2).join(" ");
    const reason = message === "" ? "" : `: ${message}`;
    if (exit.exit === 0) {
      const text = `${name} ended without its last event${reason}`;
      return { kind: "cut_off", message: brief(text, MAX_MESSAGE) };
    }
    const cause = complaint ? null : this.recognise({ message: errors.join("\n") });
    // Other lines there may be about anything, such as a server of the user's that is down.
    if (cause !== null && cause.kind !== "unavailable") return cause;
    const how = exit.signal === null ? `exited with ${exit.exit}` : `was ended by ${exit.signal}`;
    return this.failed(`${how}${reason}`);
  }

  #named(message: string): string {
    const { name } = this.#vendor;
    return brief(message === "" ? `${name} failed` : `${name}: ${message}`, MAX_MESSAGE);
  }
}

const MAX_MESSAGE = 500;

function causeOf(text: string, status: number | null): Cause | null {
  for (const [cause, pattern] of CAUSES) if (pattern.test(text)) return cause;
  if (status !== null && status >= 500) return "unavailable";
  const known = status !== null && BY_STATUS[status];
  return known || (UNREACHABLE.test(text) ? "unavailable" : null);
}

/** The HTTP status that a message contains. */
function statusIn(text: string): number | null {
  const found =
    /(?:\b(?:API Error:?|status(?: code)?:?|last status:|HTTP)|"(?:code|status|statusCode)":)\s*\(?(\d{3})\b/i.exec(
      text,
    );
  return found === null ? null : Number(found[1]);
}

/**
 * The end of a limit, in a vendor's message. The forms: a moment as a number or in ISO form; a length of
 * time ("in 3 hours 5 minutes", "34.07s"); a time of day, with or without a date and a time zone
 * ("resets Apr 23 at 4pm (America/Recife)").
 */
export function resetTime(text: string, now: number): number | null {
  const message = text.slice(0, 20_000);
  for (const form of [stamp, isoMoment, span, timeOfDay]) {
    const at = plausible(form(message, now), now);
    if (at !== null) return at;
  }
  return null;
}

/** A moment that is past or far away was read wrong, or is of no use. */
function plausible(at: number | null, now: number): number | null {
  return at !== null && at > now && at < now + FAR ? Math.round(at) : null;
}

const FAR = 35 * 24 * 3600_000;

/** From seconds since 1970, or milliseconds. */
export function epochMs(value: number): number {
  return value > 1e11 ? value : value * 1000;
}

function stamp(text: string): number | null {
  const found = /(?:\||resets?_?at\W{1,4})(\d{10}|\d{13})\b/i.exec(text);
  return found === null ? null : epochMs(Number(found[1]));
}

function isoMoment(text: string): number | null {
  const found = /\b\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)/.exec(text);
  return found === null ? null : Date.parse(found[0]);
}

const UNIT_MS = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000 } as const;

function span(text: string, now: number): number | null {
  const millis = /\b(?:retry[ _-]?after[ _-]?ms|retry_delay_ms)\W{1,4}(\d+)/i.exec(text);
  if (millis !== null) return now + Number(millis[1]);
  const found =
    /\b(?:retry[ _-]?delay|retry[ _-]?after|resets?_in_seconds|(?:again|retry|retrying|resets?) (?:in|after))\W{1,4}((?:\d+(?:\.\d+)?\s*(?:[a-z]+\b|[dhms](?=\d))?[,\s]*(?:and\s+)?)+)/i.exec(
      text,
    );
  const length = found && lengthOf(found[1] ?? "");
  return length === null ? null : now + length;
}

/** `6m0s`, `1.5s`, `20ms`, `3 hours 5 minutes`, and `30` for seconds, in milliseconds. */
export function lengthOf(text: string): number | null {
  let total: number | null = null;
  for (const [, amount, unit = ""] of text.matchAll(/(\d+(?:\.\d+)?)\s*([a-z]*)/gi)) {
    const ms = unitMs(unit.toLowerCase());
    if (ms === null) break;
    total = (total ?? 0) + Number(amount) * ms;
  }
  return total;
}

function unitMs(word: string): number | null {
  if (word === "") return 1000;
  if (word === "ms") return 1;
  if (!/^(d|days?|h|hrs?|hours?|m|mins?|minutes?|s|secs?|seconds?)$/.test(word)) return null;
  return UNIT_MS[word[0] as keyof typeof UNIT_MS];
}

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAY_TIME =
  /\b(?:again|resets?|until)\s+(?:at\s+|on\s+)?(?:([a-z]{3})[a-z]*\.? (\d{1,2})(?:st|nd|rd|th)?(?:,? (\d{4}))?,?\s+(?:at\s+)?)?(\d{1,2})(?::(\d\d))?\s*([ap])\.?m\b\.?(?:\s*\(([\w/+-]+)\))?/i;

function timeOfDay(text: string, now: number): number | null {
  const found = DAY_TIME.exec(text);
  if (found === null) return null;
  const [, month, day, year, hour, minute, half, zoneName] = found;
  const hours = (Number(hour) % 12) + (half?.toLowerCase() === "p" ? 12 : 0);
  const zone = knownZone(zoneName);
  const today = wallClock(now, zone);
  if (month === undefined) {
    const at = (daysOn: number) =>
      instant({ ...today, day: today.day + daysOn, hours, minutes: Number(minute ?? 0) }, zone);
    return at(0) > now ? at(0) : at(1);
  }
  const monthIndex = MONTHS.indexOf(month.toLowerCase());
  if (monthIndex < 0) return null;
  const on = { month: monthIndex, day: Number(day), hours, minutes: Number(minute ?? 0) };
  if (year !== undefined) return instant({ ...on, year: Number(year) }, zone);
  // At the turn of the year, January is next year's.
  const thisYear = instant({ ...on, year: today.year }, zone);
  return thisYear > now ? thisYear : instant({ ...on, year: today.year + 1 }, zone);
}

interface WallClock {
  year: number;
  month: number;
  day: number;
  hours: number;
  minutes: number;
}

/** The clock of that zone at that moment; without a zone, the clock of this machine. */
function wallClock(at: number, zone: string | undefined): WallClock {
  const parts = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
  }).formatToParts(at);
  const value = (type: string) => Number(parts.find((part) => part.type === type)?.value);
  const [year, month, day] = [value("year"), value("month") - 1, value("day")];
  return { year, month, day, hours: value("hour"), minutes: value("minute") };
}

function instant(clock: WallClock, zone: string | undefined): number {
  const wanted = utc(clock);
  // The zone's distance from UTC can change between the guess and the answer, so look twice.
  let at = wanted;
  for (let i = 0; i < 2; i++) at += wanted - utc(wallClock(at, zone));
  return at;
}

function utc({ year, month, day, hours, minutes }: WallClock): number {
  return Date.UTC(year, month, day, hours, minutes);
}

function knownZone(name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  try {
    new Intl.DateTimeFormat("en-US", { timeZone: name });
    return name;
  } catch {
    return undefined; // unknown here: the clock of this machine is the best guess
  }
}
