import { join } from "node:path";
import type { ProcessIdentity } from "../base/clock.ts";
import { parseRecord } from "../base/json.ts";
import { replaceFileUnsynced } from "../platform/files/atomic-write.ts";
import { guard } from "../platform/files/beneath.ts";
import { acquireFolder, tryFolderLock } from "../platform/files/file-lock.ts";
import { RotatingLog } from "../platform/files/rotating-log.ts";
import { explained, readSmall } from "../platform/files/state-files.ts";
import type { PartKind } from "./parts.ts";
import { isOfProcess } from "./up-files.ts";

export type PartStateName =
  | "starting"
  | "working"
  | "idle"
  | "paused"
  | "resting"
  | "parked"
  | "stopping"
  | "stopped";

/** A part in `state.json`. */
export interface PartState {
  name: string;
  kind: PartKind;
  state: PartStateName;
  /** Null when it has no process of its own, as a clock. */
  process: ProcessIdentity | null;
  /** Time of the last change of `state`. */
  since: string;
  restarts: number;
  /** For people: its work at this moment. */
  doing: string;
  /** For people: what is wrong. */
  note: string;
}

/** `state.json`. */
export interface FleetState extends ProcessIdentity {
  state: "starting" | "working" | "stopping" | "stopped";
  /** It gives back what has begun: it was asked twice. */
  at_once?: boolean;
  since: string;
  run: string;
  /** The viv.toml that counts, if there is one. */
  config: string | null;
  /** What is wrong with the last edit of it. */
  note: string;
  parts: PartState[];
  /** Parts of earlier supervisors, which were killed, as long as their processes are there. */
  left?: PartState[];
}

const MAX_BYTES = 4 * 1024 * 1024;
const LOG_BYTES = 5 * 1024 * 1024;

export type FleetFiles = ReturnType<typeof fleetFilesIn>;

/** `.viv/up/fleet/` of a run: written by its supervisor, read by `viv ps`, `viv down` and the next one. */
export function fleetFilesIn(run: string) {
  const folder = join(run, ".viv/up/fleet");
  const at = (name: string) => join(folder, name);
  return {
    folder,
    /** Locks the run's fleet until this process ends; null when another process has it. */
    take: () => {
      guard(run, "strict"); // handlers write there, too
      return acquireFolder(folder);
    },
    /** The right to ask the supervisor to stop; null while another `viv down` has it. */
    takeTurn: () => tryFolderLock(folder),
    read: (): FleetState | null => {
      const found = parseRecord(readSmall(at("state.json"), MAX_BYTES));
      const isOne = isOfProcess(found) && Array.isArray(found.parts);
      return isOne ? (found as unknown as FleetState) : null;
    },
    /** Whole or not at all. */
    write: (state: FleetState): void =>
      explained(folder, () => {
        const temporary = at(".state.new"); // one process has the folder
        replaceFileUnsynced(at("state.json"), `${JSON.stringify(state)}\n`, { temporary });
      }),
    /** The supervisor's own events. */
    openLog: () => new RotatingLog(at("up.log"), LOG_BYTES),
    logPath: at("up.log"),
    startLogPath: at("start.log"),
    logOf: (part: string) => at(`${part}.log`),
  };
}
