import { spawn } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { messageOf } from "../base/errors.ts";
import { parseRecord } from "../base/json.ts";
import { counted } from "../base/text.ts";
import { createFileSynced, replaceFileUnsynced } from "../platform/files/atomic-write.ts";
import { codeOf } from "../platform/files/state-files.ts";
import type { HeldNotice, Receipt } from "./dance.ts";
import { json } from "./folder.ts";
import { oneLine } from "./warrant.ts";

type Notice = Receipt | HeldNotice;
type Delivery = Receipt["told"][number];

export interface NotifyOptions {
  /** The folder with a folder for each requester. */
  inbox: string;
  /** A shell command; the notice is on its stdin. */
  hook?: string;
  /** Where the hook runs. */
  cwd?: string;
  env?: Readonly<Record<string, string | undefined>>;
  /** An address that gets the same by POST. */
  webhook?: string;
  hookMs?: number;
  webhookMs?: number;
  /** Between the tries of the webhook. */
  pausesMs?: readonly number[];
}

const HOOK_MS = 30_000;
const WEBHOOK_MS = 10_000;
const PAUSES_MS = [1_000, 4_000];

/** Notifies the requester of a warrant by inbox, hook and webhook. Never rejects: errors are in the result. */
export function requesterNotifier(options: NotifyOptions): (notice: Notice) => Promise<Delivery[]> {
  const { inbox, hook, webhook } = options;
  return (notice) => {
    const ways = [delivery("inbox", () => writeToInbox(inbox, notice))];
    if (hook !== undefined) ways.push(delivery("hook", () => runHook(hook, notice, options)));
    if (webhook !== undefined) {
      ways.push(delivery("webhook", () => postTo(webhook, notice, options)));
    }
    return Promise.all(ways);
  };
}

async function delivery(by: Delivery["by"], act: () => Promise<void> | void): Promise<Delivery> {
  try {
    await act();
    return { by, trouble: null };
  } catch (error) {
    return { by, trouble: oneLine(reasonOf(error)) || "it failed without a message" };
  }
}

/** The reason of a failed fetch is in its cause. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  const why = cause instanceof Error ? `: ${codeOf(cause) ?? cause.message}` : "";
  return `${messageOf(error)}${why}`;
}

/** A requester's name may be anything; its folder's name is letters, digits and . _ - */
export function inboxName(requester: string): string {
  const safe = requester.replace(/[^A-Za-z0-9._-]+/g, "_").replace(/^\.+/, "_");
  return safe.slice(0, 100) || "unknown";
}

/**
 * A held notice replaces the one of the pause before: `ID.held.json`. A receipt replaces no other file: a
 * second one for a warrant has the dog in its name.
 */
function writeToInbox(inbox: string, notice: Notice): void {
  const { dog, warrant } = notice;
  const folder = join(inbox, inboxName(warrant.requester));
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (!("verdict" in notice)) {
    replaceFileUnsynced(join(folder, `${warrant.id}.held.json`), json(notice));
    return;
  }
  for (const name of [warrant.id, `${warrant.id}-${dog}`]) {
    const path = join(folder, `${name}.json`);
    try {
      createFileSynced(path, json(notice));
      return;
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
      if (dogIn(path) === dog) return;
    }
  }
  throw new Error(`${folder} has another ${warrant.id}.json`);
}

function dogIn(path: string): unknown {
  try {
    return parseRecord(readFileSync(path, "utf8"))?.dog;
  } catch {
    return null; // it is not ours
  }
}

const MAX_STDERR = 2_000;

function runHook(hook: string, notice: object, options: NotifyOptions): Promise<void> {
  const { cwd, env = process.env, hookMs = HOOK_MS } = options;
  return new Promise((resolve, reject) => {
    const child = spawn("/bin/sh", ["-c", hook], {
      detached: true,
      stdio: ["pipe", "ignore", "pipe"],
      env: { ...env },
      cwd,
    });
    let stderr = "";
    let isLate = false;
    const killAll = () => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
      } catch {
        // its group is empty
      }
    };
    const timer = setTimeout(() => {
      isLate = true;
      killAll();
    }, hookMs);
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr = (stderr + text).slice(-MAX_STDERR);
    });
    child.stdin.on("error", () => {}); // it need not read it
    child.stdin.end(`${JSON.stringify(notice)}\n`);
    child.on("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.on("exit", (status, signal) => {
      clearTimeout(timer);
      killAll(); // processes that it left behind
      setImmediate(() => {
        child.stderr.destroy();
        if (status === 0 && !isLate) return resolve();
        const late = isLate && `it did not end within ${hookMs / 1000} s`;
        const how = late || (signal ? `ended by ${signal}` : `exit ${status}`);
        reject(new Error(stderr.trim() === "" ? how : `${how}: ${stderr.trim()}`));
      });
    });
  });
}

async function postTo(address: string, notice: object, options: NotifyOptions): Promise<void> {
  if (!/^https?:\/\//i.test(address)) throw new Error("the webhook is no http or https address");
  const { pausesMs = PAUSES_MS } = options;
  for (let n = 0; ; n++) {
    try {
      return await postOnce(address, notice, options.webhookMs ?? WEBHOOK_MS);
    } catch (error) {
      const pause = pausesMs[n];
      if (error instanceof Refused) throw error;
      if (pause === undefined) throw new Error(`${counted(n + 1, "try")}: ${reasonOf(error)}`);
      await delay(pause);
    }
  }
}

/** Another try would change nothing. */
class Refused extends Error {}

/** fetch takes no `user:secret@`, and has the whole address in its error. */
function withoutSecret(address: string): { url: URL; authorization: Record<string, string> } {
  const url = new URL(address);
  const [user, secret] = [url.username, url.password].map(decodeURIComponent);
  if (!user && !secret) return { url, authorization: {} };
  url.username = "";
  url.password = "";
  const basic = Buffer.from(`${user}:${secret}`).toString("base64");
  return { url, authorization: { authorization: `Basic ${basic}` } };
}

async function postOnce(address: string, notice: object, timeoutMs: number): Promise<void> {
  const signal = AbortSignal.timeout(timeoutMs);
  const { url, authorization } = withoutSecret(address);
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...authorization },
    body: JSON.stringify(notice),
    redirect: "manual", // a POST that is sent on becomes a GET
    signal,
  });
  await response.body?.cancel();
  const { status } = response;
  if (response.ok) return;
  const isFinal = status < 500 && status !== 408 && status !== 429;
  throw isFinal ? new Refused(`status ${status}`) : new Error(`status ${status}`);
}
