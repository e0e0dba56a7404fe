import { lstatSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { quoted } from "../base/text.ts";
import type { NewEntry } from "../ledger/line.ts";
import { recordIn } from "../ledger/room-ledger.ts";
import { withFileLock } from "../platform/files/file-lock.ts";
import { explained } from "../platform/files/state-files.ts";

export const MAX_WARRANT = 64 * 1024;
export const MAX_DANCE = 16 * 1024 * 1024;
export const FOLDERS = [
  ...["warrants", "active", "completed", "epitaphs", "inbox", "rejected", "withdrawn"],
  ...["withdrawals", "questions", "answers", "untold"],
];

export type WardenFolder = ReturnType<typeof wardenFolder>;

/** The warden's state folder: its parts and its lock. `lock`: tests with a fake clock bring their own. */
export function wardenFolder(path: string, lock = withFileLock) {
  const at = (...parts: string[]) => join(path, ...parts);
  const make = () => {
    for (const name of FOLDERS) mkdirSync(at(name), { recursive: true, mode: 0o700 });
  };
  /** Turns errors of the file system into VivErrors. */
  const explain = <T>(act: () => T): T => explained(path, act);
  return {
    at,
    make,
    explained: explain,
    /** Under the lock of the queue and the dances. */
    locked: <T>(act: () => T): Promise<T> =>
      explain(async () => {
        make();
        return lock(at(".files"), act);
      }),
    /** Adds a line to the warden's ledger (§31). A gap in it must not undo what it is about. */
    record: (at: number, entry: NewEntry) => {
      try {
        recordIn(path, at, entry);
      } catch {
        // A full disk, most likely: the next thing that matters more reports it.
      }
    },
    /** Also a folder of that name. */
    remove: (file: string) => explain(() => rmSync(file, { force: true, recursive: true })),
  };
}

/** Hidden names are files half written. */
export function isMeant(name: string): boolean {
  return !name.startsWith(".");
}

export function timeOf(path: string): number {
  return lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

export function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** With its folder, so that the command is about the warden of this one. */
export function wardenCommand(word: "up" | "resume", folder: string): string {
  return `viv warden ${word} --state-dir ${quoted(folder)}`;
}
