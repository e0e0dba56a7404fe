import {
  closeSync,
  constants,
  fstatSync,
  linkSync as link,
  lstatSync,
  lutimesSync,
  mkdirSync as mkdir,
  openSync as open,
  readdirSync,
  readlinkSync,
  renameSync as rename,
  rmdirSync as rmdir,
  unlinkSync as unlink,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { VivError } from "../../base/errors.ts";
import { remedyFor, whyNotOwned } from "./owned.ts";

/**
 * File operations that never follow a link below a guarded folder (a run): `fs` under the same names,
 * for whatever changes something or reads a content. The folder's own path is resolved once, by its
 * user; below it, a link in the place of a folder would have us write elsewhere, and to look first
 * and act later would leave a moment between the two.
 *
 * Modes, of each guarded folder:
 *
 * - strict: each folder is opened once, part by part, never through a link, and everything is done by
 *   that handle: `/proc/<pid>/fd/<n>/<name>` is what other languages call openat. Some hundred times a
 *   second it is seen whether the folder is still the one of that name; one that was removed is
 *   opened anew, and a link in its place is RUN_INVALID; so is another user's folder in place of the
 *   guarded one.
 * - loose: the same check, but operations use paths. It costs nothing, and is for callers that
 *   neither run programs nor sync.
 *
 * Where there is no /proc (macOS), strict looks before each operation: not without a gap.
 *
 * Handles are used within one synchronous call and never given away, so that any of them may be
 * closed between two calls.
 */

interface Root {
  strict: number;
  loose: number;
}

interface Held {
  readonly folder: string;
  readonly dev: number;
  readonly ino: number;
  /** What comes before a name, by the handle. */
  readonly prefix: string;
  readonly fd: number | null;
  seenAt: number;
  /** How long that may be taken for granted. */
  readonly seenFor: number;
}

const roots = new Map<string, Root>();
const held = new Map<string, Held>();
/** Another number after handles were closed. */
let generation = 0;

const MOST_HELD = 256;
const SEEN_FOR_MS = { strict: 10, loose: 50 };

/** Guards what lies below this folder, until `release` was called as often. It must be real. */
export function guard(root: string, mode: keyof Root): void {
  const counts = roots.get(root) ?? { strict: 0, loose: 0 };
  counts[mode]++;
  roots.set(root, counts);
  forget(root); // look again: something may be mounted on it by now
}

export function release(root: string, mode: keyof Root): void {
  const counts = roots.get(root);
  if (counts === undefined || counts[mode] === 0) return;
  counts[mode]--;
  if (counts.strict === 0) forget(root);
  if (counts.strict + counts.loose === 0) roots.delete(root);
}

/** A name that is not UTF-8 is bytes; its folder's is not. */
export function renameSync(from: string | Buffer, to: string | Buffer): void {
  byTwo(from, to, rename);
}

export function linkSync(from: string, to: string): void {
  byTwo(from, to, link);
}

export function unlinkSync(path: string): void {
  by(path, unlink);
}

/** Of a file; what is not there is removed. */
export function removeSync(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
}

/** With all that is in it; links are removed, not followed. */
export function removeTreeSync(path: string): void {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (!stats?.isDirectory()) {
    removeSync(path);
    return;
  }
  for (const name of readdirSync(path)) removeTreeSync(`${path}/${name}`);
  rmdirSync(path);
}

/** A new file, whole, or none. */
export function writeNewSync(path: string, text: string | Buffer): void {
  const fd = openSync(path, "wx", 0o600);
  try {
    writeFileSync(fd, text);
  } catch (error) {
    removeSync(path);
    throw error;
  } finally {
    closeSync(fd);
  }
}

export function rmdirSync(path: string): void {
  by(path, (safe) => rmdir(safe));
}

/** Of the link itself, if it is one. */
export function utimesSync(path: string, accessed: Date | number, written: Date | number): void {
  by(path, (safe) => lutimesSync(safe, accessed, written));
}

/** Not with node's recursive mkdir: on a read-only disk it reports ENOENT, or does not return. */
export function mkdirSync(path: string, how: { mode: number; recursive?: boolean }): void {
  const { mode } = how;
  if (!how.recursive) {
    by(path, (safe) => mkdir(safe, how));
    return;
  }
  const missing: string[] = [];
  for (let at = path; lstatSync(at, { throwIfNoEntry: false }) === undefined; at = dirname(at)) {
    missing.unshift(at);
  }
  for (const folder of missing) {
    try {
      by(folder, (safe) => mkdir(safe, { mode }));
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error; // another process made it a moment ago
    }
  }
}

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_DIRECTORY } = constants;
const FLAGS = { r: O_RDONLY, wx: O_WRONLY | O_CREAT | O_EXCL };

/** Below a guarded folder the file itself may be no link either, and a pipe in its place is not waited for. */
export function openSync(path: string, flags: number | keyof typeof FLAGS, mode?: number): number {
  const bits = typeof flags === "number" ? flags : FLAGS[flags];
  return by(path, (safe, isGuarded) =>
    open(safe, isGuarded ? bits | O_NOFOLLOW | O_NONBLOCK : bits, mode),
  );
}

/** Opens a file, and closes it after `use`. */
export function withFile<T>(
  path: string,
  flags: number | keyof typeof FLAGS,
  use: (fd: number) => T,
  mode?: number,
): T {
  const fd = openSync(path, flags, mode);
  try {
    return use(fd);
  } finally {
    closeSync(fd);
  }
}

function by<T>(path: string, act: (safe: string, isGuarded: boolean) => T): T {
  const folder = folderOf(path);
  if (folder === null) return act(path, false);
  try {
    return act(safely(folder, path), true);
  } catch (error) {
    if (!isStale(error, folder)) throw readable(error, [folder]);
  }
  const anew = folderOf(path);
  try {
    return act(safely(anew, path), anew !== null);
  } catch (error) {
    throw readable(error, [anew]);
  }
}

function byTwo<P extends string | Buffer>(from: P, to: P, act: (from: P, to: P) => void): void {
  for (let isAgain = false; ; isAgain = true) {
    const [source, target] = bothOf(String(from), String(to));
    try {
      act(safely(source, from), safely(target, to));
      return;
    } catch (error) {
      const stale = [source, target].filter((one) => one !== null && isStale(error, one));
      if (isAgain || stale.length === 0) throw readable(error, [source, target]);
    }
  }
}

const ROUNDS = 10;

/**
 * Both are open at the same time. To open one may close the other, and its number may be another
 * folder's by then: what was meant for it would come to lie there.
 */
function bothOf(from: string, to: string): [Held | null, Held | null] {
  for (let round = 1; round <= ROUNDS; round++) {
    const source = folderOf(from);
    const before = generation;
    const target = folderOf(to);
    if (generation === before) return [source, target];
  }
  const message = `EMFILE: too many open files, '${from}' -> '${to}'`;
  throw Object.assign(new Error(message), { code: "EMFILE", path: from, dest: to });
}

function safely<P extends string | Buffer>(folder: Held | null, path: P): P {
  if (folder === null || folder.fd === null) return path;
  const name = path.slice(path.lastIndexOf("/") + 1);
  const safe = typeof name === "string" ? folder.prefix + name : prefixed(folder.prefix, name);
  return safe as P;
}

function prefixed(prefix: string, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(prefix), name]);
}

function rootOf(folder: string): string | null {
  for (let at = folder; at.length > 1; at = at.slice(0, at.lastIndexOf("/"))) {
    if (roots.has(at)) return at;
  }
  return null;
}

/** The folder of this path, as it is known; null when it is not guarded. */
function folderOf(path: string): Held | null {
  if (roots.size === 0) return null;
  const folder = path.slice(0, path.lastIndexOf("/"));
  const known = held.get(folder);
  if (known === undefined) {
    const root = rootOf(folder);
    return root === null ? null : hold(folder, root);
  }
  const now = Date.now(); // not for people: a clock that is set back costs a look or two
  const age = now - known.seenAt;
  if (age < known.seenFor && age >= 0) return known;
  if (isStill(known)) {
    known.seenAt = now;
    return known;
  }
  drop(known);
  const root = rootOf(folder);
  return root === null ? null : hold(folder, root);
}

function isStill({ folder, dev, ino }: Held): boolean {
  const stats = lstatSync(folder, { throwIfNoEntry: false });
  return stats?.ino === ino && stats.dev === dev && stats.isDirectory();
}

/** What is not there may be in the folder that has come in the place of ours. */
function isStale(error: unknown, folder: Held): boolean {
  if (codeOf(error) !== "ENOENT" || isStill(folder)) return false;
  drop(folder);
  return true;
}

function hold(folder: string, root: string): Held {
  if (held.size >= MOST_HELD) forget("");
  try {
    return holdOne(folder, root);
  } catch (error) {
    if (codeOf(error) !== "EMFILE" || held.size === 0) throw error;
    forget("");
    return holdOne(folder, root);
  }
}

function holdOne(folder: string, root: string): Held {
  const parent = folder === root ? null : heldParent(folder, root);
  const path = safely(parent, folder);
  const mode = (roots.get(root)?.strict ?? 0) > 0 ? "strict" : "loose";
  const seenFor = mode === "strict" && !hasHandles ? 0 : SEEN_FOR_MS[mode];
  let fd: number | null = null;
  try {
    if (mode === "strict" && hasHandles) fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    const stats = fd === null ? lstatSync(path) : fstatSync(fd);
    if (!stats.isDirectory()) {
      throw Object.assign(new Error(`ENOTDIR: not a directory, '${path}'`), { code: "ENOTDIR" });
    }
    // A user who can write above it may have replaced it since it was opened first.
    const why = folder === root && mode === "strict" ? whyNotOwned(folder, stats) : null;
    if (why !== null) throw replaced(root, why);
    const { dev, ino } = stats;
    const prefix = fd === null ? "" : `${HANDLES}${fd}/`;
    const one: Held = { folder, dev, ino, prefix, fd, seenAt: Date.now(), seenFor };
    held.set(folder, one);
    return one;
  } catch (error) {
    if (fd !== null) closeSync(fd);
    const code = codeOf(error);
    if ((code === "ENOTDIR" || code === "ELOOP") && isLink(path)) throw notFollowed(folder, root);
    throw readable(error, [parent]);
  }
}

function heldParent(folder: string, root: string): Held {
  const path = dirname(folder);
  const known = held.get(path);
  if (known !== undefined && isStill(known)) return known;
  if (known !== undefined) drop(known);
  return holdOne(path, root);
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}

function notFollowed(folder: string, root: string): VivError {
  const name = folder === root ? "the run directory" : folder.slice(root.length + 1);
  const message = `${name} in ${root} is a symbolic link; put a real folder there, links inside a run are not followed.`;
  return new VivError("RUN_INVALID", message, { path: folder, isLink: true });
}

function replaced(root: string, why: string): VivError {
  const message = `${root} is not used, because it ${why}; ${remedyFor(root)}.`;
  return new VivError("RUN_INVALID", message, { path: root });
}

function drop(one: Held): void {
  forget(one.folder);
}

/** Of this folder and all below it; "": of all. */
function forget(folder: string): void {
  generation++;
  for (const [path, { fd }] of held) {
    if (folder !== "" && path !== folder && !path.startsWith(`${folder}/`)) continue;
    held.delete(path);
    if (fd !== null) closeSync(fd);
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | null)?.code;
}

/** People know a file by its path, not by our number for its folder. */
function readable(error: unknown, folders: readonly (Held | null)[]): unknown {
  if (!(error instanceof Error)) return error;
  const failed = error as NodeJS.ErrnoException & { dest?: string };
  for (const one of folders) {
    if (one === null || one.fd === null) continue;
    const byPath = (text: string) => text.replace(one.prefix, `${one.folder}/`);
    failed.message = byPath(failed.message);
    if (failed.path !== undefined) failed.path = byPath(failed.path);
    if (failed.dest !== undefined) failed.dest = byPath(failed.dest);
  }
  return error;
}

/** Ours, and not those of another process with our number in another namespace. */
const HANDLES = handlesAt();
const hasHandles = HANDLES !== "";

function handlesAt(): string {
  try {
    if (process.platform !== "linux") return "";
    return readlinkSync("/proc/self") === String(process.pid)
      ? `/proc/${process.pid}/fd/`
      : "/proc/self/fd/";
  } catch {
    return ""; // no /proc
  }
}
