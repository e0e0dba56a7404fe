import { lstatSync, mkdirSync, readFileSync, unlinkSync } from "node:fs";
import { dirname } from "node:path";
import { machineErrorOf } from "../../base/errno.ts";
import { VivError } from "../../base/errors.ts";
import { replaceFileSynced } from "../files/atomic-write.ts";

/** The few files that `viv service` has outside of a run. */
export interface UnitFiles {
  /** Also a link that leads nowhere is there. */
  isThere(path: string): boolean;
  /** Null when it is not there. */
  read(path: string): string | null;
  /** Makes its folder, too. A reader finds the old file or the new one, never half of it. */
  write(path: string, text: string): void;
  /** False when it was not there. */
  remove(path: string): boolean;
}

export const unitFiles: UnitFiles = {
  isThere: (path) => lstatSync(path, { throwIfNoEntry: false }) !== undefined,
  read: (path) => orNull(path, () => readFileSync(path, "utf8")),
  write: (path, text) => explained(path, () => replace(path, text)),
  remove: (path) => orNull(path, () => unlinkSync(path)) !== null,
};

function replace(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  replaceFileSynced(path, text, { mode: 0o644 }); // its other name is hidden: systemd passes over it
}

function orNull<T>(path: string, act: () => T): T | null {
  try {
    return act();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw failure(path, error);
  }
}

function explained<T>(path: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw failure(path, error);
  }
}

function failure(path: string, cause: unknown): unknown {
  const { code, message } = cause as NodeJS.ErrnoException;
  const known = machineErrorOf(cause);
  if (known === "DISK_FULL") {
    return new VivError("DISK_FULL", `the disk is full at ${path}.`, {}, { cause });
  }
  if (known !== undefined) {
    return new VivError(known, `${path} cannot be written: ${message}`, {}, { cause });
  }
  if (code === undefined) return cause;
  return new VivError("INVALID", `${path} cannot serve as a unit file: ${message}`, {}, { cause });
}
