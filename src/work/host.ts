import type { Accounts } from "../engines/accounts/accounts.ts";
import type { Engine, EngineName } from "../engines/engine.ts";
import type { LogPort } from "../engines/session-logs.ts";
import type { MachineGate } from "../gate/machine-gate.ts";
import { definePort } from "../operation/operation.ts";
import type { Handlers } from "../platform/processes/handlers.ts";
import type { SandboxRequest } from "../platform/sandbox/sandbox.ts";
import type { Store } from "../queue/store.ts";
import type { ArtifactFiles } from "./artifacts.ts";
import type { WorkerOptions } from "./worker.ts";
import type { RemovedWorkspace, WorkspaceInfo, WorkspaceRequest } from "./workspaces.ts";

/** What a worker needs of the machine; main.ts hands it the real thing. */
export interface WorkerHost {
  handlers: Handlers;
  artifacts: ArtifactFiles;
  /** The bubblewrap command around a command. Throws when there is no bubblewrap that works. */
  sandboxed(argv: readonly string[], request: SandboxRequest): Promise<string[]>;
  openWorkspace(
    request: WorkspaceRequest,
  ): Promise<{ path: string; branch?: string; base?: string } | null>;
  commitWorkspace(path: string, message: string): Promise<string | null>;
  listWorkspaces(): Promise<WorkspaceInfo[]>;
  /** Writes what is not saved elsewhere to a patch in artifacts/ first. */
  removeWorkspace(id: string): Promise<RemovedWorkspace>;
  /** The gates of accounts, for every worker on the machine. */
  accounts: Accounts;
  /** The machine's gate, for every engine that is started on it. */
  gate?: MachineGate;
  engine(name: EngineName): Promise<Engine>;
  /** Throws INVALID when it cannot be read. */
  readText(path: string): string;
  /** The last bytes of a file as text; "" when there is none. */
  readEnd(path: string, bytes: number): string;
  /** Why a program could not be started, by its path or its name in PATH; null when it could. */
  whyNotInstalled(program: string): string | null;
  /** Why a program is not run although it is there: a stranger could have written it. */
  whyNotRun(program: string): string | null;
  /** Why no sandbox could be made here; null when it can. */
  whyNoSandbox(): Promise<string | null>;
  /** Files that a vendor's program writes about its session. */
  followLogs: LogPort["follow"];
  /** CPU time of a process tree so far, in ticks. */
  ticksOf(pid: number, claim: string): number;
  /** 0 when it is not there. */
  sizeOf(path: string): number;
  /** False when something is there already. */
  writeIfAbsent(path: string, text: string): boolean;
  /** What runs beside a worker, from its start to its end, where the run's layout asks for it. */
  beside?:
    | ((
        store: Store,
        host: WorkerHost,
        options: WorkerOptions,
      ) => {
        start(): void;
        stop(): Promise<void>;
      })
    | undefined;
  /** The worker's own environment, of which a handler gets a part. */
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
}

export const workerHostPort = definePort<WorkerHost>("worker host");
