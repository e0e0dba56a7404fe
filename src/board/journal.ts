import { randomBytes } from "node:crypto";
import { chmodSync, lstatSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { readSmall } from "../platform/files/state-files.ts";
import type { BoardCheckout } from "./checkout.ts";

/**
 * `viv-board/` in the git directory of a checkout: one note for each change that is being made
 * there, from before the branch moves until the index and the file have followed. With it, also after
 * a crash, a board that is only behind does not count as edited.
 */
interface Note {
  path: string;
  /** Blobs. */
  from: string;
  to: string;
  pid: number;
  host: string;
}

export interface OwnNote {
  /** A file in that folder that no other change uses, to be renamed into place. */
  scratch: string;
  remove(): void;
}

export function writeNote(checkout: BoardCheckout, from: string, to: string): OwnNote {
  const folder = ownFolder(checkout);
  const path = join(folder, `${process.pid}-${randomBytes(4).toString("hex")}`);
  const note: Note = { path: checkout.path, from, to, pid: process.pid, host: hostname() };
  const remove = () => removeNote(path);
  try {
    writeFileSync(`${path}.json`, JSON.stringify(note), { flag: "wx", mode: 0o600 });
  } catch (error) {
    remove(); // half written on a full disk
    throw error;
  }
  return { scratch: `${path}.new`, remove };
}

/** Blobs that the board may have while a change is being made. */
export function blobsOnTheWay(checkout: BoardCheckout): Set<string> {
  return new Set(notesIn(checkout).flatMap(({ note }) => [note.from, note.to]));
}

/** Notes of dead processes, once everything is up to date. */
export function removeDeadNotes(checkout: BoardCheckout): void {
  for (const { path, note } of notesIn(checkout)) if (isDead(note)) removeNote(path);
}

function removeNote(path: string): void {
  for (const end of [".json", ".new"]) rmSync(path + end, { force: true });
}

function isDead({ pid, host }: Note): boolean {
  if (host !== hostname()) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
}

/** Those of this board, in the folders of all users. */
function notesIn({ gitDir, path }: BoardCheckout): { path: string; note: Note }[] {
  const folders = namesIn(gitDir).filter((name) => FOLDER.test(name));
  return folders.flatMap((folder) =>
    namesIn(join(gitDir, folder)).flatMap((name) => {
      const file = join(gitDir, folder, name);
      const note = name.endsWith(".json") ? read(file) : null;
      return note?.path === path ? [{ path: file.slice(0, -".json".length), note }] : [];
    }),
  );
}

/** Another user's folder cannot be read: none. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // no change was ever made here
  }
}

const FOLDER = /^viv-board(-\d+)?$/;
const LONGEST_NOTE = 64 * 1024;

function read(path: string): Note | null {
  try {
    return JSON.parse(readSmall(path, LONGEST_NOTE) ?? "null") as Note | null;
  } catch {
    return null; // just removed, or being written: then its branch has not moved yet
  }
}

/**
 * Mode 0700: notes name blobs, and the board lies there for a moment. In a repository that users
 * share, each has a folder.
 */
function ownFolder({ gitDir }: BoardCheckout): string {
  const shared = join(gitDir, "viv-board");
  const us = process.getuid?.();
  const found = lstatSync(shared, { throwIfNoEntry: false });
  const isOurs = found === undefined || (found.isDirectory() && found.uid === us);
  const folder = isOurs ? shared : `${shared}-${us}`;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { mode } = lstatSync(folder);
  if ((mode & 0o077) !== 0) chmodSync(folder, 0o700); // of an earlier version
  return folder;
}
