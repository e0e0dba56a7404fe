import type * as z from "zod/mini";
import { messageOf, VivError } from "../../base/errors.ts";
import { lastLines } from "../../base/text.ts";
import type { ProgramAnswer } from "../../platform/processes/ask-program.ts";
import { type ForgeHost, type ForgeName, held, type Place } from "./forge.ts";
import { redacted } from "./redact.ts";

/**
 * Both programs have `api`, with the same flags and the same form of answer: the status line and the
 * headers, an empty line, the body. So one function asks, and reads what went wrong. Values of others
 * are in the body (standard input) or encoded in the path; none becomes a flag.
 */
export interface Api {
  get(path: string): Promise<unknown>;
  /** All items of a list that count, page by page, at most `limit`. */
  list(path: string, limit?: number, isCounted?: (item: unknown) => boolean): Promise<unknown[]>;
  post(path: string, body: unknown): Promise<unknown>;
}

const PAGE = 100;
const MOST_ITEMS = 5_000;

export function apiOf(
  host: ForgeHost,
  name: ForgeName,
  { host: hostname }: Place,
  cwd: string,
): Api {
  const ask = async (method: "GET" | "POST", path: string, body?: unknown) => {
    const program = host.find(name);
    if (program === null) throw notInstalled(name);
    const at = whereOf(name, hostname);
    const flags = [
      ...[`--method=${method}`, "--include", ...at.flags],
      ...(body === undefined ? [] : ["--header=Content-Type: application/json", "--input=-"]),
    ];
    const stdin = body === undefined ? "" : JSON.stringify(body);
    const answer = await host
      .run({ argv: [program, "api", ...flags, path], cwd, stdin, env: at.env })
      .catch((error: unknown) => {
        throw held(`${name} cannot be started: ${messageOf(error)}.`);
      });
    return read(name, answer, { isChange: method === "POST", host });
  };
  const get = (path: string) => ask("GET", path);
  return {
    get,
    post: (path, body) => ask("POST", path, body),
    async list(path, limit = MOST_ITEMS, isCounted = () => true) {
      const items: unknown[] = [];
      for (let page = 1; items.length < limit; page++) {
        const more = path.includes("?") ? "&" : "?";
        const found = await get(`${path}${more}per_page=${PAGE}&page=${page}`);
        if (!Array.isArray(found)) throw noAnswer(name, "no list", false);
        items.push(...found.filter(isCounted));
        if (found.length < PAGE) break;
      }
      return items.slice(0, limit);
    },
  };
}

/** Neither program takes a port in --hostname; glab takes it in its variable, gh nowhere. */
function whereOf(name: ForgeName, hostname: string | null) {
  if (hostname === null) return { flags: [], env: {} };
  if (!hostname.includes(":")) return { flags: [`--hostname=${hostname}`], env: {} };
  if (name === "glab") return { flags: [], env: { GITLAB_HOST: hostname } };
  const [bare] = hostname.split(":");
  throw new VivError(
    "INVALID",
    `gh cannot speak to ${hostname}: it takes no port; name the repository without it, like repo = "${bare}/owner/name" in [merge].`,
  );
}

/** The answer in its form; held when it is another. */
export function shaped<T>(name: ForgeName, schema: z.ZodMiniType<T>, value: unknown): T {
  const { data, success } = schema.safeParse(value);
  if (!success) throw noAnswer(name, "another form of JSON than it should", false);
  return data;
}

export function notInstalled(name: ForgeName): VivError {
  return held(`${name} is not installed; install it and log in with: ${name} auth login`);
}

const RESPONSE = /^HTTP\/[\d.]+ (\d{3})[^\n]*\n((?:[^\r\n]+\r?\n)*)(?:\r?\n|$)/;

interface Asked {
  isChange: boolean;
  host: ForgeHost;
}

function read(name: ForgeName, answer: ProgramAnswer, { isChange, host }: Asked): unknown {
  const { cut, stdout, stderr } = answer;
  if (cut === "time") {
    throw held(`${name} did not answer in time; check the network.`, { unsure: isChange });
  }
  const [head, code, headers = ""] = RESPONSE.exec(stdout) ?? [];
  if (head === undefined || cut === "size") throw silent(name, answer, isChange, host);
  const status = Number(code);
  const body = parsed(stdout.slice(head.length));
  if (status === 401) throw notLoggedIn(name);
  const until = limitedUntil(status, headers, body, host.now());
  if (until !== null) {
    throw held(`${name} has used up its rate limit; it is open again at ${until}.`, { until });
  }
  if (status >= 500) {
    throw held(`the forge has an error of its own (HTTP ${status}).`, { unsure: isChange });
  }
  if (status >= 300) throw refused(name, status, body, stderr, host);
  if (body === undefined) throw noAnswer(name, "no JSON", isChange);
  return body;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const NO_LOGIN =
  /auth(?:entication)?[ _]?(?:login|required|token)|not logged in|GH_TOKEN|GITLAB_TOKEN/i;
const NO_NETWORK =
  /error connecting|dial tcp|no such host|could not resolve|connection (?:refused|reset)|unreachable|TLS|timeout|timed out|EOF|no route/i;
/** gh's exit for "needs a login". */
const GH_LOGIN = 4;

/** The program ended without an answer of the forge. */
function silent(
  name: ForgeName,
  { status, stderr, stdout }: ProgramAnswer,
  isChange: boolean,
  host: ForgeHost,
): VivError {
  if ((name === "gh" && status === GH_LOGIN) || NO_LOGIN.test(stderr)) return notLoggedIn(name);
  const said = redacted(reasonIn(stderr), host.env);
  if (NO_NETWORK.test(stderr)) {
    const first = redacted(lastLines(stderr, 100)[0] ?? said, host.env);
    return held(`${name} cannot reach the forge (${first}).`, { unsure: isChange });
  }
  if (status === 0 || stdout !== "") return noAnswer(name, "an answer that it cannot be", isChange);
  return held(`${name} ended with ${status ?? "a signal"}${said && `: ${said}`}.`, {
    unsure: isChange,
  });
}

/** Its last line; the first where its usage follows. */
function reasonIn(stderr: string): string {
  const [before = "", usage] = stderr.split(/^usage:/im);
  return (usage === undefined ? lastLines(stderr, 1)[0] : lastLines(before, 100)[0]) ?? "";
}

function notLoggedIn(name: ForgeName): VivError {
  return held(`${name} is not logged in; run: ${name} auth login`, {
    command: `${name} auth login`,
  });
}

function noAnswer(name: ForgeName, what: string, unsure: boolean): VivError {
  return held(`${name} answered with ${what}; try again later.`, { unsure });
}

/** When a limit of requests ends; null when there is none. */
function limitedUntil(status: number, headers: string, body: unknown, now: number): string | null {
  const header = (key: string) =>
    headers.match(new RegExp(`^${key}: *([^\\r\\n]+)`, "im"))?.[1]?.trim();
  const said = JSON.stringify(body ?? "");
  const isLimit =
    status === 429 ||
    /"type":"RATE_LIMITED"/.test(said) ||
    (status === 403 && (header("x-ratelimit-remaining") === "0" || /rate limit/i.test(said)));
  if (!isLimit) return null;
  const after = Number(header("retry-after"));
  const reset = Number(header("x-ratelimit-reset") ?? header("ratelimit-reset"));
  const at = after > 0 ? now + after * 1000 : reset * 1000;
  // Without a time, or with one of another clock: a minute, and no more than a day.
  const isFit = at > now && at < now + 86_400_000;
  return new Date(isFit ? at : now + 60_000).toISOString();
}

function refused(
  name: ForgeName,
  status: number,
  body: unknown,
  stderr: string,
  host: ForgeHost,
): VivError {
  const { message, error, errors } = (body ?? {}) as Record<string, unknown>;
  const details = Array.isArray(errors) ? errors.map(textOfError).filter(Boolean) : [];
  const texts = [message ?? error, ...details].map((one) => textOfError(one)).filter(Boolean);
  // glab fails to print a reason that is a list or a table, and says so instead.
  const printed = reasonIn(stderr).replace(/^json: cannot unmarshal.*/, "");
  const said = redacted(texts.join("; ") || printed || "no reason", host.env);
  const hint = status === 404 ? "; the repository is not there, or not for this login" : "";
  const words = `${name}: the forge refused it (HTTP ${status}): ${said}${hint}.`;
  return new VivError("INVALID", words, { status, said });
}

function textOfError(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return "";
  const { message } = value as { message?: unknown };
  return typeof message === "string" ? message : JSON.stringify(value);
}
