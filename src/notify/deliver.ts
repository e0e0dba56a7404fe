import { resolve } from "node:path";
import { messageOf } from "../base/errors.ts";
import { isRecord, parseRecord } from "../base/json.ts";
import { oneLine } from "../base/text.ts";
import { type PostEnd, post } from "../platform/post.ts";
import { runHook } from "../platform/processes/hook.ts";
import { isAddress, type Secret, type Target } from "./config.ts";
import type { Said } from "./message.ts";
import type { Attempted } from "./plan.ts";
import {
  desktopCommand,
  eventEnv,
  type HttpWay,
  ntfyRequest,
  payloadOf,
  type Request,
  slackRequest,
  telegramRequest,
  webhookRequest,
} from "./services.ts";

export interface DeliverOptions {
  env: Readonly<Record<string, string | undefined>>;
  /** Where commands run, and their paths begin. */
  folder: string;
  now(): number;
  postMs?: number;
  commandMs?: number;
  platform?: string;
}

const POST_MS = 15_000;
const COMMAND_MS = 30_000;
const MAX_REASON = 300;

/** Sends one message to its target. Never rejects; no secret is in the reason. */
export async function deliver(
  target: Target,
  said: Said,
  options: DeliverOptions,
): Promise<Attempted> {
  const { way } = target;
  try {
    if (way.kind === "command") {
      const [program = "", ...args] = way.argv;
      const path = program.includes("/") ? resolve(options.folder, program) : program;
      return await runCommand([path, ...args], said, options);
    }
    if (way.kind === "desktop") {
      return await runCommand(
        desktopCommand(said, options.platform ?? process.platform),
        said,
        options,
      );
    }
    return await postTo(way, said, options);
  } catch (error) {
    // A variable that is not set, an address that is none: another try would be the same.
    const why = messageOf(error);
    return { kind: "refused", reason: oneLine(why, MAX_REASON) };
  }
}

async function runCommand(
  argv: readonly string[],
  said: Said,
  { env, folder, commandMs = COMMAND_MS }: DeliverOptions,
): Promise<Attempted> {
  const ended = await runHook({
    argv,
    stdin: `${JSON.stringify(payloadOf(said))}\n`,
    cwd: folder,
    env: { ...env, ...eventEnv(said) },
    timeoutMs: commandMs,
  });
  if (ended.kind === "done") return { kind: "sent" };
  const reason = oneLine(ended.why, MAX_REASON);
  if (ended.kind === "late") return { kind: "unsure", reason };
  return { kind: ended.kind === "failed" ? "again" : "refused", reason };
}

async function postTo(way: HttpWay, said: Said, options: DeliverOptions): Promise<Attempted> {
  const { now, postMs = POST_MS } = options;
  const secrets: string[] = [];
  const reveal = (secret: Secret): string => {
    const value = "text" in secret ? secret.text : options.env[secret.env];
    if (value === undefined || value === "") {
      const name = "env" in secret ? secret.env : "";
      throw new Error(`the environment variable ${name} is not set in the process that sends`);
    }
    secrets.push(value);
    return value;
  };
  const { url, headers, body } = requestFor(way, said, reveal, now());
  if (!isAddress(url))
    throw new Error(`the address of ${way.kind} does not begin with http:// or https://`);
  const ended = await post(new URL(url), { headers, body, timeoutMs: postMs });
  return judged(way, ended, now(), (text) => withoutSecrets(text, secrets));
}

function requestFor(
  way: HttpWay,
  said: Said,
  reveal: (secret: Secret) => string,
  now: number,
): Request {
  const optional = (secret: Secret | undefined) => secret && reveal(secret);
  switch (way.kind) {
    case "webhook":
      return webhookRequest(said, { url: reveal(way.url), secret: optional(way.secret), now });
    case "slack":
      return slackRequest(said, reveal(way.url));
    case "telegram":
      return telegramRequest(said, { ...way, token: reveal(way.token) });
    case "ntfy":
      return ntfyRequest(said, { ...way, token: optional(way.token) });
  }
}

/** What an answer, or the lack of one, means for the message. */
function judged(
  way: HttpWay,
  ended: PostEnd,
  now: number,
  clean: (text: string) => string,
): Attempted {
  if (ended.kind !== "answered") {
    const reason = clean(ended.why);
    return { kind: ended.kind === "unsent" ? "again" : "unsure", reason };
  }
  const { status, body } = ended;
  if (status >= 200 && status < 300) return { kind: "sent" };
  const said = clean(answerOf(body));
  const reason = said === "" ? `status ${status}` : `status ${status}: ${said}`;
  if (status >= 300 && status < 400) {
    return { kind: "refused", reason: `${reason} (a redirect is not followed)` };
  }
  if (status < 500 && status !== 408 && status !== 425 && status !== 429) {
    return { kind: "refused", reason };
  }
  const asked = way.kind === "telegram" ? telegramWait(body) : undefined;
  return { kind: "again", reason, waitMs: asked ?? waitOf(ended.retryAfter, now) };
}

/** One line of it: Slack's is a word, Telegram's and ntfy's are in JSON. */
function answerOf(body: string): string {
  const { description, error } = parseRecord(body) ?? {};
  const told = [description, error].find((one) => typeof one === "string");
  return told ?? (/^\s*</.test(body) ? "" : body);
}

/** Seconds, or a date. */
export function waitOf(retryAfter: string | null, now: number): number | undefined {
  if (retryAfter === null) return undefined;
  if (/^\s*\d+(\.\d+)?\s*$/.test(retryAfter)) return Number(retryAfter) * 1000;
  const at = Date.parse(retryAfter);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}

function telegramWait(body: string): number | undefined {
  const parameters = parseRecord(body)?.parameters;
  const seconds = isRecord(parameters) ? parameters.retry_after : undefined;
  return typeof seconds === "number" ? seconds * 1000 : undefined;
}

function withoutSecrets(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) clean = clean.replaceAll(secret, "…");
  return oneLine(clean, MAX_REASON);
}
