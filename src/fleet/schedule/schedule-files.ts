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
  const read = (): Map<string, ScheduleState> => {
    const found = parseRecord(readSmall(path, MAX_BYTES)) ?? {};
    // A file that cannot be read counts as missing: ids keep a fire from being enqueued twice.
    const states = Object.entries(found).flatMap(([name, value]): [string, ScheduleState][] => {
      const handled = isRecord(value) ? Date.parse(String(value.handled)) : Number.NaN;
      return Number.isNaN(handled) ? [] : [[name, value as unknown as ScheduleState]];
    });
    return new Map(states);
  };
  return {
    read,
    /** Changes the state of one schedule; null removes nothing and writes nothing. */
    update: (
      name: string,
      change: (state: ScheduleState | undefined) => ScheduleState | null,
    ): Promise<void> =>
      explained(path, () => {
        guard(run, "strict"); // handlers write there, too
        return withFileLock(join(folder, ".schedules.lock"), () => {
          const states = read();
          const next = change(states.get(name));
          if (next === null) return;
          states.set(name, next);
          replaceFileSynced(path, `${JSON.stringify(Object.fromEntries(states), null, 1)}\n`);
        });
      }),
  };
}
