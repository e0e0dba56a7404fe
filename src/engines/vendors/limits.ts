import { lastLines } from "../../base/text.ts";
import type { EngineExit, EngineOutcome, Waiting } from "../engine.ts";
import { believable, resetTime } from "./limits-reset.ts";
import { brief } from "./step-text.ts";

/** How an account is repaired; each vendor has its own words for it. */
export interface Vendor {
  name: string;
  login: string;
  credit: string;
  /** It calls a quota what is full again after a while, by itself. */
  quotasRefill?: boolean;
}

/** What a vendor said about why it does not go on. Never what a model said. */
export interface Complaint {
  message: string;
  /** The HTTP status, where the vendor gives it apart from the message. */
  status?: number | null;
  /** When it may be tried again, where the vendor gives it apart from the message. */
  until?: number | null;
}

type Cause = "session_lost" | "rate_limited" | "unavailable" | "quota" | "refused" | "unauthorized";

/** The first that fits is the cause: what is told apart by one more word comes earlier. */
const CAUSES: readonly (readonly [Cause, RegExp])[] = [
  [
    "session_lost",
    /no conversation found|no rollout found|rollout not found|thread not (?:found|loaded)|invalid session identifier|\bsession not found|no previous sessions found/i,
  ],
  // Google calls a limit per minute a quota; what is lifted by itself is a limit.
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

/** In the network, before any server has answered. */
const UNREACHABLE =
  /\b(?:ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)\b|connection (?:error|refused|failed|reset|closed)|(?:cannot|unable to|failed to) connect|error sending request|fetch failed|network error|socket hang up|stream disconnected/i;

/** The kind of failure; null when it is not a known one. */
export function recognise(complaint: Complaint, vendor: Vendor, now: number): EngineOutcome | null {
  const text = complaint.message.slice(0, 20_000);
  const status = complaint.status ?? statusIn(text);
  const found = causeOf(text, status);
  const refills = vendor.quotasRefill === true && found === "quota" && /quota/i.test(text);
  const cause = refills ? "rate_limited" : found;
  return cause === null ? null : outcome(cause, complaint, vendor, now);
}

function causeOf(text: string, status: number | null): Cause | null {
  for (const [cause, pattern] of CAUSES) if (pattern.test(text)) return cause;
  if (status !== null && status >= 500) return "unavailable";
  const known = status !== null && BY_STATUS[status];
  return known || (UNREACHABLE.test(text) ? "unavailable" : null);
}

/** The same for a vendor that names the cause itself. */
export function outcome(
  cause: Cause,
  complaint: Complaint,
  vendor: Vendor,
  now: number,
): EngineOutcome {
  const message = said(complaint.message, vendor);
  if (cause === "unauthorized") return { kind: cause, message, todo: vendor.login };
  if (cause === "quota") return { kind: cause, message, todo: vendor.credit };
  if (cause !== "rate_limited" && cause !== "unavailable") return { kind: cause, message };
  const until = believable(complaint.until ?? null, now) ?? resetTime(complaint.message, now);
  return { kind: cause, message, until: until === null ? null : new Date(until).toISOString() };
}

/** The HTTP status a message carries inside. */
function statusIn(text: string): number | null {
  const found =
    /(?:\b(?:API Error:?|status(?: code)?:?|last status:|HTTP)|"(?:code|status|statusCode)":)\s*\(?(\d{3})\b/i.exec(
      text,
    );
  return found === null ? null : Number(found[1]);
}

export function failed(message: string, vendor: Vendor): EngineOutcome {
  return { kind: "failed", message: said(message, vendor) };
}

/**
 * What a vendor waits for that tries again by itself. A cause that it does not name is a fault of the vendor
 * or of the network: for anything else it would not try again.
 */
export function waiting(complaint: Complaint, vendor: Vendor, now: number): Waiting {
  const known = recognise(complaint, vendor, now) ?? outcome("unavailable", complaint, vendor, now);
  return { outcome: known, isFinal: known.kind === "unauthorized" || known.kind === "quota" };
}

/** The outcome of the vendor's last message: a known cause, or a plain failure. */
export function outcomeOf(complaint: Complaint, vendor: Vendor, now: number): EngineOutcome {
  return recognise(complaint, vendor, now) ?? failed(complaint.message, vendor);
}

/**
 * The outcome of a run that never came to its last event. What the stream itself complained about
 * comes first; stderr is asked only when it was silent, for there a vendor also says what it has
 * got over.
 */
export function brokenOff(
  exit: EngineExit,
  complaints: readonly Complaint[],
  otherLines: readonly string[],
  vendor: Vendor,
  now: number,
): EngineOutcome {
  for (const complaint of complaints) {
    const known = recognise(complaint, vendor, now);
    if (known !== null) return known;
  }
  if (exit.wasEnded) {
    return { kind: "cut_off", message: `${vendor.name} was ended before it was done` };
  }
  const last = lastLines(exit.stderr, 8);
  const errors = last.length > 0 ? last : otherLines;
  const message = complaints[0]?.message ?? errors.slice(-2).join(" ");
  const reason = message === "" ? "" : `: ${message}`;
  if (exit.exit === 0) {
    return {
      kind: "cut_off",
      message: brief(`${vendor.name} ended without its last event${reason}`, MAX_MESSAGE),
    };
  }
  const known =
    complaints.length === 0 ? recognise({ message: errors.join("\n") }, vendor, now) : null;
  // What else it said there may be about anything: that some server of the user's is down, say.
  if (known !== null && known.kind !== "unavailable") return known;
  const how = exit.signal === null ? `exited with ${exit.exit}` : `was ended by ${exit.signal}`;
  return failed(`${how}${reason}`, vendor);
}

const MAX_MESSAGE = 500;

function said(message: string, vendor: Vendor): string {
  return brief(
    message === "" ? `${vendor.name} failed` : `${vendor.name}: ${message}`,
    MAX_MESSAGE,
  );
}
