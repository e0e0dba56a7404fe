import { join } from "node:path";
import { isName } from "../base/names.ts";
import { replaceFileUnsynced } from "../platform/files/atomic-write.ts";
import { removeSync } from "../platform/files/beneath.ts";
import { acquireFolder } from "../platform/files/file-lock.ts";
import { explained, listed, readSmall } from "../platform/files/state-files.ts";
import {
  type AgentState,
  parseAgentState,
  parseServiceState,
  type ServiceState,
} from "./agent-state.ts";

/** `.viv/up/` of a pit: the state of its `viv up` and of each agent. */
export interface UpFiles {
  /** Locks it until this process ends. False when another process has it. */
  take(): Promise<boolean>;
  service(): ServiceState | null;
  /** Null when there is none, or none that can be read. */
  agent(name: string): AgentState | null;
  /** Whole or not at all. */
  write(state: ServiceState | AgentState): void;
  /** All agents that have a file. */
  names(): string[];
  remove(name: string): void;
  /** The output of its worker, or of its last run. */
  logOf(name: string, of: "worker" | "run"): string;
}

const MAX_BYTES = 256 * 1024;

export function upFilesIn(pit: string): UpFiles {
  const folder = join(pit, ".viv/up");
  const pathOf = (name: string) => join(folder, `${name}.json`);
  const read = (name: string) => readSmall(pathOf(name), MAX_BYTES);
  return {
    take: async () => (await acquireFolder(folder)) !== null,
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
