import { APICallError } from "ai";
import type { EngineOutcome } from "../engine.ts";
import { brief } from "../vendors/json-line-steps.ts";
import { messageOf } from "./message-of.ts";
import { resetTime } from "./reset-time.ts";

/**
 * What a failed call means. `limited`: later, and `until` when is known. `again`: the same call may
 * well succeed. `too_long`: a shorter conversation may. `end`: no call will.
 */
export type Trouble =
  | { kind: "limited"; message: string; until: number | null }
  /** `isTheirs`: the vendor has trouble, or cannot be reached. */
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

export function classify(error: unknown, call: Call): Trouble {
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
