import type { BoardPort } from "../board/operations/shared.ts";
import type { CrewPorts } from "../crew/operations/ports.ts";
import type { EnginePort } from "../engines/operations/engines.ts";
import type { UpHost } from "../fleet/operations/up.ts";
import type { GatePort } from "../gate/operations/gate.ts";
import type { Accounts, Store, WorkerHost } from "../queue/operations/store-types.ts";
import type { WardenPorts } from "../warden/operations/ports.ts";
import type { Self } from "./op.ts";

/** Everything the command line needs from its surroundings; tests bring their own. */
export interface Io {
  argv: readonly string[];
  env: Record<string, string | undefined>;
  cwd: string;
  stdout: Writer;
  stderr: Writer;
  stdin: AsyncIterable<Uint8Array | string>;
  /** Calls back when nobody is left to write to stdin; waiting for it keeps no process alive. */
  onStdinClosed(act: () => void): void;
  /** Aborted by Ctrl-C or SIGTERM. */
  signal: AbortSignal;
  /** Aborted by the second of them, if the command asked to hear of it. */
  urgent: AbortSignal;
  hearUrgent(): void;
  open(path: string, options: OpenRequest): Promise<Store>;
  /** Processes, workspaces and sandboxes, for a worker on this run. */
  workerHost(runDir: string): Promise<WorkerHost>;
  /** The gates of accounts, shared by all runs of this user. */
  accounts(): Promise<Accounts>;
  /** The machine's gate, and those of crews. */
  gate(): Promise<GatePort>;
  engines(): Promise<EnginePort>;
  /** For crews. */
  crew(): Promise<CrewPorts>;
  /** For agents around a pit. */
  up(): Promise<UpHost>;
  /** Warrants, dogs, and who keeps them. */
  warden(): Promise<WardenPorts>;
  /** Boards in git; `tell` hears what is waited for. */
  board(tell: (sentence: string) => void): Promise<BoardPort>;
  /** This very program, for what starts it again. */
  self: Self;
  /** `viv demo`, which needs more of the machine than a command should. */
  demo(args: readonly string[]): Promise<number>;
  now(): number;
}

export interface OpenRequest {
  create?: boolean;
  readOnly?: boolean;
  durability?: "safe" | "fast";
  onDependencyFailed?: "wait" | "fail";
}

export interface Writer {
  write(text: string): unknown;
  isTTY?: boolean;
  columns?: number;
}
