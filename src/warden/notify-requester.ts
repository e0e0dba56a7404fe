import { spawn } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createFileSynced, replaceFileUnsynced } from "../platform/files/atomic-write.ts";
import { codeOf } from "../platform/files/state-files.ts";
import type { HeldNotice, Receipt } from "./dance.ts";
import { json } from "./folder.ts";
import { oneLine } from "./warrant.ts";

/** Notifies the requester of a warrant, by inbox, hook and webhook. Never throws: errors are in the result. */
export interface RequesterNotifier {
  verdict(receipt: Receipt): Promise<Delivery[]>;
  /** An execution waits for a person. */
  held(notice: HeldNotice): Promise<Delivery[]>;
}

type Delivery = Receipt["told"][number];

export interface NotifyOptions {
  /** The folder with a folder for each requester. */
  inbox: string;
  /** A shell command; the receipt, or the notice, is on its stdin. */
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

export function requesterNotifier(options: NotifyOptions): RequesterNotifier {
  const { inbox, hook, webhook } = options;
  const notify = (notice: Receipt | HeldNotice, toInbox: () => void) => {
    const ways: Promise<Delivery>[] = [delivery("inbox", toInbox)];
    if (hook !== undefined) ways.push(delivery("hook", () => runHook(hook, notice, options)));
    if (webhook !== undefined) {
      ways.push(delivery("webhook", () => postTo(webhook, notice, options)));
    }
    return Promise.all(ways);
  };
  return {
    verdict: (receipt) => notify(receipt, () => writeReceipt(inbox, receipt)),
    held: (notice) => notify(notice, () => writeHeld(inbox, notice)),
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
function writeHeld(inbox: string, notice: HeldNotice): void {
  const folder = join(inbox, inboxName(notice.warrant.requester));
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  replaceFileUnsynced(join(folder, `${notice.warrant.id}.held.json`), json(notice));
}

/** Never over another: a second file for a warrant has the dog in its name. */
function writeReceipt(inbox: string, receipt: Receipt): void {
  const folder = join(inbox, inboxName(receipt.warrant.requester));
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const name of [receipt.warrant.id, `${receipt.warrant.id}-${receipt.dog}`]) {
    const path = join(folder, `${name}.json`);
    try {
      createFileSynced(path, json(receipt));
      return;
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
      if (dogIn(path) === receipt.dog) return;
    }
  }
  throw new Error(`${folder} has another ${receipt.warrant.id}.json`);
}

function dogIn(path: string): unknown {
  try {
    return (JSON.parse(readFileSync(path, "utf8")) as Receipt).dog;
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
      killAll(); // what it left behind
      setImmediate(() => {
        child.stderr.destroy();
        const how = isLate
          ? `it did not end within ${hookMs / 1000} s`
          : signal
            ? `ended by ${signal}`
            : `exit ${status}`;
        if (status === 0 && !isLate) return resolve();
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
      if (pause === undefined) {
        throw new Error(`${n + 1} tries: ${reasonOf(error)}`, { cause: undefined });
      }
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
