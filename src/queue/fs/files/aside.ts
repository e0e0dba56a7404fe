import { chmodSync, lstatSync, readdirSync } from "node:fs";
import { basename, dirname } from "node:path";
import { errno, unlessTaken } from "../../../base/errno.ts";
import { canonicalJson } from "../../../base/json.ts";
import {
  mkdirSync,
  renameSync,
  unlinkSync,
  writeNewSync,
} from "../../../platform/files/beneath.ts";

/**
 * An object in the place of a file of the run goes to quarantine/, whole, with the reason beside it.
 * Below `.viv/` any writer that needs the place does this: all of that is derived.
 */

const FOLDERS =
  "tmp|ids|lanes|cursors|dependents|due|attempts|workers|processes|heartbeats|numbers|parts|hand|told";
const DERIVED = new RegExp(`^(.+)/\\.viv/(?:(${FOLDERS})/(?:([0-9]+)/)?)?[^/]+$`, "s");
const FILE_NAME_BYTES = 255;
const REASON = ".reason";

/** Whether it can be written again: all below `.viv/`, locks, heartbeats. */
export function isDerived(path: string): boolean {
  return DERIVED.test(path) || /\/(?:\.status\.lock|\.heartbeat)$/.test(path);
}

/**
 * Makes the folders of a derived file that are missing, and those that are something else. False
 * when it is not derived, or when the run itself was removed: then nothing is made.
 */
export function remakeFolders(path: string): boolean {
  const [, root, folder, bucket] = DERIVED.exec(path) ?? [];
  if (root === undefined) return false;
  let at = root;
  for (const name of [".viv", folder, bucket]) {
    if (name === undefined) break;
    at = `${at}/${name}`;
    const stats = statOf(at);
    if (stats?.isDirectory()) continue;
    if (!isRunAt(root)) return false;
    if (stats && !setAside(at, "not a folder")) return false;
    try {
      mkdirSync(at, { mode: 0o700 });
    } catch (error) {
      // Removed again while it was made: the caller tries again, and gets the error then.
      if (errno(error) === "ENOENT" && at !== `${root}/.viv`) return true;
      if (errno(error) !== "EEXIST") throw error; // another process made it a moment ago
    }
  }
  return true;
}

/** Every layout has one of these. Without both, the run is removed, or being removed. */
function isRunAt(root: string): boolean {
  return ["claimed", "done"].some((name) => statOf(`${root}/${name}`) !== undefined);
}

/** Makes a file of ours writable again. False when it belongs to another user. */
export function allow(path: string): boolean {
  if (!statOf(path)?.isFile()) return false; // a link's target is not ours
  try {
    chmodSync(path, 0o600);
    return true;
  } catch {
    return false;
  }
}

/** Moves it to the quarantine of its run. False when it could not be moved. */
export function setAside(path: string, reason: string): boolean {
  const folder = quarantineFor(path);
  if (folder === null) return false;
  const from = path.slice(dirname(folder).length + 1);
  try {
    return moveAside(folder, path, quarantineNote(new Date().toISOString(), from, reason));
  } catch {
    return false; // a read-only disk: the caller reports its own error
  }
}

/** The text of the `.reason` beside a file in quarantine/. */
export function quarantineNote(at: string, from: string, reason: string): string {
  return `${canonicalJson({ at, from, reason })}\n`;
}

function quarantineFor(path: string): string | null {
  let folder = dirname(path);
  for (let level = 0; level < 4; level++, folder = dirname(folder)) {
    for (const name of ["quarantine", "record/quarantine"]) {
      if (statOf(`${folder}/${name}`)?.isDirectory()) return `${folder}/${name}`;
    }
  }
  return null;
}

/**
 * False when there was nothing to move, or when `inode` names the file and another has taken its
 * place: then that one is put back.
 */
export function moveAside(folder: string, path: string, note: string, inode?: number): boolean {
  const source = bytesOf(path);
  for (let n = 0; ; n++) {
    const target = `${folder}/${fitting(basename(path), n === 0 ? "" : `.${n}`)}`;
    // Another process may quarantine a file of that name.
    const isOurs = () => unlessTaken(() => writeNewSync(`${target}${REASON}`, note));
    if (statOf(target) || !isOurs()) continue;
    const undo = () => unlinkSync(`${target}${REASON}`);
    try {
      renameSync(source, target);
    } catch (error) {
      undo();
      if (errno(error) === "ENOENT") return false;
      throw error;
    }
    if (inode === undefined || statOf(target)?.ino === inode) return true;
    renameSync(target, source);
    undo();
    return false;
  }
}

/** A name to which `.reason` can still be added. */
function fitting(name: string, suffix: string): string {
  const most = FILE_NAME_BYTES - REASON.length - suffix.length;
  const bytes = Buffer.from(name);
  if (bytes.length <= most) return name + suffix;
  // Cut where a character ends.
  let end = most;
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString("utf8", 0, end) + suffix;
}

/** The name on disk of one that is no UTF-8 and was listed with U+FFFD in it. */
function bytesOf(path: string): string | Buffer {
  if (!path.includes("\uFFFD") || statOf(path)) return path;
  const folder = dirname(path);
  const names = readdirSync(folder, { encoding: "buffer" });
  const name = names.find((one) => one.toString() === basename(path));
  return name === undefined ? path : Buffer.concat([Buffer.from(`${folder}/`), name]);
}

function statOf(path: string) {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined; // a name that cannot be there
  }
}
