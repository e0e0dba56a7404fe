import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { replaceFileUnsynced } from "../platform/files/atomic-write.ts";
import { codeOf } from "../platform/files/state-files.ts";
import type { HeldNotice, Receipt } from "./dance.ts";
import { oneLine } from "./warrant.ts";

/** Who asked for a warrant is told what came of it. Nothing of it throws: trouble is written down. */
export interface Requesters {
  tell(receipt: Receipt): Promise<Told[]>;
  /** An execution waits for a person. */
  tellHeld(notice: HeldNotice): Promise<Told[]>;
}

export type Told = Receipt["told"][number];

export interface RequesterOptions {
  /** The folder with a folder for each of them. */
  inbox: string;
  /** A shell command; the receipt, or the notice, is on its stdin. */
  hook?: string;
  /** Where it runs. */
  cwd?: string;
  env?: Readonly<Record<string, string | undefined>>;
  /** Gets the same by POST. */
  webhook?: string;
  hookMs?: number;
  webhookMs?: number;
  /** Between the tries of the webhook: one less than there are tries. */
  pausesMs?: readonly number[];
}

const HOOK_MS = 30_000;
const WEBHOOK_MS = 10_000;
const PAUSES_MS = [1_000, 4_000];

export function requestersBy(options: RequesterOptions): Requesters {
  const { inbox, hook, webhook } = options;
  const tell = (what: Receipt | HeldNotice, leave: () => void) => {
    const ways: Promise<Told>[] = [told("inbox", leave)];
    if (hook !== undefined) ways.push(told("hook", () => runHook(hook, what, options)));
    if (webhook !== undefined) ways.push(told("webhook", () => postTo(webhook, what, options)));
    return Promise.all(ways);
  };
  return {
    tell: (receipt) => tell(receipt, () => leaveIn(inbox, receipt)),
    tellHeld: (notice) => tell(notice, () => leaveNotice(inbox, notice)),
  };
}

async function told(by: Told["by"], act: () => Promise<void> | void): Promise<Told> {
  try {
    await act();
    return { by, trouble: null };
  } catch (error) {
    return { by, trouble: oneLine(reasonOf(error)) || "it failed without a word" };
  }
}

/** fetch says only that it failed; why is in the cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (cause instanceof Error) return `${error.message}: ${codeOf(cause) ?? cause.message}`;
  return error.message;
}

/** A requester's name may be anything; its folder's name is letters, digits and . _ - */
export function inboxName(requester: string): string {
  const safe = requester.replace(/[^A-Za-z0-9._-]+/g, "_").replace(/^\.+/, "_");
  return safe.slice(0, 100) || "unknown";
}

/** One for each warrant, the last pause's: `ID.held.json`, beside where its receipt will be. */
function leaveNotice(inbox: string, notice: HeldNotice): void {
  const folder = join(inbox, inboxName(notice.warrant.requester));
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  replaceFileUnsynced(
    join(folder, `${notice.warrant.id}.held.json`),
    `${JSON.stringify(notice, null, 2)}\n`,
  );
}

/** Never over another: a second file for a warrant has the dog in its name. */
function leaveIn(inbox: string, receipt: Receipt): void {
  const folder = join(inbox, inboxName(receipt.warrant.requester));
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const hidden = join(folder, `.${receipt.warrant.id}.${randomBytes(4).toString("hex")}`);
  try {
    writeFileSync(hidden, `${JSON.stringify(receipt, null, 2)}\n`, { flag: "wx", mode: 0o600 });
    for (const name of [receipt.warrant.id, `${receipt.warrant.id}-${receipt.dog}`]) {
      const path = join(folder, `${name}.json`);
      if (linked(hidden, path) || dogIn(path) === receipt.dog) return;
    }
    throw new Error(`${folder} has another ${receipt.warrant.id}.json`);
  } finally {
    rmSync(hidden, { force: true });
  }
}

function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}

function dogIn(path: string): unknown {
  try {
    return (JSON.parse(readFileSync(path, "utf8")) as Receipt).dog;
  } catch {
    return null; // whatever it is, it is not ours
  }
}

const MAX_WORDS = 2_000;

function runHook(hook: string, what: object, options: RequesterOptions): Promise<void> {
  const { cwd, env = process.env, hookMs = HOOK_MS } = options;
  return new Promise((resolve, reject) => {
    const child = spawn("/bin/sh", ["-c", hook], {
      detached: true,
      stdio: ["pipe", "ignore", "pipe"],
      env: { ...env },
      ...(cwd === undefined ? {} : { cwd }),
    });
    let words = "";
    let isLate = false;
    const killAll = () => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
      } catch {
        // nobody of its group is left
      }
    };
    const timer = setTimeout(() => {
      isLate = true;
      killAll();
    }, hookMs);
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      words = (words + text).slice(-MAX_WORDS);
    });
    child.stdin.on("error", () => {}); // it need not read it
    child.stdin.end(`${JSON.stringify(what)}\n`);
    child.on("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.on("exit", (status, signal) => {
      clearTimeout(timer);
      killAll(); // what it left behind
      setImmediate(() => {
        child.stderr.destroy();
        const how = isLate
          ? `it did not end within ${hookMs / 1000} s`
          : signal
            ? `ended by ${signal}`
            : `exit ${status}`;
        if (status === 0 && !isLate) return resolve();
        reject(new Error(words.trim() === "" ? how : `${how}: ${words.trim()}`));
      });
    });
  });
}

async function postTo(address: string, what: object, options: RequesterOptions): Promise<void> {
  if (!/^https?:\/\//i.test(address)) throw new Error("the webhook is no http or https address");
  const { pausesMs = PAUSES_MS } = options;
  for (let n = 0; ; n++) {
    try {
      return await postOnce(address, what, options.webhookMs ?? WEBHOOK_MS);
    } catch (error) {
      const pause = pausesMs[n];
      if (error instanceof Refused) throw error;
      if (pause === undefined) {
        throw new Error(`${n + 1} tries: ${reasonOf(error)}`, { cause: undefined });
      }
      await delay(pause);
    }
  }
}

/** To say it again changes nothing. */
class Refused extends Error {}

/** fetch takes no `user:secret@`, and says the whole address in its complaint. */
function withoutSecret(address: string): { url: URL; authorization: Record<string, string> } {
  const url = new URL(address);
  const [user, secret] = [url.username, url.password].map(decodeURIComponent);
  if (!user && !secret) return { url, authorization: {} };
  url.username = "";
  url.password = "";
  const basic = Buffer.from(`${user}:${secret}`).toString("base64");
  return { url, authorization: { authorization: `Basic ${basic}` } };
}

async function postOnce(address: string, what: object, timeoutMs: number): Promise<void> {
  const signal = AbortSignal.timeout(timeoutMs);
  const { url, authorization } = withoutSecret(address);
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...authorization },
    body: JSON.stringify(what),
    redirect: "manual", // a POST that is sent on becomes a GET
    signal,
  });
  await response.body?.cancel();
  const { status } = response;
  if (response.ok) return;
  const isFinal = status < 500 && status !== 408 && status !== 429;
  throw isFinal ? new Refused(`status ${status}`) : new Error(`status ${status}`);
}
