import type { Machine } from "../base/clock.ts";
import type { Config } from "../base/section.ts";
import type { LedgerSource } from "../ledger/follow.ts";
import type { CatalogEntry } from "../operation/catalog.ts";
import { type Context, definePort, type Env } from "../operation/operation.ts";
import type { Store } from "../queue/store.ts";

/** An operation that HTTP answers. */
export type Exposed = CatalogEntry;

/** The run that is served. */
export interface ServedRun {
  /** Absolute. */
  path: string;
  config?: Config;
  onDependencyFailed?: "wait" | "fail";
}

/** What comes with a request. */
export interface Request {
  signal: AbortSignal;
  input(): AsyncIterable<Uint8Array | string>;
}

export interface GateFacts {
  gate: "machine" | "crew";
  /** Null: no limit. */
  max: number | null;
  used: number;
  waiting: number;
  longestMs: number;
}

/** What a server needs of the rooms and of the machine. */
export interface ServerHost {
  machine: Machine;
  env: Env;
  version: string;
  /** The state folder of the user. */
  state: string;
  /** The built page; it may be missing. */
  pageFolder: string;
  operations: readonly Exposed[];
  /** Operations that HTTP does not answer, with the reason. */
  hidden: Readonly<Record<string, string>>;
  open(run: ServedRun, options: { readOnly: boolean }): Promise<Store>;
  /** Calls back when a viv.toml has changed. Returns what ends that. */
  watchConfig(
    file: string,
    act: (read: { config: Config } | { problem: string }) => void,
  ): () => void;
  /** Runs `act` as an operation on `run`, which is open and stays so. */
  invoke<T>(
    run: ServedRun,
    store: Store | null,
    request: Request,
    act: (context: Context) => Promise<T>,
  ): Promise<T>;
  /** Those whose lines are events: of the run, of the crew and the warden that are found here. */
  ledgers(context: Context): Promise<readonly LedgerSource[]>;
  /** For /metrics. */
  gates(context: Context): Promise<readonly GateFacts[]>;
  /** For /metrics: done tasks with a branch that is in no target yet. `hasLanded`: by the ledger. */
  branchesLeft(context: Context, hasLanded: (task: string) => boolean): Promise<number>;
  /** `GET /_activity`. */
  activity(context: Context): Promise<unknown>;
}

export const serverPort = definePort<ServerHost>("server");
