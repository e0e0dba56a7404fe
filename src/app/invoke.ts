import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../base/section.ts";
import {
  type Context,
  type Env,
  type Operation,
  type Port,
  type RunPlace,
  runPlacePort,
} from "../operation/operation.ts";
import type { OpenOptions } from "../queue/fs/open-fs-run.ts";
import { storePort } from "../queue/operation.ts";
import type { Store } from "../queue/store.ts";

/** What the rooms' operations need of the machine, by their ports. `store`: the run they are about. */
export type Provide = <T>(port: Port<T>, store: Store | null) => Promise<T>;

export type Open = (path: string, options: OpenOptions) => Promise<Store>;

/** Where an operation is asked for: a command line, a server, a test. */
export interface Surroundings {
  cwd: string;
  env: Env;
  now(): number;
  signal: AbortSignal;
  urgent: AbortSignal;
  input(): AsyncIterable<Uint8Array | string>;
  provide: Provide;
  open: Open;
  /** What went wrong without keeping the operation from its end. */
  warn(sentence: string): void;
}

/** The run that an operation is about, and how it is opened. */
export interface RunChoice {
  path: string;
  options: OpenOptions;
}

export interface Asked {
  config: Config | undefined;
  /** The run, for an operation that is about one. */
  run: RunChoice | null;
  /** The run that is meant here, if it is needed after all. */
  runPlace(): Promise<RunPlace>;
}

/**
 * Gives `act` the context in which an operation runs, with its run open; and closes the run. The one
 * way in for the command line, HTTP and MCP.
 */
export async function withContext<T>(
  around: Surroundings,
  { config, run, runPlace }: Asked,
  act: (context: Context, opened: { isNew: boolean; location: string } | null) => Promise<T>,
): Promise<T> {
  const isNew = run?.options.create === true && !isRun(run.path);
  const store = run === null ? null : await around.open(run.path, run.options);
  const use = async <P>(port: Port<P>): Promise<P> => {
    if (port.name === storePort.name && store !== null) return store as P;
    if (port.name === runPlacePort.name) return (await runPlace()) as P;
    return around.provide(port, store);
  };
  const { now, signal, urgent, input, cwd, env } = around;
  const context: Context = { now, signal, urgent, input, use, here: { cwd, env, config } };
  try {
    return await act(context, store && { isNew, location: store.location });
  } finally {
    await store?.close({ warn: around.warn });
  }
}

/** Every layout has this folder; a folder without it can become a run. */
export function isRun(path: string): boolean {
  return existsSync(join(path, "claimed"));
}

/** How the run is opened for this operation. */
export function openingFor(
  { access, layout }: Operation,
  more: Partial<OpenOptions> = {},
): OpenOptions {
  return {
    create: access === "create",
    readOnly: access === "read",
    layout: layout as "pit" | undefined,
    ...more,
  };
}
