import { chmodSync, copyFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { isVivError } from "../base/errors.ts";
import { growingPause } from "../base/growing-pause.ts";
import { askGitNow, gitBytes, lastWord } from "../platform/git/git.ts";
import { blobsOnTheWay, type OwnNote, removeNotesOfTheDead, writeNote } from "./journal.ts";
import { type FileBlob, fileBlob } from "./look.ts";
import type { BoardPlace } from "./place.ts";
import { type BoardVersion, readVersion } from "./version.ts";

/**
 * Brings the file and the index to what HEAD has, when they are known to be only behind. Others may
 * do the same at the same moment; whoever writes looks afterwards whether HEAD has moved on, so the
 * last one to write leaves the latest. Returns what stayed behind, in words, or null.
 */
export async function follow(
  place: BoardPlace,
  first: BoardVersion,
  note: OwnNote | null,
  tipOf: () => string | null,
): Promise<string | null> {
  let version = first;
  const own = note ?? writeNote(place, version.blob, version.blob);
  for (let tries = 0; ; tries++) {
    const trouble = await bring(place, version, own);
    const isLatest = tipOf() === version.commit;
    const latest = isLatest ? version : readVersion(place);
    const isOver = trouble === null || trouble.isFinal === true || tries > 2;
    if (latest.commit === version.commit && isOver) {
      if (trouble === null || trouble.isEdited) own.remove();
      if (trouble === null) removeNotesOfTheDead(place);
      return trouble?.message ?? null;
    }
    if (tries === 20) return `${place.file} changes all the time; it will be brought up later.`;
    version = latest;
  }
}

interface Trouble {
  message: string;
  isEdited?: boolean;
  /** It was tried long enough. */
  isFinal?: boolean;
}

async function bring(
  place: BoardPlace,
  version: BoardVersion,
  own: OwnNote,
): Promise<Trouble | null> {
  try {
    const file = fileBlob(place, version);
    if (file !== null && file.blob !== version.blob) {
      if (!blobsOnTheWay(place).has(file.blob)) {
        const message = `${place.file} was edited meanwhile and stays as it is; the change is committed.`;
        return { message, isEdited: true };
      }
      replaceFile(place, await asCheckedOut(place, version, file), own.scratch);
    }
    return await updateIndex(place, version, file === null);
  } catch (error) {
    // The change itself is made: whatever is wrong here must not look as if it had failed.
    if (!isVivError(error) && !("code" in (error as Error))) throw error;
    return { message: `the change is committed, but: ${(error as Error).message}` };
  }
}

/** By rename: a reader, or a crash, sees the old file or the new one. */
function replaceFile(place: BoardPlace, bytes: Buffer, scratch: string): void {
  const { mode } = statSync(place.file);
  writeFileSync(scratch, bytes, { flag: "wx", mode: 0o600 });
  chmodSync(scratch, mode & 0o7777);
  try {
    renameSync(scratch, place.file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EXDEV") throw error;
    // A linked worktree on another disk than its repository.
    const beside = join(place.folder, `.${place.name}.viv-${process.pid}`);
    copyFileSync(scratch, beside);
    chmodSync(beside, mode & 0o7777);
    renameSync(beside, place.file);
    rmSync(scratch, { force: true });
  }
}

/** Where a checkout changes line ends or filters, only git can do that. */
async function asCheckedOut(
  { top, path }: BoardPlace,
  { blob, bytes }: BoardVersion,
  file: FileBlob,
): Promise<Buffer> {
  if (file.isAsItIs) return bytes;
  return gitBytes(["cat-file", "--filters", `--path=${path}`, blob], { cwd: top });
}

async function updateIndex(
  place: BoardPlace,
  version: BoardVersion,
  isLeftOut: boolean,
): Promise<Trouble | null> {
  const mode = version.trees.at(-1)?.entry.mode ?? "100644";
  const info = `${mode},${version.blob},${place.path}`;
  // Of a file that a sparse checkout leaves out, that must be said again: else it counts as deleted.
  // Of any other, what it looks like (size, time), so that `git diff-index` need not read it.
  const rest = isLeftOut ? ["--skip-worktree", "--", place.path] : ["--refresh"];
  const args = ["update-index", "-q", "--cacheinfo", info, ...rest];
  const lock = join(place.gitDir, "index.lock");
  for (let tries = 0; ; tries++) {
    const answer = askGitNow(args, { cwd: place.top });
    // Refreshing ends with 1 when any other file was edited: that is not our business.
    if (answer.status === 0 || answer.status === 1) return null;
    // With -q, git says nothing when it finds the lock.
    const isLocked = answer.stderr === "" || answer.stderr.includes("index.lock");
    if (isLocked && tries < 6) {
      await wait(growingPause(tries + 1, { first: 10, longest: 320 }) * (0.5 + Math.random()));
      continue;
    }
    const why = isLocked
      ? `${lock} is in its way; if no git is running there any more, remove that file`
      : lastWord(answer.stderr);
    const message = `the change is committed, but the index is behind: ${why}.`;
    return { message, isFinal: true };
  }
}
