import { lstatSync } from "node:fs";
import { join } from "node:path";
import { isRecord, parseRecord } from "../../base/json.ts";
import { replaceFileSynced } from "../../platform/files/atomic-write.ts";
import { guard } from "../../platform/files/beneath.ts";
import { withFileLock } from "../../platform/files/file-lock.ts";
import { explained, readSmall } from "../../platform/files/state-files.ts";

/** What is kept of a schedule, as in the file: times are in ISO form. */
export interface ScheduleState {
  /** Every fire up to then is enqueued or skipped. */
  handled: string;
  /** Of which that is said: another one begins with the present. */
  pattern?: string;
  /** A fire that may be enqueued in part. */
  begun?: string;
  paused?: { by: string; at: string };
  /** The last fire that was enqueued, and the ids of its tasks. */
  last?: { fire: string; ids: string[] };
  /** Why the last try failed. */
  note?: string;
}

const MAX_BYTES = 16 * 1024 * 1024;

export type ScheduleFiles = ReturnType<typeof scheduleFilesIn>;

/** `schedules.json` in that folder: written by `viv up` and by `viv schedule`, under a lock. */
export function scheduleFilesIn(run: string, folder: string) {
  const path = join(folder, "schedules.json");
  // Each schedule asks at each pass, and few passes change anything. The file is replaced, never changed.
  let known: { version: string; states: ReadonlyMap<string, ScheduleState> } | undefined;
  const read = (): Map<string, ScheduleState> => {
    const version = versionOf(path);
    if (known?.version !== version) known = { version, states: statesIn(path) };
    return new Map(known.states);
  };
  /** Changes the states in one write; false: there is nothing to write. */
  const updateAll = (change: (states: Map<string, ScheduleState>) => boolean): Promise<void> =>
    explained(path, () => {
      guard(run, "strict"); // handlers write there, too
      return withFileLock(join(folder, ".schedules.lock"), () => {
        const states = read();
        if (!change(states)) return;
        replaceFileSynced(path, `${JSON.stringify(Object.fromEntries(states), null, 1)}\n`);
      });
    });
  return {
    read,
    updateAll,
    /** Changes the state of one schedule; null removes nothing and writes nothing. */
    update: (
      name: string,
      change: (state: ScheduleState | undefined) => ScheduleState | null,
    ): Promise<void> =>
      updateAll((states) => {
        const next = change(states.get(name));
        if (next !== null) states.set(name, next);
        return next !== null;
      }),
  };
}

function versionOf(path: string): string {
  const stats = lstatSync(path, { throwIfNoEntry: false, bigint: true });
  return stats === undefined ? "" : `${stats.ino} ${stats.mtimeNs} ${stats.size}`;
}

/** A file that cannot be read counts as missing: ids keep a fire from being enqueued twice. */
function statesIn(path: string): Map<string, ScheduleState> {
  const found = parseRecord(readSmall(path, MAX_BYTES)) ?? {};
  const states = Object.entries(found).flatMap(([name, value]): [string, ScheduleState][] => {
    const handled = isRecord(value) ? Date.parse(String(value.handled)) : Number.NaN;
    return Number.isNaN(handled) ? [] : [[name, value as unknown as ScheduleState]];
  });
  return new Map(states);
}
