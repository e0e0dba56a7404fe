import { existsSync, lstatSync, renameSync, type Stats } from "node:fs";
import { basename, join } from "node:path";
import { isVivError } from "../base/errors.ts";
import { isName } from "../base/names.ts";
import { createFileSynced, replaceFileUnsynced } from "../platform/files/atomic-write.ts";
import { whyNotOwned } from "../platform/files/owned.ts";
import { codeOf, listed, readSmall } from "../platform/files/state-files.ts";
import type { DanceFiles } from "./dance-files.ts";
import { isMeant, json, MAX_WARRANT, timeOf, type WardenFolder } from "./folder.ts";
import { OpenTargets, parseWarrant, type Warrant } from "./warrant.ts";

/** `warrants/`, and those that no dog takes: `rejected/`, `withdrawn/`. */
export function queueFiles(
  { at, locked, remove, explained, record }: WardenFolder,
  { queued, named, pathOf }: WarrantReader,
  { dances }: Pick<DanceFiles, "dances">,
) {
  const recordFiled = ({ id, target, kind, requester, reason, filed_at }: Warrant) => {
    const about = { warrant: id, target, kind, note: reason };
    record(Date.parse(filed_at) || Date.now(), {
      ...{ room: "warden", event: "filed", agent: requester, ...about },
    });
  };
  return {
    /** The queue, the oldest first, and the files in it that are no warrants. */
    queued: () => explained(queued),
    /** Files it, unless its target has an open warrant: then the id of that one. */
    file: (warrant: Warrant, ownSocket?: string) =>
      locked(() => {
        const dancing = dances().map((dance) => ({ ...dance.warrant, bound: dance.bound }));
        const same = new OpenTargets([...dancing, ...queued().warrants], ownSocket).same(warrant);
        if (same !== undefined) return { filed: false, id: same };
        createFileSynced(at("warrants", `${warrant.id}.json`), json(warrant));
        recordFiled(warrant);
        return { filed: true, id: warrant.id };
      }),
    /** The warrant in the file of that name: its id may be another. */
    warrantNamed: (name: string) => explained(() => named(name)),
    /** The name of the file that this warrant is in. */
    fileOf: (id: string) => explained(() => basename(pathOf(id))),
    /** Out of the queue, for good. */
    reject: (name: string, why: string) =>
      explained(() => {
        const to = freeName(at("rejected"), name);
        replaceFileUnsynced(`${to}.why`, `${why}\n`);
        moveIfThere(at("warrants", name), to);
      }),
    /** After a crash between the begin of a dance and the end of its waiting. */
    dropQueued: (id: string) => remove(pathOf(id)),
    /** False when it is not in the queue. */
    withdrawQueued: (id: string) =>
      locked(() => isName(id) && moveIfThere(pathOf(id), at("withdrawn", `${id}.json`))),
    withdrawn: (id: string) => {
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

export type WarrantReader = ReturnType<typeof warrantReader>;

/** Reads `warrants/`: a file may have any name, if its id is inside. */
export function warrantReader({ at }: Pick<WardenFolder, "at">) {
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

  const inQueue = () => {
    const names = new Set(listed(at("warrants")).filter(isMeant));
    for (const name of known.keys()) if (!names.has(name)) known.delete(name);
    const files = new Map<string, { name: string; warrant: Warrant }>();
    /** `at`: when it was last written, because it may be half of one. */
    const bad: { name: string; why: string; at: number }[] = [];
    const refuse = (name: string, why: string) =>
      void bad.push({ name, why, at: timeOf(at("warrants", name)) });
    // Which of two with the same id counts must not depend on the order of a listing.
    for (const name of [...names].sort()) {
      const found = read(name);
      if (typeof found === "string") refuse(name, found);
      if (found === null || typeof found === "string") continue;
      const other = files.get(found.id);
      const isNamedSo = name === `${found.id}.json`;
      if (other === undefined || isNamedSo) files.set(found.id, { name, warrant: found });
      if (other === undefined) continue;
      const [kept, second] = isNamedSo ? [name, other.name] : [other.name, name];
      refuse(second, `not a warrant: ${kept} has the id ${found.id} already.`);
    }
    return { files, bad };
  };

  return {
    queued: () => {
      const { files, bad } = inQueue();
      return { warrants: [...files.values()].map(({ warrant }) => warrant).sort(byAge), bad };
    },
    named: (name: string) => {
      const file = name.endsWith(".json") ? name : `${name}.json`;
      const found = isName(name) ? read(file) : null;
      return typeof found === "string" ? null : found;
    },
    /** Where this warrant lies, or would lie. */
    pathOf: (id: string) => {
      const own = read(`${id}.json`);
      const isOwn = own === null || (typeof own !== "string" && own.id === id);
      const name = isOwn && own !== null ? `${id}.json` : inQueue().files.get(id)?.name;
      return at("warrants", name ?? (isOwn ? `${id}.json` : `${id}.again.json`));
    },
  };
}

function byAge(a: Warrant, b: Warrant): number {
  const [since, than] = [a.released_at ?? a.filed_at, b.released_at ?? b.filed_at];
  if (since !== than) return since < than ? -1 : 1;
  return a.id < b.id ? -1 : 1;
}

/** The warrant, or why it is none; null when it is gone. */
export function warrantIn(path: string, name: string, time: number): Warrant | string | null {
  if (!name.endsWith(".json")) return "a warrant is a file whose name ends with .json";
  try {
    let notOwned: string | null = null;
    const isOwned = (stats: Stats) => {
      notOwned = whyNotOwned(path, stats); // it may end a process
      return notOwned === null;
    };
    const text = readSmall(path, MAX_WARRANT, isOwned);
    if (notOwned !== null) return `it ${notOwned}`;
    if (text !== null) return parseWarrant(text, name.slice(0, -".json".length), time);
    const isThere = lstatSync(path, { throwIfNoEntry: false }) !== undefined;
    return isThere ? "it is no plain file, or larger than 64 KiB" : null;
  } catch (error) {
    if (isVivError(error, "INVALID")) return error.message;
    if (isVivError(error, "READ_ONLY")) return "it may not be read";
    throw error;
  }
}
