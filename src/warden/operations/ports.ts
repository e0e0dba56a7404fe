import type { Machine, ProcessIdentity } from "../../base/clock.ts";
import type { Config } from "../../base/section.ts";
import type { CrewFiles } from "../../crew/files.ts";
import type { UpFiles } from "../../fleet/up-files.ts";
import { definePort } from "../../operation/operation.ts";
import type { Store } from "../../queue/store.ts";
import type { WardenFiles } from "../files.ts";
import type { WardenEvent, WardenSettings } from "../ports.ts";
import type { RuleEvent, RulesSettings } from "../rules.ts";
import type { Bound, Warrant } from "../warrant.ts";

/** What the warden's commands need of the machine; main.ts hands them the real thing. */
export interface WardenPorts {
  machine: Machine;
  /** Of this user: where the warden keeps its state unless somebody says otherwise. */
  defaultState: string;
  filesIn(state: string): WardenFiles;
  openRun(path: string): Promise<Store>;
  crewFilesIn(state: string): CrewFiles;
  upFilesIn(pit: string): UpFiles;
  /** `[crew] state` of a viv.toml, as it is written. */
  crewState(config: Config): string | undefined;
  /** Dollars that a task of this type may cost by its route: in all, else in one attempt. */
  budgetFor(config: Config, type: string): ReturnType<WardenOptions["budgetFor"]>;
  isThere(path: string): boolean;
  /** What the target of this warrant is now; a session or a process. */
  bind(warrant: Warrant): Promise<BindResult>;
  /** From this process up to the first. */
  ancestors(): Pick<ProcessIdentity, "pid" | "started">[];
  /** The state folder of the warden whose question is shown here; null when none is. */
  wardenOf(question: string): string | null;
  newId(): string;
  /** The last bytes of a file; "" when there is none. */
  readEnd(path: string, bytes: number): string;
  /** The pool, with its rules. `run()` it, `stop()` it. */
  service(options: WardenOptions, tell: (event: UpWardenEvent) => void): Promise<WardenService>;
}

export const wardenPort = definePort<WardenPorts>("warden");

export type BindResult =
  | { is: "there"; bound: Bound }
  /** `isMissing`: who must know has answered that there is none. */
  | { is: "gone"; why: string; isMissing?: boolean }
  | { is: "unknown"; why: string };

export interface WardenOptions {
  state: string;
  settings: WardenSettings;
  /** Without the socket: the user's own tmux server. */
  rules: RulesSettings;
  /** Programs that may be typed to, though they are not known. */
  ask: readonly string[];
  hook?: string;
  webhook?: string;
  /** Where the hook runs. */
  cwd: string;
  /** Dollars that a task of this type may cost. */
  budgetFor(type: string): { usd: number; of: "task" | "attempt" } | null;
}

export type UpWardenEvent = WardenEvent | RuleEvent;

export interface WardenService {
  run(): Promise<void>;
  stop(): void;
}
