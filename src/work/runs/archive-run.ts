import { spawn } from "node:child_process";
import {
  closeSync,
  constants,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  unlinkSync,
} from "node:fs";
import { join } from "node:path";
import { VivError } from "../../base/errors.ts";
import { syncFolder } from "../../platform/files/atomic-write.ts";
import { withFile } from "../../platform/files/beneath.ts";
import { isThere, removeTree } from "../../platform/files/remove-tree.ts";
import { runTar } from "../../platform/files/tar.ts";
import type { RunPlace } from "./run-place.ts";

/**
 * A run becomes `NAME.tar.gz` beside it:
 *   1. it is packed into a hidden draft, which is read back and synced
 *   2. the run is renamed to `.NAME.archiving`: from here on no process finds it
 *   3. if it has changed since 1, it is renamed back, and 1 begins anew
 *   4. the draft gets its name. Now it is archived
 *   5. `.NAME.archiving` is removed
 * A crash after 2 leaves `.NAME.archiving` and no archive: `settle` renames it back. A crash after 4
 * leaves both: if they are equal, `settle` removes the folder.
 */
export async function packRun(place: RunPlace): Promise<void> {
  const { path, parent, tar, draft, archiving } = place;
  if (isThere(tar)) throw alreadyThere(tar);
  for (let tries = 0; tries < TRIES; tries++) {
    removeTree(draft);
    const before = contentOf(path);
    try {
      await pack(place);
    } catch (error) {
      removeTree(draft); // on a full disk it would keep what is left
      throw error;
    }
    renameSync(path, archiving);
    syncFolder(parent);
    if (contentOf(archiving) === before) {
      publish(place);
      removeTree(archiving);
      syncFolder(parent);
      return;
    }
    renameSync(archiving, path);
  }
  removeTree(draft);
  throw new VivError("LOCKED", `${path} changes all the time; stop the processes that use it.`);
}

const TRIES = 3;

async function pack({ parent, base, draft }: RunPlace): Promise<void> {
  closeSync(openSync(draft, "wx", 0o600));
  // This format keeps times whole.
  await runTar(["--create", "--gzip", "--format=posix", "--file", draft, `./${base}`], parent);
  await runTar(["--compare", "--gzip", "--file", draft], parent);
  withFile(draft, constants.O_RDWR, fsyncSync);
}

/** By a link: an archive that another process made meanwhile is not overwritten. */
function publish({ tar, draft, parent }: RunPlace): void {
  linkSync(draft, tar);
  unlinkSync(draft);
  syncFolder(parent);
}

/** Names, sizes and times of all files: a change shows. */
function contentOf(folder: string): string {
  const lines: string[] = [];
  const look = (path: string, name: string) => {
    const stats = lstatSync(path);
    lines.push(`${name} ${stats.ino} ${stats.size} ${stats.mtimeMs} ${stats.mode}`);
    if (!stats.isDirectory()) return;
    for (const one of readdirSync(path).sort()) look(join(path, one), `${name}/${one}`);
  };
  look(folder, "");
  return lines.join("\n");
}

/** Brings what an interrupted call left to an end. */
export async function settle(place: RunPlace): Promise<"archived" | "undone" | "nothing"> {
  const { path, parent, tar, draft, archiving, restoring } = place;
  if (isThere(path)) removeTree(restoring); // that is where it was going
  if (!isThere(archiving)) return "nothing";
  if (isThere(path)) {
    const message = `${archiving} is left from an archiving that was cut short, and ${path} is there again; move one of them away.`;
    throw new VivError("RUN_INVALID", message);
  }
  if (!isThere(tar)) {
    renameSync(archiving, path); // whole: nothing is removed before the archive has its name
    syncFolder(parent);
    return "undone";
  }
  await assertWithin(place);
  removeTree(draft);
  removeTree(archiving);
  syncFolder(parent);
  return "archived";
}

/** Everything that is left of the run is in its archive, as it is. */
async function assertWithin({ base, tar, parent, archiving, checking }: RunPlace): Promise<void> {
  removeTree(checking);
  mkdirSync(checking, { mode: 0o700 });
  try {
    await extract(tar, checking, parent);
    if (isWithin(archiving, join(checking, base))) return;
    const message = `${tar} is not the archive of ${archiving}; move one of them away.`;
    throw new VivError("RUN_INVALID", message);
  } finally {
    removeTree(checking);
  }
}

function isWithin(path: string, whole: string): boolean {
  const [part, all] = [lstatSync(path), lstatSync(whole, { throwIfNoEntry: false })];
  if (part.isDirectory()) {
    return readdirSync(path).every((name) => isWithin(join(path, name), join(whole, name)));
  }
  if (part.isSymbolicLink()) {
    return all?.isSymbolicLink() === true && readlinkSync(path) === readlinkSync(whole);
  }
  if (!part.isFile()) return true; // a socket or a pipe holds nothing
  return all?.isFile() === true && readFileSync(path).equals(readFileSync(whole));
}

async function extract(tar: string, folder: string, cwd: string): Promise<void> {
  const how = ["--extract", "--gzip", "--no-same-owner", "--preserve-permissions"];
  await runTar([...how, "--file", tar, "--directory", folder], cwd);
}

/** Unpacks it beside, and gives it its name in one step. The archive goes once the run is there. */
export async function unpackRun(
  place: RunPlace,
  check: (path: string) => Promise<void>,
): Promise<void> {
  const { path, parent, base, tar, restoring } = place;
  if (isThere(path)) throw alreadyThere(path);
  if (!isThere(tar)) {
    throw new VivError("RUN_NOT_FOUND", `there is no archive ${tar}.`, { path: tar });
  }
  removeTree(restoring);
  mkdirSync(restoring, { mode: 0o700 });
  await extract(tar, restoring, parent);
  await runTar(["--compare", "--gzip", "--file", tar, "--directory", restoring], parent);
  await check(join(restoring, base));
  await syncRun(join(restoring, base));
  renameSync(join(restoring, base), path);
  syncFolder(parent);
  unlinkSync(tar);
  removeTree(restoring);
  syncFolder(parent);
}

/** The archive goes next: all of it must be on the disk. In one step where there is a program for it. */
async function syncRun(path: string): Promise<void> {
  const isDone = await new Promise<boolean>((resolve) => {
    if (process.platform !== "linux") return resolve(false); // elsewhere it may return too early
    const child = spawn("sync", ["-f", path], { stdio: "ignore" });
    child.on("error", () => resolve(false));
    child.on("close", (status) => resolve(status === 0));
  });
  if (!isDone) syncTree(path); // file by file: minutes for a hundred thousand
}

function syncTree(path: string): void {
  const stats = lstatSync(path);
  if (stats.isDirectory()) {
    for (const name of readdirSync(path)) syncTree(join(path, name));
    syncFolder(path);
  } else if (stats.isFile()) {
    withFile(path, constants.O_RDONLY, fsyncSync);
  }
}

function alreadyThere(path: string): VivError {
  return new VivError("WRONG_STATE", `${path} is there already; move it away first.`, { path });
}
