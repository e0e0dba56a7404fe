import { APICallError } from "ai";
import type { EngineOutcome } from "../engine.ts";
import { brief } from "../vendors/event-reader.ts";

/**
 * What a failed call means. `limited`: later, and `until` when is known. `again`: the same call may
 * well succeed. `too_long`: a shorter conversation may. `end`: no call will.
 */
export type CallFailure =
  | { kind: "limited"; message: string; until: number | null }
  /** `isTheirs`: the vendor failed, or cannot be reached. */
  | { kind: "again"; message: string; isTheirs?: boolean }
  | { kind: "too_long"; message: string }
  | { kind: "end"; outcome: Exclude<EngineOutcome, { kind: "done" }> };

export interface Call {
  model: string;
  url: string;
  /** Null when there is none. */
  keyEnv: string | null;
  now: number;
}

const NO_CREDIT =
  /insufficient_quota|insufficient[ _]credit|credit balance is too low|exceeded your current quota|billing_error|payment required/i;
const TOO_LONG =
  /prompt is too long|context[_ ]length|maximum context|context window|request_too_large|too many (input )?tokens|exceeds the (available )?context/i;
const THEIRS =
  /overloaded|cannot connect|ECONN\w+|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ETIMEDOUT|fetch failed/i;
/** Words of the vendors for an error that comes in the middle of a stream, without a status. */
const STATUS_OF: Readonly<Record<string, number>> = {
  authentication_error: 401,
  permission_error: 403,
  not_found_error: 404,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  invalid_request_error: 400,
};

export function classify(error: unknown, call: Call): CallFailure {
  const fact = factsOf(error);
  const { status } = fact;
  const message = brief(status === null ? fact.message : `HTTP ${status}: ${fact.message}`, 500);
  const where = call.keyEnv === null ? call.url : `the key in ${call.keyEnv}, for ${call.url}`;
  if (status === 402 || NO_CREDIT.test(fact.all)) {
    const todo = `Add credit to the account of ${where}, or raise its limit.`;
    return { kind: "end", outcome: { kind: "quota", message, todo } };
  }
  if (status === 401 || status === 403) {
    const todo =
      call.keyEnv === null
        ? `${call.url} wants a key: put one into a variable, and name it as key_env in viv.toml.`
        : `Check the key in ${call.keyEnv}: ${call.url} does not accept it for ${call.model}.`;
    return { kind: "end", outcome: { kind: "unauthorized", message, todo } };
  }
  if (status === 429 || status === 529) {
    return { kind: "limited", message, until: resetTime(fact.headers, call.now) };
  }
  if ((status === 400 || status === 413) && TOO_LONG.test(fact.all)) {
    return { kind: "too_long", message };
  }
  if (status === 404) {
    const what = `${call.url} does not know the model ${call.model}: ${message}`;
    return { kind: "end", outcome: { kind: "refused", message: brief(what, 500) } };
  }
  const isOurFault = status !== null && status >= 400 && status < 500;
  if (isOurFault && ![408, 409, 425].includes(status)) {
    return { kind: "end", outcome: { kind: "refused", message } };
  }
  return { kind: "again", message, isTheirs: (status ?? 0) >= 500 || THEIRS.test(fact.all) };
}

interface Facts {
  status: number | null;
  message: string;
  headers: Readonly<Record<string, string>>;
  /** Everything it says, to look for words in. */
  all: string;
}

function factsOf(error: unknown): Facts {
  const message = messageOf(error);
  if (APICallError.isInstance(error)) {
    const all = `${message} ${error.responseBody ?? ""}`;
    // An answer that began well and could not be read is a cut stream, whatever its status.
    const told = error.statusCode !== undefined && error.statusCode >= 400;
    const status = told ? (error.statusCode ?? null) : null;
    return {
      status: statusIn(error.responseBody) ?? status,
      message,
      headers: error.responseHeaders ?? {},
      all,
    };
  }
  const { type, code } = (error ?? {}) as { type?: unknown; code?: unknown };
  const status = STATUS_OF[String(code)] ?? STATUS_OF[String(type)] ?? null;
  return { status, message, headers: {}, all: `${message} ${String(type)} ${String(code)}` };
}

/** The first event of a stream may be an error; the package then says 500 whatever it is. */
function statusIn(body: string | undefined): number | null {
  try {
    const { type } = JSON.parse(body ?? "") as { type?: unknown };
    return STATUS_OF[String(type)] ?? null;
  } catch {
    return null; // a page in HTML, or nothing: the status says enough
  }
}

/** Thrown where it is known how the run ends; caught where the result is made. */
export class Ended extends Error {
  readonly outcome: Exclude<EngineOutcome, { kind: "done" }>;

  constructor(outcome: Exclude<EngineOutcome, { kind: "done" }>) {
    super(outcome.message);
    this.outcome = outcome;
  }
}

/** Any failure as words. */
export function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message || error.name;
  if (typeof error === "string") return error;
  const message = (error as { message?: unknown } | null | undefined)?.message;
  if (typeof message === "string") return message;
  try {
    return JSON.stringify(error) ?? String(error);
  } catch {
    return "an error that cannot be shown"; // it contains itself
  }
}

type Headers = Readonly<Record<string, string>>;

/** When a limit is over, by what the answer says; null when it does not. */
export function resetTime(headers: Headers, now: number): number | null {
  return retryAfter(headers, now) ?? anthropicReset(headers) ?? openaiReset(headers, now);
}

function retryAfter(headers: Headers, now: number): number | null {
  const ms = Number.parseFloat(headers["retry-after-ms"] ?? "");
  if (ms >= 0) return now + ms;
  const text = headers["retry-after"]?.trim() ?? "";
  if (/^\d+(\.\d+)?$/.test(text)) return now + Number(text) * 1000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : at;
}

/** Several limits are told; those with nothing remaining are the ones that were hit. */
function anthropicReset(headers: Headers): number | null {
  const times = Object.keys(headers)
    .filter((name) => /^anthropic-ratelimit-.*-remaining$/.test(name) && headers[name] === "0")
    .map((name) => Date.parse(headers[name.replace(/remaining$/, "reset")] ?? ""));
  return latest(times);
}

function openaiReset(headers: Headers, now: number): number | null {
  const times = ["requests", "tokens"]
    .filter((what) => headers[`x-ratelimit-remaining-${what}`] === "0")
    .map((what) => now + spanOf(headers[`x-ratelimit-reset-${what}`] ?? ""));
  return latest(times);
}

const UNIT_MS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `6m0s`, `1.5s`, `20ms`. */
function spanOf(text: string): number {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)];
  if (parts.length === 0) return Number.NaN;
  return parts.reduce((sum, [, n, unit]) => sum + Number(n) * (UNIT_MS[unit ?? ""] ?? 0), 0);
}

function latest(times: number[]): number | null {
  const known = times.filter((time) => Number.isFinite(time));
  return known.length === 0 ? null : Math.max(...known);
}
