import { APICallError } from "ai";
import { counted } from "../../base/text.ts";
import type { EngineOutcome } from "../engine.ts";
import { brief } from "../vendors/event-reader.ts";
import { lengthOf } from "../vendors/limits.ts";

type Failed = Exclude<EngineOutcome, { kind: "done" }>;

/**
 * The meaning of a failed call. `limited`: it may succeed later. `again`: it may succeed as it is; with
 * `isTheirs` the vendor failed, or cannot be reached. `too_long`: a shorter one may succeed. `end`: none
 * will.
 */
export type CallFailure =
  | { kind: "limited"; message: string; until: number | null }
  | { kind: "again"; message: string; isTheirs?: boolean }
  | { kind: "too_long"; message: string }
  | { kind: "end"; outcome: Failed };

export interface Call {
  model: string;
  url: string;
  keyEnv: string | null;
  now: number;
}

const NO_CREDIT =
  /insufficient_quota|insufficient[ _]credit|credit balance is too low|exceeded your current quota|billing_error|payment required/i;
const TOO_LONG =
  /prompt is too long|context[_ ]length|maximum context|context window|request_too_large|too many (input )?tokens|exceeds the (available )?context/i;
const THEIRS =
  /overloaded|cannot connect|ECONN\w+|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ETIMEDOUT|fetch failed/i;
/** Words of the vendors for an error in the middle of a stream, without a status. */
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
  const text = messageOf(error);
  const message = brief(status === null ? text : `HTTP ${status}: ${text}`, 500);
  const where = call.keyEnv === null ? call.url : `the key in ${call.keyEnv}, for ${call.url}`;
  if (status === 402 || NO_CREDIT.test(fact.all)) {
    const todo = `Add credit to the account of ${where}, or raise its limit.`;
    return { kind: "end", outcome: { kind: "quota", message, todo } };
  }
  if (status === 401 || status === 403) {
    const todo =
      call.keyEnv === null
        ? `${call.url} needs a key: put one into a variable, and name it as key_env in viv.toml.`
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
  headers: Headers;
  all: string;
}

function factsOf(error: unknown): Facts {
  const message = messageOf(error);
  if (APICallError.isInstance(error)) {
    const { statusCode = 0, responseBody = "", responseHeaders = {} } = error;
    // An answer that began well and could not be read is a cut stream, whatever its status.
    const status = statusIn(responseBody) ?? (statusCode >= 400 ? statusCode : null);
    return { status, headers: responseHeaders, all: `${message} ${responseBody}` };
  }
  const { type, code } = (error ?? {}) as { type?: unknown; code?: unknown };
  const status = STATUS_OF[String(code)] ?? STATUS_OF[String(type)] ?? null;
  return { status, headers: {}, all: `${message} ${String(type)} ${String(code)}` };
}

/** The first event of a stream may be an error; the package reports each of these as 500. */
function statusIn(body: string): number | null {
  try {
    const { type } = JSON.parse(body) as { type?: unknown };
    return STATUS_OF[String(type)] ?? null;
  } catch {
    return null; // a page in HTML, or nothing: the status is enough
  }
}

/** Thrown with the outcome of the run; caught where the result is made. */
export class Ended extends Error {
  readonly outcome: Failed;

  constructor(outcome: Failed) {
    super(outcome.message);
    this.outcome = outcome;
  }
}

/** The message of any thrown value. */
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

/** The end of a limit, by the headers of the answer; null: they have none. */
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

/** Of several limits, those with nothing remaining were hit. */
function anthropicReset(headers: Headers): number | null {
  const times = Object.keys(headers)
    .filter((name) => /^anthropic-ratelimit-.*-remaining$/.test(name) && headers[name] === "0")
    .map((name) => Date.parse(headers[name.replace(/remaining$/, "reset")] ?? ""));
  return latest(times);
}

function openaiReset(headers: Headers, now: number): number | null {
  const times = ["requests", "tokens"]
    .filter((what) => headers[`x-ratelimit-remaining-${what}`] === "0")
    .map((what) => now + (lengthOf(headers[`x-ratelimit-reset-${what}`] ?? "") ?? Number.NaN));
  return latest(times);
}

function latest(times: number[]): number | null {
  const known = times.filter((time) => Number.isFinite(time));
  return known.length === 0 ? null : Math.max(...known);
}

export interface RetryOptions {
  /** The first pause, which doubles. */
  retryMs: number;
  now(): number;
  sleep(ms: number): Promise<void>;
  onAgain(message: string): void;
  /** Makes the conversation shorter; false when it cannot. */
  shorten(): boolean;
}

/** A limit that ends within this is awaited. */
const WAIT_MS = 30_000;
const MOST_RETRIES = 3;
const MOST_WAITS = 2;
const MOST_SHORTENINGS = 3;

/** Makes one call, and repeats it where that may help. Throws Ended when it does not. */
export async function callWithRetries<T>(
  call: () => Promise<T>,
  judge: (error: unknown) => CallFailure,
  options: RetryOptions,
): Promise<T> {
  let retries = 0;
  let waits = 0;
  let shortenings = 0;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (error instanceof Ended) throw error;
      const failure = judge(error);
      switch (failure.kind) {
        case "end":
          throw new Ended(failure.outcome);
        case "limited": {
          const { message, until } = failure;
          const pause = until === null ? Infinity : until - options.now();
          if (pause > WAIT_MS || ++waits > MOST_WAITS) {
            const time = until === null ? null : new Date(until).toISOString();
            throw new Ended({ kind: "rate_limited", message, until: time });
          }
          options.onAgain(`${failure.message}; waiting ${seconds(pause)}`);
          await options.sleep(Math.max(0, pause));
          break;
        }
        case "again": {
          if (++retries > MOST_RETRIES) {
            const message = `${failure.message} (tried ${counted(retries, "time")})`;
            if (failure.isTheirs) throw new Ended({ kind: "unavailable", message, until: null });
            throw new Ended({ kind: "failed", message });
          }
          const pause = options.retryMs * 2 ** (retries - 1);
          const next = `trying again in ${seconds(pause)} (${retries} of ${MOST_RETRIES})`;
          options.onAgain(`${failure.message}; ${next}`);
          await options.sleep(pause);
          break;
        }
        case "too_long":
          if (++shortenings > MOST_SHORTENINGS || !options.shorten()) {
            const message = `${failure.message}: set context_tokens to the size of the model's window`;
            throw new Ended({ kind: "refused", message });
          }
          options.onAgain(`${failure.message}; shortening the conversation`);
      }
    }
  }
}

const seconds = (ms: number) => `${Math.max(0, Math.round(ms / 100) / 10)} s`;
