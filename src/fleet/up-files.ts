import { join } from "node:path";
import type { ClaimTree, ProcessIdentity } from "../base/clock.ts";
import { parseRecord } from "../base/json.ts";
import { isName } from "../base/names.ts";
import { replaceFileUnsynced } from "../platform/files/atomic-write.ts";
import { removeSync } from "../platform/files/beneath.ts";
import { acquireFolder, tryFolderLock } from "../platform/files/file-lock.ts";
import { RotatingLog } from "../platform/files/rotating-log.ts";
import { explained, listed, readSmall } from "../platform/files/state-files.ts";

/**
 * The states of an agent.
 *
 * - starting: its process runs and has not reported yet that it waits for work.
 * - working: on some food, or its `run` is under way.
 * - idle: it waits for food.
 * - paused: it waits while food is held back: an account, a budget, a full review.
 * - resting: until its next run, or until it is started again.
 * - parked: it kept dying, or cannot work as configured; it is not started again.
 * - stopped: together with the service.
 * - ended: by itself, because nothing was left to do (`--drain`).
 */
const AGENT_STATES = [
  "starting",
  "working",
  "idle",
  "paused",
  "resting",
  "parked",
  "stopped",
  "ended",
] as const;

export type AgentStateName = (typeof AGENT_STATES)[number];

/** `AGENT.json`. */
export interface AgentState {
  name: string;
  species: string;
  state: AgentStateName;
  /** Of its worker; without one, of its run. Null when there is no process. */
  pid: number | null;
  started: string | null;
  boot: string | null;
  host: string | null;
  /** Time of the last change of `state`. */
  since: string;
  restarts: number;
  last_run: string | null;
  next_run: string | null;
  /** An exit status, or the name of a signal. */
  last_exit: number | string | null;
  note: string;
  /** The tree of a run that is under way, so that the next `viv up` can end it. */
  run: ClaimTree | null;
}

/** `service.json`. */
export interface ServiceState extends ProcessIdentity {
  name: "service";
  state: "working" | "stopping" | "stopped" | "ended";
  /** It gives back what has begun: it was asked twice. */
  at_once?: boolean;
  since: string;
  /** The agents.toml. */
  config: string;
  agents: string[];
  note: string;
  /** Of earlier services, which were killed: agents whose workers are at their food still. */
  left?: AgentState[];
}

const MAX_BYTES = 256 * 1024;
const LOG_BYTES = 5 * 1024 * 1024;

export type UpFiles = ReturnType<typeof upFilesIn>;

/** Whether it names a process and its state. */
export function isOfProcess(
  found: Record<string, unknown> | null,
): found is Record<string, unknown> {
  const texts = [found?.host, found?.boot, found?.started, found?.state];
  return typeof found?.pid === "number" && texts.every((one) => typeof one === "string");
}

/**
 * `.viv/up/` of a pit: written by `viv up`, read by `viv status --config`, the warden and the next
 * `viv up`. A file that cannot be read counts as missing.
 */
export function upFilesIn(pit: string) {
  const folder = join(pit, ".viv/up");
  const pathOf = (name: string) => join(folder, `${name}.json`);
  const read = (name: string) => parseRecord(readSmall(pathOf(name), MAX_BYTES));
  return {
    /** Locks the folder until this process ends. False when another process has it. */
    take: async () => (await acquireFolder(folder)) !== null,
    /** The right to ask the service to stop; null while another `viv down` has it. */
    takeTurn: () => tryFolderLock(folder),
    service: (): ServiceState | null => {
      const found = read("service");
      return isOfProcess(found) ? (found as unknown as ServiceState) : null;
    },
    agent: (name: string): AgentState | null => {
      const found = read(name);
      const isOne = AGENT_STATES.some((state) => state === found?.state);
      return isOne ? (found as unknown as AgentState) : null;
    },
    /** Whole or not at all. */
    write: (state: ServiceState | AgentState): void =>
      explained(folder, () => {
        const temporary = join(folder, `.${state.name}.new`); // one process has the folder
        const text = `${JSON.stringify(state, null, 2)}\n`;
        replaceFileUnsynced(pathOf(state.name), text, { temporary });
      }),
    /** All agents that have a file. */
    names: () =>
      listed(folder)
        .filter((name) => name.endsWith(".json"))
        .map((name) => name.slice(0, -".json".length))
        .filter((name) => isName(name) && name !== "service")
        .sort(),
    /** The service's own events. */
    openLog: () => new RotatingLog(join(folder, "up.log"), LOG_BYTES),
    logPath: join(folder, "up.log"),
    /** What a detached start wrote to stderr. */
    startLogPath: join(folder, "start.log"),
    remove: (name: string) => removeSync(pathOf(name)),
    /** The output of its worker, or of its last run. */
    logOf: (name: string, of: "worker" | "run") =>
      join(folder, of === "worker" ? `${name}.log` : `${name}.run.log`),
  };
}
