import type * as z from "zod/mini";
import type { Config } from "../app/config.ts";
import type { BoardPort } from "../board/repository.ts";
import type { CrewPorts } from "../crew/operations/ports.ts";
import type { Accounts } from "../engines/accounts/accounts.ts";
import type { EnginePort } from "../engines/operations/engines.ts";
import type { UpHost } from "../fleet/ports.ts";
import type { GatePort } from "../gate/operations/gate.ts";
import type { UnitFiles } from "../platform/systemd/unit-files.ts";
import type { Store } from "../queue/store.ts";
import type { WardenPorts } from "../warden/operations/ports.ts";
import type { WorkerHost } from "../work/host.ts";

/** What an operation that needs no run is given besides its input. */
export interface FreeContext {
  now(): number;
  /** Where the command was typed; callers that are no command line have none. */
  here?: Here;
  /** The gates of accounts on this machine. */
  accounts?(): Promise<Accounts>;
  /** For crews. */
  crew?(): Promise<CrewPorts>;
  /** The machine's gate, and those of crews. */
  gate?(): Promise<GatePort>;
  /** What is installed on it. */
  engines?(): Promise<EnginePort>;
  /** Processes that live around a pit. */
  up?(): Promise<UpHost>;
  /** Warrants, dogs, and who keeps them. */
  warden?(): Promise<WardenPorts>;
  /** The run that --run, VIV_RUN or this folder means; for what needs one only sometimes. */
  run?(): Promise<string>;
  /** Boards in git. */
  board?(): Promise<BoardPort>;
}

/** What an operation on a run is given. */
export interface OpContext extends FreeContext {
  store: Store;
  /** The machine, for the few operations that do more than ask the store. */
  host(): Promise<WorkerHost>;
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

type AnyInput = z.ZodMiniObject;
type AnyOutput = z.ZodMiniType;

interface Described<I extends AnyInput, O extends AnyOutput> {
  name: string;
  summary: string;
  input: I;
  output: O;
}

export interface RunOp<I extends AnyInput = AnyInput, O extends AnyOutput = AnyOutput>
  extends Described<I, O> {
  access: Access;
  /** It needs a run of this kind, or makes one. */
  layout?: "pit";
  run(context: OpContext, input: z.output<I>): Promise<z.output<O>>;
}

/** About the machine or the configuration: there may be no run at all. */
export interface FreeOp<I extends AnyInput = AnyInput, O extends AnyOutput = AnyOutput>
  extends Described<I, O> {
  access: "none";
  run(context: FreeContext, input: z.output<I>): Promise<z.output<O>>;
}

/**
 * One thing a user can do, defined once. The command line, and later HTTP and MCP, are renderings
 * of it: flags, help and checks all come from the schemas.
 */
export type Op = RunOp | FreeOp;

export function defineOp<I extends AnyInput, O extends AnyOutput>(op: RunOp<I, O>): RunOp<I, O> {
  return op;
}

export function defineFreeOp<I extends AnyInput, O extends AnyOutput>(
  op: FreeOp<I, O>,
): FreeOp<I, O> {
  return op;
}
