import { realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { VivError } from "../base/errors.ts";
import { parseUserJson } from "../base/user-json.ts";
import type { TaskSpec } from "../queue/spec.ts";
import type { CheckpointUpdate } from "../queue/status.ts";
import type { Task } from "../queue/task.ts";
import type { Values } from "./argparse.ts";

/** The part of the queue's store that swarm-cli needs. */
export interface SwarmStore {
  readonly location: string;
  enqueue(spec: TaskSpec, options: { straightToPending: true }): Promise<{ warnings?: string[] }>;
  claim(request: {
    worker: string;
    types?: readonly string[];
    heartbeat: false;
  }): Promise<{ task: Task }[]>;
  complete(ref: { id: string; worker: string }): Promise<{ to: string; warnings?: string[] }>;
  fail(ref: { id: string; worker: string }): Promise<{ to: string; warnings?: string[] }>;
  heartbeat(worker: string, options: { note: string }): Promise<void>;
  reap(options: { staleAfterSeconds: number; heartbeatOnly: true }): Promise<{
    reaped: { worker: string; id: string; ageSeconds: number; to: string; reason: string }[];
    live: string[];
    stuck: { worker: string; id: string; pids: number[] }[];
  }>;
  sweep(): Promise<unknown>;
  initStatus(runId: string, update: CheckpointUpdate): Promise<unknown>;
  writeStatus(update: CheckpointUpdate): Promise<unknown>;
  flushStatus(): Promise<void>;
  close(options: { warn: (sentence: string) => void }): Promise<void>;
}

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
  columns?: number | undefined;
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
