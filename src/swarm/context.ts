import { realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { VivError } from "../base/errors.ts";
import { parseUserJson } from "../base/user-json.ts";
import type { Store } from "../queue/store.ts";
import type { Values } from "./argparse.ts";

/** The part of the queue's store that swarm-cli needs. */
export type SwarmStore = Pick<
  Store,
  | "location"
  | "source"
  | "enqueue"
  | "claim"
  | "complete"
  | "fail"
  | "heartbeat"
  | "reap"
  | "sweep"
  | "initStatus"
  | "writeStatus"
  | "flushStatus"
  | "close"
>;

interface Output {
  write(text: string): unknown;
  isTTY?: boolean;
  columns?: number;
}

/** The machine around one call of swarm-cli. */
export interface Context {
  /** Opens a run as swarm-lib does: creates it when missing, but without a status.json. */
  open(path: string, options: { create: true; withoutStatus: true }): Promise<SwarmStore>;
  stdout: Output;
  stderr: Output;
  /** What `~` stands for. */
  home: string;
  /** Width of the usage text; the terminal's when left out. */
  columns?: number;
}

/** Runs one command and returns its exit status. */
export type Verb = (values: Values, context: Context) => Promise<number>;

/** Opens the run of --run-dir for `work`, and closes it whether or not that succeeds. */
export async function withRun<T>(
  values: Values,
  context: Context,
  work: (store: SwarmStore) => Promise<T>,
): Promise<T> {
  const path = runPath(values.text("--run-dir"), context.home);
  const store = await context.open(path, { create: true, withoutStatus: true });
  try {
    return await work(store);
  } finally {
    // The work is done by now: a failure to close is a warning, and other processes make up for it.
    await store.close({ warn: (sentence) => warn(context, [sentence]) });
  }
}

export function warn({ stderr }: Context, sentences: readonly string[] = []): void {
  for (const sentence of sentences) stderr.write(`warning: ${sentence}\n`);
}

/** The absolute path a user means: `~` is expanded, and links are followed as far as it exists. */
export function runPath(given: string, home: string): string {
  if (given.startsWith("~") && given !== "~" && !given.startsWith("~/")) {
    throw new VivError("INVALID", `cannot tell whose home ${given} means; write the path in full`);
  }
  return followLinks(resolve(given.startsWith("~") ? join(home, given.slice(1)) : given));
}

function followLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    const parent = dirname(path);
    const code = (error as NodeJS.ErrnoException).code;
    if (parent === path || (code !== "ENOENT" && code !== "ENOTDIR")) throw error;
    return join(followLinks(parent), basename(path));
  }
}

/** A JSON object given as a flag's value; undefined when the flag is missing or empty. */
export function objectFrom(values: Values, flag: string): Record<string, unknown> | undefined {
  const text = values.filled(flag);
  if (text === undefined) return undefined;
  const value = parseUserJson(text, flag);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new VivError("INVALID", `${flag} must be a JSON object, like {"goal": "..."}`);
  }
  return value as Record<string, unknown>;
}
