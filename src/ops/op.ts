import type * as z from "zod/mini";
import type { UnitFiles } from "../host/unit-files.ts";
import type { Config } from "../model/config.ts";
import type { WorkerHost } from "../services/worker/host.ts";
import type { Store } from "../store/store.ts";

/** What an operation is given besides its input. */
export interface OpContext {
  store: Store;
  now(): number;
  /** The machine, for the few operations that do more than ask the store. */
  host(): Promise<WorkerHost>;
  /** Where the command was typed; callers that are no command line have none. */
  here?: Here;
}

/** This very program, and what it may write outside of a run. */
export interface Self {
  /** Absolute, both. */
  node: string;
  viv: string;
  unitFiles(): Promise<UnitFiles>;
}

export interface Here extends Self {
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
  /** The viv.toml that counts there. */
  config?: Config;
}

/** How the run must be opened for it. */
export type Access = "create" | "write" | "read";

/**
 * One thing a user can do, defined once. The command line, and later HTTP and MCP, are renderings
 * of it: flags, help and checks all come from the schemas.
 */
export interface Op<
  I extends z.ZodMiniObject = z.ZodMiniObject,
  O extends z.ZodMiniType = z.ZodMiniType,
> {
  name: string;
  summary: string;
  access: Access;
  input: I;
  output: O;
  run(context: OpContext, input: z.output<I>): Promise<z.output<O>>;
}

export function defineOp<I extends z.ZodMiniObject, O extends z.ZodMiniType>(
  op: Op<I, O>,
): Op<I, O> {
  return op;
}
