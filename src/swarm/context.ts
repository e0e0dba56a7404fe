import { realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { VivError } from "../base/errors.ts";
import { parseUserObject } from "../base/user-json.ts";
import type { Store } from "../queue/store.ts";
import type { Values } from "./argparse.ts";

interface Output {
  write(text: string): unknown;
  isTTY?: boolean;
  columns?: number;
}

/** The surroundings of one call of swarm-cli. */
export interface Context {
  /** Opens a run as swarm-lib does: creates it when missing, but without a status.json. */
  open(path: string, options: { create: true; withoutStatus: true }): Promise<Store>;
  stdout: Output;
  stderr: Output;
  /** Replaces `~`. */
  home: string;
  /** Width of the usage text; the terminal's when left out. */
  columns?: number;
}

/** Runs one command and returns its exit status. */
export type Verb = (values: Values, context: Context) => Promise<number>;

/** Opens the run of --run-dir for `work`, and closes it also after a failure. */
export async function withRun<T>(
  values: Values,
  context: Context,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  const path = runPath(values.text("--run-dir"), context.home);
  const store = await context.open(path, { create: true, withoutStatus: true });
  try {
    return await work(store);
  } finally {
    // A failure to close is a warning: the work is done, and other processes repair the rest.
    await store.close({ warn: (sentence) => warn(context, [sentence]) });
  }
}

export function warn({ stderr }: Context, sentences: readonly string[] = []): void {
  for (const sentence of sentences) stderr.write(`warning: ${sentence}\n`);
}

/** Absolute: `~` is expanded, and links are followed as far as the path exists. */
export function runPath(given: string, home: string): string {
  if (given.startsWith("~") && given !== "~" && !given.startsWith("~/")) {
    throw new VivError("INVALID", `${given} names another user's home; write the path in full`);
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
  return text === undefined ? undefined : parseUserObject(text, flag);
}
