import { lstatSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { withFileLock } from "../platform/files/file-lock.ts";
import { explained } from "../platform/files/state-files.ts";

/** The warden's state folder as such: its parts, its lock, and what all of its files have in common. */
export interface WardenFolder {
  readonly path: string;
  at(...parts: string[]): string;
  make(): void;
  /** Nobody else changes the queue or the dances meanwhile. */
  locked<T>(act: () => T): Promise<T>;
  /** Errors are told in words. */
  told<T>(act: () => T): T;
  /** Whatever it is: somebody may have made a folder of that name. */
  remove(path: string): void;
}

export const MAX_WARRANT = 64 * 1024;
export const MAX_DANCE = 16 * 1024 * 1024;
export const FOLDERS = [
  "warrants",
  "active",
  "completed",
  "epitaphs",
  "inbox",
  "rejected",
  "withdrawn",
  "withdrawals",
  "questions",
  "answers",
  "untold",
];

/** `lock`: tests whose time is not real bring one that takes none. */
export function wardenFolder(path: string, lock = withFileLock): WardenFolder {
  const at = (...parts: string[]) => join(path, ...parts);
  const make = () => {
    for (const name of FOLDERS) mkdirSync(at(name), { recursive: true, mode: 0o700 });
  };
  const told = <T>(act: () => T): T => explained(path, act);
  return {
    path,
    at,
    make,
    told,
    locked: (act) =>
      told(async () => {
        make();
        return lock(at(".files"), act);
      }),
    remove: (file) => told(() => rmSync(file, { force: true, recursive: true })),
  };
}

/** Hidden names are files half written. */
export function isMeant(name: string): boolean {
  return !name.startsWith(".");
}

export function isSince(path: string, since: number): boolean {
  return timeOf(path) >= since;
}

export function timeOf(path: string): number {
  return lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

export function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

export function parsed<T>(text: string | null): T | null {
  if (text === null) return null;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as T) : null;
  } catch {
    return null; // torn by a power loss
  }
}
