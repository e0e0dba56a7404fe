import { existsSync, renameSync } from "node:fs";
import { basename, join } from "node:path";
import { isName } from "../base/names.ts";
import { createFileSynced, replaceFileUnsynced } from "../platform/files/atomic-write.ts";
import { codeOf } from "../platform/files/state-files.ts";
import type { DanceFiles } from "./dance-files.ts";
import { json, type WardenFolder } from "./folder.ts";
import { OpenTargets, type Warrant } from "./warrant.ts";
import { type BadWarrant, type WarrantReader, warrantIn } from "./warrant-reader.ts";

/** `warrants/`, and where those go that no dog takes: `rejected/`, `withdrawn/`. */
export interface QueueFiles {
  /** The queue, the oldest first, and what lies in it that is no warrant. */
  queued(): { warrants: Warrant[]; bad: BadWarrant[] };
  /** Files it, unless its target has an open warrant: then the id of that one. */
  file(warrant: Warrant): Promise<{ filed: boolean; id: string }>;
  /** The name of the file that this warrant is in. */
  fileOf(id: string): string;
  /** Out of the queue, for good. */
  reject(name: string, why: string): void;
  /** A crash came between a dance and the end of its waiting. */
  dropQueued(id: string): void;
  /** False when it is not in the queue. */
  withdrawQueued(id: string): Promise<boolean>;
  withdrawn(id: string): Warrant | null;
}

export function queueFiles(
  { at, locked, remove, told }: WardenFolder,
  { queued, pathOf }: WarrantReader,
  { dances }: Pick<DanceFiles, "dances">,
): QueueFiles {
  return {
    queued: () => told(queued),
    file: (warrant) =>
      locked(() => {
        const dancing = dances().map((dance) => ({ ...dance.warrant, bound: dance.bound }));
        const same = new OpenTargets([...dancing, ...queued().warrants]).same(warrant);
        if (same !== undefined) return { filed: false, id: same };
        createFileSynced(at("warrants", `${warrant.id}.json`), json(warrant));
        return { filed: true, id: warrant.id };
      }),
    fileOf: (id) => told(() => basename(pathOf(id))),
    reject: (name, why) =>
      told(() => {
        const to = freeName(at("rejected"), name);
        replaceFileUnsynced(`${to}.why`, `${why}\n`);
        moveIfThere(at("warrants", name), to);
      }),
    dropQueued: (id) => remove(pathOf(id)),
    withdrawQueued: (id) =>
      locked(() => isName(id) && moveIfThere(pathOf(id), at("withdrawn", `${id}.json`))),
    withdrawn: (id) => {
      const found = isName(id) ? warrantIn(at("withdrawn", `${id}.json`), `${id}.json`, 0) : null;
      return typeof found === "string" ? null : found;
    },
  };
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
