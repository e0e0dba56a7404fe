import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  realpathSync,
  type Stats,
} from "node:fs";
import { delimiter, dirname, resolve } from "node:path";
import { VivError } from "../../base/errors.ts";

/**
 * Files that decide what viv runs, asks a model, or uses as its state are obeyed only if the user and
 * root alone can change them.
 *
 * - The owner is the user or root. For root: root, or the user who called sudo (as git has it).
 * - No other user may write it. A group may if it has no other member: with umask 002, which many
 *   systems have, every file of a user may be written by the user's own group.
 * - The same holds for the folder it lies in, or it could be replaced. In a folder with the sticky
 *   bit (/tmp) other users cannot replace our files.
 *
 * VIV_TRUST names folders (`:` between them, `*` for all) in which none of this is asked: a
 * repository that belongs to another user in a container, or to a team.
 */

/** Null: trusted. Else what is wrong, as the end of a sentence that began with what it is about. */
export function whyNotTrusted(path: string): string | null {
  try {
    return whyNot(path, lstatSync(realpathSync(path)));
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    return code === "ENOENT" || code === "ENOTDIR" ? null : `cannot be looked at (${code})`;
  }
}

/** As `whyNotTrusted`, for what is open already: it is what was opened that counts. */
function whyNot(path: string, stats: Stats): string | null {
  if (isExempt(path)) return null;
  const own = strangers(stats);
  if (own !== null) return own;
  // Of a link both places count: its owner, or a user who can replace it, chooses the target.
  const named = lstatSync(path);
  if (named.isSymbolicLink() && !isOurs(named.uid)) return `is a link of user ${named.uid}`;
  const folders = new Set([dirname(resolve(path)), dirname(realpathSync(path))]);
  for (const folder of folders) {
    const why = strangers(lstatSync(realpathSync(folder)), { isSticky: true });
    if (why !== null) return `is in ${folder}, which ${why}`;
  }
  return null;
}

/** Which other user could change it: `belongs to user 7`, `may be written by everybody`. */
function strangers(stats: Stats, { isSticky = false } = {}): string | null {
  if (process.geteuid === undefined) return null; // Windows: owners are not what they are elsewhere
  if (!isOurs(stats.uid)) {
    return `belongs to user ${stats.uid}, and you are user ${process.geteuid()}`;
  }
  if (isSticky && (stats.mode & 0o1000) !== 0) return null;
  if ((stats.mode & 0o002) !== 0) return "may be written by everybody";
  if ((stats.mode & 0o020) !== 0 && !isPrivateGroup(stats.gid, stats.uid)) {
    return `may be written by group ${stats.gid}`;
  }
  return null;
}

function isOurs(owner: number): boolean {
  const self = process.geteuid?.();
  if (self === undefined || owner === self || owner === 0) return true;
  return self === 0 && process.env.SUDO_UID === String(owner);
}

/** For a folder of the run or of the state, from its stats alone. */
export function whyNotOurs(path: string, stats: Stats): string | null {
  const why = strangers(stats);
  return why === null || isExempt(path) ? null : why;
}

/** Checks the owner only: a handler may have changed the mode. */
export function whyNotOwned(path: string, stats: Stats): string | null {
  return isOurs(stats.uid) || isExempt(path) ? null : strangers(stats);
}

/** May the search for a file look into this folder after it has climbed out of another? */
export function whyNotClimbed(folder: string): string | null {
  if (isExempt(folder)) return null;
  try {
    return strangers(lstatSync(folder));
  } catch (error) {
    return `cannot be looked at (${(error as NodeJS.ErrnoException).code})`;
  }
}

function isExempt(path: string): boolean {
  const trusted = process.env.VIV_TRUST;
  if (!trusted) return false;
  return trusted.split(delimiter).some((entry) => {
    if (entry === "*") return true;
    if (!entry.startsWith("/")) return false; // relative to what would depend on where we are
    return isBelow(realOf(path), realOf(entry));
  });
}

/** Is it that folder, or below it? Both are absolute, without links and dots. */
function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}

function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path); // not there yet: its name must do
  }
}

/**
 * The group has no member but the owner. Root's own group counts as root. A group that the machine's
 * files do not list (a container, a directory service) counts if its number is its user's.
 */
function isPrivateGroup(gid: number, owner: number): boolean {
  if (gid === 0) return true;
  const groups = linesOf("/etc/group").filter((fields) => fields[2] === String(gid));
  if (groups.length === 0) return gid === owner;
  const users = linesOf("/etc/passwd");
  const own = new Set(["root", ...users.filter((f) => f[2] === String(owner)).map((f) => f[0])]);
  const members = [
    ...groups.flatMap((fields) => (fields[3] ?? "").split(",")),
    ...users.filter((fields) => fields[3] === String(gid)).map((fields) => fields[0]),
  ];
  return members.every((name) => !name || own.has(name));
}

function linesOf(file: string): string[][] {
  try {
    return readFileSync(file, "utf8")
      .split("\n")
      .map((line) => line.trim().split(":"));
  } catch {
    return []; // none on this system
  }
}

const LONGEST_TEXT_BYTES = 16 * 1024 * 1024;

/**
 * The text of a file that is obeyed. The check is made on the open file. A pipe is not waited for.
 * Throws INVALID for a file that is not trusted, and otherwise the system's error.
 */
export function readTrusted(path: string): string {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile() && !stats.isDirectory()) throw new Error("it is no file");
    if (stats.size > LONGEST_TEXT_BYTES) throw new Error("it is longer than 16 MiB");
    refuse(path, whyNot(path, stats));
    return readFileSync(fd, "utf8"); // of a folder the system says that it is one
  } finally {
    closeSync(fd);
  }
}

/** A missing path has no owner yet. */
export function assertTrusted(path: string): void {
  refuse(path, whyNotTrusted(path));
}

export function refuse(path: string, why: string | null): void {
  if (why === null) return;
  throw new VivError("INVALID", `${path} is not used, because it ${why}; ${remedyFor(path)}.`, {
    path,
    untrusted: why,
  });
}

/** Of a link, where it leads to: that is what VIV_TRUST is compared with. */
export function remedyFor(path: string): string {
  const real = realOf(path);
  const isFolder = lstatSync(real, { throwIfNoEntry: false })?.isDirectory();
  const folder = isFolder ? real : dirname(real);
  return `make it yours alone (chown, chmod go-w), or, if you trust who can change it: VIV_TRUST=${folder}`;
}
