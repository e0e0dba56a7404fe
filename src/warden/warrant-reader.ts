import { lstatSync, type Stats } from "node:fs";
import { isVivError } from "../base/errors.ts";
import { whyNotOwned } from "../platform/files/owned.ts";
import { listed, readSmall } from "../platform/files/state-files.ts";
import { isMeant, MAX_WARRANT, timeOf, type WardenFolder } from "./folder.ts";
import { parseWarrant, type Warrant } from "./warrant.ts";

/** `warrants/` as it lies there: a file may be called what it likes, if it has its id inside. */
export interface WarrantReader {
  /** The queue, and what lies in it that is no warrant. */
  queued(): { warrants: Warrant[]; bad: BadWarrant[] };
  /** Where this warrant lies, or would lie. */
  pathOf(id: string): string;
}

export interface BadWarrant {
  name: string;
  why: string;
  /** When it was last written: it may be half of one. */
  at: number;
}

export function warrantReader({ at }: Pick<WardenFolder, "at">): WarrantReader {
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
    const names = listed(at("warrants")).filter(isMeant);
    for (const name of known.keys()) if (!names.includes(name)) known.delete(name);
    const files = new Map<string, { name: string; warrant: Warrant }>();
    const bad: BadWarrant[] = [];
    const refuse = (name: string, why: string) =>
      void bad.push({ name, why, at: timeOf(at("warrants", name)) });
    // Which of two with the same id counts must not depend on the order of a listing.
    for (const name of names.sort()) {
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
    pathOf: (id) => {
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

/** A sentence says why it is none; null when it is gone. */
export function warrantIn(path: string, name: string, time: number): Warrant | string | null {
  if (!name.endsWith(".json")) return "a warrant is a file whose name ends with .json";
  try {
    let stranger: string | null = null;
    const isOwned = (stats: Stats) => {
      stranger = whyNotOwned(path, stats); // it may end a process
      return stranger === null;
    };
    const text = readSmall(path, MAX_WARRANT, isOwned);
    if (stranger !== null) return `it ${stranger}`;
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
