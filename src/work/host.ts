import type { Config } from "../base/section.ts";
import type { Accounts } from "../engines/accounts/accounts.ts";
import type { Engine, EngineName } from "../engines/engine.ts";
import type { LogPort } from "../engines/session-logs.ts";
import type { MachineGate } from "../gate/machine-gate.ts";
import { definePort } from "../operation/operation.ts";
import type { Handlers } from "../platform/processes/handlers.ts";
import type { SandboxRequest } from "../platform/sandbox/sandbox.ts";
import { type Claim, extensionKey, type Store } from "../queue/store.ts";
import type { Task } from "../queue/task.ts";
import type { ArtifactFiles } from "./artifacts.ts";
import type { Needs } from "./config-needs.ts";
import type { Beside, WorkerOptions } from "./worker-options.ts";
import type { Begin } from "./workspaces/begin.ts";
import type { OpenWorkspace, WorkspaceRequest } from "./workspaces/open.ts";
import type { Prepared, PrepareRequest } from "./workspaces/prepare.ts";
import type { RemovedWorkspace, WorkspaceInfo } from "./workspaces/record.ts";
import type { RemovalOptions } from "./workspaces/remove.ts";
import type { WorkspaceUse } from "./workspaces/use.ts";

export interface LandedAs {
  /** The commit of its branch. */
  head: string;
  target: string;
  /** It may have been moved back by force; null: a forge's commit that was not fetched. */
  isThere: boolean | null;
}

export interface WorktreeContent {
  /** The tip of its branch; null when that is gone. */
  commit: string | null;
  isDirty: boolean;
}

/** What the check of a route needs of the machine. */
export interface RouteHost {
  engine(name: EngineName): Promise<Engine>;
  /** Throws INVALID when it cannot be read. */
  readText(path: string): string;
  /** Why a program could not be started, by its path or its name in PATH; null when it could. */
  whyNotInstalled(program: string): string | null;
  /** Why an existing program is not run: a stranger could have written it. */
  whyNotRun(program: string): string | null;
  /** Why no sandbox could be made here; null when it can. */
  whyNoSandbox(): Promise<string | null>;
  /** Why no worktree could be made of this repository; null when it can. */
  whyNoWorktree(repository: string, base: string | undefined): Promise<string | null>;
  /** Why the needs of a route cannot be met; null when they can. */
  whyNotReady(needs: Needs, repository: string, base: string | undefined): Promise<string | null>;
  /** The worker's own environment, of which a handler gets a part. */
  env: Readonly<Record<string, string | undefined>>;
}

/** For the check of routes without a run. */
export const routeHostPort = definePort<RouteHost>("route host");

/** What a worker needs of the machine; main.ts provides the real one. */
export interface WorkerHost extends RouteHost {
  handlers: Handlers;
  artifacts: ArtifactFiles;
  /** The bubblewrap command around a command. Throws when there is no bubblewrap that works. */
  sandboxed(argv: readonly string[], request: SandboxRequest): Promise<string[]>;
  openWorkspace(request: WorkspaceRequest): Promise<OpenWorkspace>;
  /** Before an attempt begins in a workspace. */
  prepareWorkspace(request: PrepareRequest): Promise<Prepared>;
  workspaceUse(): Promise<WorkspaceUse>;
  commitWorkspace(path: string, message: string, how?: { isOver: boolean }): Promise<string | null>;
  /** Files of a workspace in which conflict markers are left. */
  unresolvedIn?(path: string): Promise<readonly string[]>;
  /** Where the branch of a task begins; without it, at the route's base. */
  beginOf?(store: Store, task: Task, config: Config | undefined): Promise<Begin>;
  /** What is in the worktree of a task now; null when it has none. */
  worktreeContent?(id: string): Promise<WorktreeContent | null>;
  listWorkspaces(): Promise<WorkspaceInfo[]>;
  /** Writes unsaved work to a patch in artifacts/ first; not if this commit of its branch has landed. */
  removeWorkspace(id: string, landed?: string, how?: RemovalOptions): Promise<RemovedWorkspace>;
  /** How the branch of a task has landed; null if it has not. */
  landedAs?(id: string): Promise<LandedAs | null>;
  /** The gates of accounts, for every worker on the machine. */
  accounts: Accounts;
  /** The machine's gate, for every engine that is started on it. */
  gate?: MachineGate;
  /** The last bytes of a file as text; "" when there is none. */
  readEnd(path: string, bytes: number): string;
  /** Files that a vendor's program writes about its session. */
  followLogs: LogPort["follow"];
  /** CPU time of a process tree so far, in ticks. */
  ticksOf(pid: number, claim: string): number;
  /** 0 when it is not there. */
  sizeOf(path: string): number;
  /** False when something is there already. */
  writeIfAbsent(path: string, text: string): boolean;
  /** Starts what runs beside a worker: proofs of a layout, the merge queue. */
  beside?: (store: Store, host: WorkerHost, options: WorkerOptions) => Beside | Promise<Beside>;
  cwd: string;
}

/** A viv.toml that was read anew, or why it cannot be: then the last good one counts. */
export type ConfigRead = { config: Config } | { problem: string };

/**
 * Calls back when the viv.toml has changed. `counts`: the content that counts, where that may not be the
 * file's already. Returns what ends that.
 */
export type WatchConfig = (
  file: string,
  act: (read: ConfigRead) => void,
  options?: { counts?: string },
) => () => void;

export const configWatchPort = definePort<WatchConfig>("config watch");

/** Why a program cannot be started; null when it can. For a worker whose run is not there yet. */
export const installedPort = definePort<RouteHost["whyNotInstalled"]>("installed");

/** Apart from the host, for commands that only look. */
export const workspaceUsePort = definePort<WorkspaceUse>("workspace use");

export const workerHostPort = definePort<WorkerHost>("worker host");

/** What a layout changes about the work on its tasks; the store of such a layout offers it. */
export interface WorkSite {
  /** Where handlers without a workspace run. */
  readonly folder: string;
  /** The file that a handler holds, and the variables that name it. */
  claimFile(claim: Claim, artifact: string): { path: string; env: Record<string, string> };
  /** `done_when` as it is now: the task's file may have changed after the claim. */
  doneWhen(claim: Claim): Promise<string | undefined>;
  /** Is there a result without proof, whose task may come back? */
  hasUnprovenResults(): Promise<boolean>;
}

export const WORK_SITE = extensionKey<WorkSite>("work site");
