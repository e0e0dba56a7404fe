import type { ClaimTree, Machine } from "../base/clock.ts";
import type { Accounts } from "../engines/accounts/accounts.ts";
import type { Engine } from "../engines/engine.ts";
import type { LogPort } from "../engines/session-logs.ts";
import type { Gate } from "../gate/gate.ts";
import { definePort } from "../operation/operation.ts";
import type { Timers } from "../platform/processes/children.ts";
import type { Handlers } from "../platform/processes/handlers.ts";
import type { ActivityServer } from "./activity-server.ts";
import type { CrewFiles } from "./files.ts";
import type { StepsFile } from "./steps-file.ts";

/** What a crew needs of the machine; main.ts hands it the real thing. */
export interface CrewPorts {
  machine: Machine;
  timers: Timers;
  handlers: Handlers;
  accounts: Accounts;
  /** Of the whole machine: needed besides the crew's own slot. */
  machineGate: Pick<Gate, "acquire">;
  engine(name: Engine["name"], state: string): Promise<Engine>;
  filesIn(state: string): CrewFiles;
  /** For life; null when another process has it, else what says whether it is still ours. */
  take(state: string): Promise<(() => boolean) | null>;
  /** Throws what the system says. */
  readText(path: string): string;
  isThere(path: string): boolean;
  /** The nearest of that name, from there upwards; throws INVALID when it is a stranger's. */
  findUp(name: string, from: string): string | null;
  isFolder(path: string): boolean;
  openSteps(path: string): StepsFile;
  /** Files that a vendor's program writes about its session. */
  followLogs: LogPort["follow"];
  /** Another text when the file was changed, or came, or went. */
  stampOf(path: string): string;
  /** Calls back when something in one of these folders has changed. */
  watch(folders: readonly string[], act: () => void): () => void;
  endTree(tree: ClaimTree): number[];
  serve(port: number, activity: () => unknown): Promise<ActivityServer>;
  newMark(): string;
}

export const crewPort = definePort<CrewPorts>("crew");
