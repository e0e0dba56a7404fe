import { existsSync, lstatSync, renameSync } from "node:fs";
import { join } from "node:path";
import { isVivError } from "../../model/errors.ts";
import { isName } from "../../model/names.ts";
import { OpenTargets, parseWarrant, type Warrant } from "../../model/warrant.ts";
import { codeOf, listed, readSmall } from "../state-files.ts";
import { publish, replace } from "../whole-files.ts";
import type { DanceFiles } from "./dance-files.ts";
import { isMeant, json, MAX_WARRANT, timeOf, type WardenFolder } from "./folder.ts";

/** `warrants/`, and where those go that no dog takes: `rejected/`, `withdrawn/`. */
export interface QueueFiles {
  /** The queue, the oldest first, and what lies in it that is no warrant. */
  queued(): { warrants: Warrant[]; bad: BadWarrant[] };
  /** Files it, unless its target has an open warrant: then the id of that one. */
  file(warrant: Warrant): { filed: boolean; id: string };
  /** Out of the queue, for good. */
  reject(name: string, why: string): void;
  /** A crash came between a dance and the end of its waiting. */
  dropQueued(id: string): void;
  /** False when it is not in the queue. */
  withdrawQueued(id: string): boolean;
  withdrawn(id: string): Warrant | null;
}

export interface BadWarrant {
  name: string;
  why: string;
  /** When it was last written: it may be half of one. */
  at: number;
}

export function queueFiles(
  { at, locked, remove, told }: WardenFolder,
  { dances }: Pick<DanceFiles, "dances">,
): QueueFiles {
  const known = new Map<string, { stamp: string; read: Warrant | string }>();

  const read = (name: string): Warrant | string | null => {
    const path = at("warrants", name);
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return null;
    const stamp = `${stats.ino}.${stats.mtimeMs}.${stats.size}`;
    const before = known.get(name);
    if (before?.stamp === stamp) return before.read;
    const now = warrantIn(path, name, stats.mtimeMs);
    if (now !== null) known.set(name, { stamp, read: now });
    return now;
  };

  const queued: QueueFiles["queued"] = () => {
    const names = listed(at("warrants")).filter(isMeant);
    for (const name of known.keys()) if (!names.includes(name)) known.delete(name);
    const warrants: Warrant[] = [];
    const bad: BadWarrant[] = [];
    for (const name of names) {
      const found = read(name);
      if (typeof found === "string")
        bad.push({ name, why: found, at: timeOf(at("warrants", name)) });
      else if (found !== null) warrants.push(found);
    }
    return { warrants: warrants.sort(byAge), bad };
  };

  return {
    queued: () => told(queued),
    file: (warrant) =>
      locked(() => {
        const dancing = dances().map((dance) => ({ ...dance.warrant, bound: dance.bound }));
        const same = new OpenTargets([...dancing, ...queued().warrants]).same(warrant);
        if (same !== undefined) return { filed: false, id: same };
        publish(at("warrants", `${warrant.id}.json`), json(warrant), "new");
        return { filed: true, id: warrant.id };
      }),
    reject: (name, why) =>
      told(() => {
        const to = freeName(at("rejected"), name);
        replace(`${to}.why`, `${why}\n`);
        moveIfThere(at("warrants", name), to);
      }),
    dropQueued: (id) => remove(at("warrants", `${id}.json`)),
    withdrawQueued: (id) =>
      locked(
        () =>
          isName(id) && moveIfThere(at("warrants", `${id}.json`), at("withdrawn", `${id}.json`)),
      ),
    withdrawn: (id) => {
      const found = isName(id) ? warrantIn(at("withdrawn", `${id}.json`), `${id}.json`, 0) : null;
      return typeof found === "string" ? null : found;
    },
  };
}

function byAge(a: Warrant, b: Warrant): number {
  if (a.filed_at !== b.filed_at) return a.filed_at < b.filed_at ? -1 : 1;
  return a.id < b.id ? -1 : 1;
}

/** A sentence says why it is none; null when it is gone. */
function warrantIn(path: string, name: string, time: number): Warrant | string | null {
  if (!name.endsWith(".json")) return "a warrant is a file whose name ends with .json";
  try {
    const text = readSmall(path, MAX_WARRANT);
    if (text === null) {
      return lstatSync(path, { throwIfNoEntry: false })
        ? "it is no plain file, or larger than 64 KiB"
        : null;
    }
    return parseWarrant(text, name.slice(0, -".json".length), time);
  } catch (error) {
    if (isVivError(error, "INVALID")) return error.message;
    if (isVivError(error, "READ_ONLY")) return "it may not be read";
    throw error;
  }
}

/** False when it was not there (any more). */
function moveIfThere(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
}

function freeName(folder: string, name: string): string {
  for (let n = 0; ; n++) {
    const path = join(folder, n === 0 ? name : `${name}.${n}`);
    if (!existsSync(path)) return path;
  }
}
