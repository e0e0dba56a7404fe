import { randomBytes } from "node:crypto";
import { closeSync, fsyncSync, linkSync, openSync, renameSync, rmSync, writeSync } from "node:fs";

/** Files that are written beside their place, under a hidden name, and then put there in one step. */

/** What a crash leaves of such a write. */
export function isHalfWritten(name: string): boolean {
  return /^\..+\.[0-9a-f]{8}$/.test(name);
}

function hiddenBeside(path: string): string {
  const slash = path.lastIndexOf("/");
  return `${path.slice(0, slash)}/.${path.slice(slash + 1)}.${randomBytes(4).toString("hex")}`;
}

/** Whole, or not at all: also when the machine loses its power. */
export function publish(path: string, text: string, how: "new" | "replace"): void {
  const hidden = hiddenBeside(path);
  try {
    write(hidden, text, true);
    if (how === "replace") renameSync(hidden, path);
    else linkSync(hidden, path);
    syncFolder(path.slice(0, path.lastIndexOf("/")));
  } finally {
    rmSync(hidden, { force: true });
  }
}

/** Whole, or not at all, for whoever reads it. */
export function replace(path: string, text: string): void {
  const hidden = hiddenBeside(path);
  try {
    write(hidden, text, false);
    renameSync(hidden, path);
  } finally {
    rmSync(hidden, { force: true }); // of a full disk
  }
}

function write(path: string, text: string, isSynced: boolean): void {
  const fd = openSync(path, "wx", 0o600);
  try {
    const bytes = Buffer.from(text);
    for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done);
    if (isSynced) fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

function syncFolder(path: string): void {
  const fd = openSync(path, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
