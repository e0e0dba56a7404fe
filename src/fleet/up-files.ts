import { join } from "node:path";
import { isName } from "../base/names.ts";
import {
  type AgentState,
  parseAgentState,
  parseServiceState,
  type ServiceState,
} from "../crew/agent-state.ts";
import { replaceFileUnsynced } from "../platform/files/atomic-write.ts";
import { mkdirSync, removeSync } from "../platform/files/beneath.ts";
import { acquireProcessLock, type StillOurs } from "../platform/files/file-lock.ts";
import { explained, listed, readSmall } from "../platform/files/state-files.ts";

/** `.viv/up/` of a pit: who lives around it, as its `viv up` sees them. */
export interface UpFiles {
  /** False when another process has it. Who took it has it until it ends, however it ends. */
  take(): Promise<boolean>;
  service(): ServiceState | null;
  /** Null when there is none, or none that can be read. */
  agent(name: string): AgentState | null;
  /** Whole or not at all. */
  write(state: ServiceState | AgentState): void;
  /** All agents that have a file. */
  names(): string[];
  remove(name: string): void;
  /** What its worker says, or what its last run said. */
  logOf(name: string, of: "worker" | "run"): string;
}

const MAX_BYTES = 256 * 1024;

export function upFilesIn(pit: string): UpFiles {
  const folder = join(pit, ".viv/up");
  const pathOf = (name: string) => join(folder, `${name}.json`);
  const read = (name: string) => readSmall(pathOf(name), MAX_BYTES);
  return {
    take: async () => (await takeFolder(folder)) !== null,
    service: () => {
      const text = read("service");
      return text === null ? null : parseServiceState(text);
    },
    agent: (name) => {
      const text = read(name);
      return text === null ? null : parseAgentState(text);
    },
    write: (state) =>
      explained(folder, () => {
        const temporary = join(folder, `.${state.name}.new`); // one process has the folder
        const text = `${JSON.stringify(state, null, 2)}\n`;
        replaceFileUnsynced(pathOf(state.name), text, { temporary });
      }),
    names: () =>
      listed(folder)
        .filter((name) => name.endsWith(".json"))
        .map((name) => name.slice(0, -".json".length))
        .filter((name) => isName(name) && name !== "service")
        .sort(),
    remove: (name) => removeSync(pathOf(name)),
    logOf: (name, of) => join(folder, of === "worker" ? `${name}.log` : `${name}.run.log`),
  };
}

/** Null when another process has it. Who took it has it until it ends, or somebody removes the folder. */
export function takeFolder(folder: string): Promise<StillOurs | null> {
  return explained(folder, async () => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return acquireProcessLock(join(folder, ".lock"));
  });
}
