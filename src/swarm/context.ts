import { spawnSync } from "node:child_process";
import { realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { VivError } from "../base/errors.ts";
import { assertDepth, ExactNumber } from "../base/json.ts";
import type { Store } from "../queue/store.ts";
import type { Values } from "./argparse.ts";
import { dumps, JsonNumber, type JsonTree, readJson } from "./python.ts";

interface Output {
  write(text: string): unknown;
  isTTY?: boolean;
  columns?: number;
}

interface OpenAs {
  create: true;
  withoutStatus: true;
  runId: string;
}

/** The surroundings of one call of swarm-cli. */
export interface Context {
  /** Opens a run as swarm-lib does: creates it when missing, but without a status.json. */
  open(path: string, options: OpenAs): Promise<Store>;
  stdout: Output;
  stderr: Output;
  /** Replaces `~`. */
  home: string;
  /** VIV_CLAIM, in a handler of ours: it has the token of its task. */
  claim?: string;
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
  // The folder's name, whatever it is, until a status.json has another one.
  const runId = basename(path);
  const store = await context.open(path, { create: true, withoutStatus: true, runId });
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

/** Absolute: `~` and `~user` are expanded, and links are followed as far as the path exists. */
export function runPath(given: string, home: string): string {
  const [, user, rest = ""] = /^~([^/]*)(.*)$/s.exec(given) ?? [];
  if (user === undefined) return followLinks(resolve(given));
  return followLinks(resolve(join(user === "" ? home : homeOf(user), rest)));
}

/** Asked of a shell: it knows every kind of user database. */
function homeOf(user: string): string {
  const isPlain = /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/.test(user);
  const found = isPlain ? spawnSync("/bin/sh", ["-c", `printf %s ~${user}`]).stdout : null;
  const home = found?.toString() ?? "";
  if (home.startsWith("/")) return home;
  throw new VivError("INVALID", `there is no user ${user}; write the path of the run in full`);
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

/**
 * A JSON object given as a flag's value, its numbers as Python would write them; undefined when the
 * flag is missing or empty.
 */
export function objectFrom(values: Values, flag: string): Record<string, unknown> | undefined {
  const text = values.filled(flag);
  if (text === undefined) return undefined;
  const fail = (why: string, cause?: unknown) =>
    new VivError("INVALID", `${flag} ${why}`, {}, { cause });
  let tree: JsonTree;
  try {
    assertDepth(text);
    tree = readJson(text);
  } catch (cause) {
    throw fail(`is not valid JSON: ${(cause as Error).message}`, cause);
  }
  if (!(tree instanceof Map)) throw fail('must be a JSON object, like {"goal": "..."}');
  return exactly(tree, (number) => fail(`has the number ${number}, which JSON does not have`)) as
    | Record<string, unknown>
    | undefined;
}

function exactly(tree: JsonTree, refuse: (number: string) => Error): unknown {
  if (tree instanceof JsonNumber) {
    const text = dumps(tree);
    if (/[a-z]{3}/i.test(text)) throw refuse(tree.text); // NaN, or beyond the range of a float
    return new ExactNumber(text);
  }
  if (Array.isArray(tree)) return tree.map((one) => exactly(one, refuse));
  if (!(tree instanceof Map)) return tree;
  return Object.fromEntries([...tree].map(([key, one]) => [key, exactly(one, refuse)]));
}
