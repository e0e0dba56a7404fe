import { existsSync, mkdirSync, readdirSync, readFileSync, unlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { ifThere, unlessTaken } from "../../base/errno.ts";
import { parseRecord } from "../../base/json.ts";
import { createIfAbsentUnsynced } from "./atomic-write.ts";

/**
 * `runs/` in the user's state folder: a small file for each run that a command of this user has opened,
 * named by its path. It is made once and never changed, so that any number of processes may note the
 * same run. A run that is gone stays listed until it is pruned.
 */
export interface RunRegistry {
  /** Costs one look when it is known. */
  note(path: string, now: number): void;
  list(): KnownRun[];
  forget(path: string): void;
}

export interface KnownRun {
  path: string;
  /** When a command first opened it. */
  since: string;
}

export function runRegistryIn(folder: string): RunRegistry {
  const fileOf = (path: string) => join(folder, nameFor(path));
  return {
    note(path, now) {
      if (existsSync(fileOf(path))) return;
      makeFolder(folder);
      const text = `${JSON.stringify({ path, since: new Date(now).toISOString() })}\n`;
      createIfAbsentUnsynced(fileOf(path), text);
    },
    list() {
      const names = ifThere(() => readdirSync(folder)) ?? [];
      const runs = names.filter((name) => name.endsWith(".json")).map((name) => read(folder, name));
      return runs.filter((run) => run !== null).sort((a, b) => (a.path < b.path ? -1 : 1));
    },
    forget(path) {
      ifThere(() => unlinkSync(fileOf(path)));
    },
  };
}

/** Not mkdir's own recursion: node's never ends where a folder can be seen but not made. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  if (dirname(folder) !== folder) makeFolder(dirname(folder));
  unlessTaken(() => mkdirSync(folder, { mode: 0o700 })); // by another process just now
}

/** Null for a file that is not one of ours, or is just being written. */
function read(folder: string, name: string): KnownRun | null {
  const text = ifThere(() => readFileSync(join(folder, name), "utf8"));
  const { path, since } = parseRecord(text) ?? {};
  if (typeof path !== "string" || nameFor(path) !== name) return null;
  return { path, since: typeof since === "string" ? since : "" };
}

/** The last word of the path, for people, and a hash of all of it (FNV-1a, 64 bits in two halves). */
function nameFor(path: string): string {
  const word = basename(path)
    .replace(/[^A-Za-z0-9._-]/g, "_")
    .slice(0, 60);
  return `${word}~${hash(path, 0x811c9dc5)}${hash(path, 0x1234567)}.json`;
}

function hash(text: string, seed: number): string {
  let value = seed;
  for (const byte of Buffer.from(text)) value = Math.imul(value ^ byte, 0x01000193) >>> 0;
  return value.toString(36);
}
