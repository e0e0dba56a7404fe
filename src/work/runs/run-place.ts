import { lstatSync, readFileSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { VivError } from "../../base/errors.ts";

/** The names beside a run that is being archived, restored or removed. */
export interface RunPlace {
  path: string;
  parent: string;
  base: string;
  /** The packed run. */
  tar: string;
  /** The same while it is written. */
  draft: string;
  /** The run, once it is packed and out of the way. */
  archiving: string;
  /** For a comparison of the two. */
  checking: string;
  /** The run, while it is unpacked. */
  restoring: string;
  /** The run, once it is out of the way and on its way out. */
  removing: string;
}

export function placeOf(given: string): RunPlace {
  const path = resolve(given);
  const parent = dirname(path);
  const base = basename(path);
  if (base === "") throw new VivError("INVALID", "the root of the filesystem is no run.");
  const beside = (name: string) => join(parent, name);
  return {
    path,
    parent,
    base,
    tar: beside(`${base}.tar.gz`),
    draft: beside(`.${base}.tar.gz.new`),
    archiving: beside(`.${base}.archiving`),
    checking: beside(`.${base}.checking`),
    restoring: beside(`.${base}.restoring`),
    removing: beside(`.${base}.removing`),
  };
}

/** What is moved or removed is the folder that was named, never what a link points to. */
export function assertNoLink({ path }: RunPlace): void {
  if (!lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) return;
  throw new VivError("INVALID", `${path} is a symbolic link; name the run that it points to.`);
}

/** What is mounted inside is not the run's, and would be packed or removed with it. */
export function assertNoMounts(path: string, table = "/proc/self/mountinfo"): void {
  const inside = mountPoints(table).filter((one) => one.startsWith(`${realpathSync(path)}/`));
  if (inside.length === 0) return;
  const message = `${inside.join(", ")}: mounted inside of ${path}; unmount ${inside.length === 1 ? "it" : "them"} first, nothing was removed.`;
  throw new VivError("RUN_INVALID", message, { mounts: inside });
}

/** On Linux; elsewhere none are known. */
function mountPoints(table: string): string[] {
  try {
    const lines = readFileSync(table, "utf8").split("\n");
    const unescaped = (text: string) =>
      text.replace(/\\([0-7]{3})/g, (_, code) => String.fromCharCode(Number.parseInt(code, 8)));
    return lines.flatMap((line) => line.split(" ")[4] ?? []).map(unescaped);
  } catch {
    return [];
  }
}
