import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * The wall clock of whole processes, as a file says: libfaketime (Debian's package faketime). Time that
 * only passes (timers, leases) is the machine's. Undefined where it is not installed.
 */
const LIBRARY = readdirSync("/usr/lib")
  .map((name) => `/usr/lib/${name}/faketime/libfaketimeMT.so.1`)
  .find((path) => existsSync(path));

export const hasFakedClock = LIBRARY !== undefined;

export function fakedClock(folder: string) {
  const file = join(folder, "clock");
  return {
    /** In UTC: `2026-03-01 23:59:50`; it stands there. */
    set: (time: string) => writeFileSync(file, `${time}\n`),
    env: {
      ...{ TZ: "UTC", LD_PRELOAD: LIBRARY ?? "", FAKETIME_TIMESTAMP_FILE: file },
      ...{ FAKETIME_NO_CACHE: "1", FAKETIME_DONT_FAKE_MONOTONIC: "1", NO_FAKE_STAT: "1" },
    },
  };
}
