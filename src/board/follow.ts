import { chmodSync, copyFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { isVivError } from "../base/errors.ts";
import { growingPause } from "../base/growing-pause.ts";
import { askGit, gitBytes, lastWord } from "../platform/git/git.ts";
import { type BoardCheckout, commitInFile } from "./checkout.ts";
import { blobsOnTheWay, type OwnNote, removeDeadNotes, writeNote } from "./journal.ts";
import { type BoardTip, type BoardVersion, fileBlob, readVersion } from "./tip.ts";

/**
 * Brings the file and the index to HEAD, when they are known to be only behind. Other processes may
 * do the same at the same moment; each writer checks afterwards whether HEAD has moved on, so the
 * last one leaves the latest. `note`: of the commit just made. Returns a warning when something
 * stayed behind.
 */
export async function follow(
  checkout: BoardCheckout,
  tip: BoardTip,
  note?: OwnNote,
): Promise<string | undefined> {
  let version: BoardVersion = tip;
  const own = note ?? writeNote(checkout, tip.blob, tip.blob);
  for (let tries = 0; ; tries++) {
    const warning = await bring(checkout, version, own);
    const isLatest = commitInFile(checkout, tip.branch) === version.commit;
    const latest = isLatest ? version : await readVersion(checkout);
    const isOver = warning === null || warning.isFinal === true || tries > 2;
    if (latest.commit === version.commit && isOver) {
      if (warning === null || warning.isEdited) own.remove();
      if (warning === null) removeDeadNotes(checkout);
      return warning?.message;
    }
    if (tries === 20)
      return `${checkout.file} kept changing and is behind; the next change brings it up to date.`;
    version = latest;
  }
}

interface Warning {
  message: string;
  isEdited?: boolean;
  /** Another try does not help. */
  isFinal?: boolean;
}

async function bring(
  checkout: BoardCheckout,
  version: BoardVersion,
  own: OwnNote,
): Promise<Warning | null> {
  try {
    const file = await fileBlob(checkout, version);
    if (file !== null && file.blob !== version.blob) {
      if (!blobsOnTheWay(checkout).has(file.blob)) {
        const message = `${checkout.file} was edited meanwhile and is left as it is; the change is committed.`;
        return { message, isEdited: true };
      }
      const { top, path } = checkout;
      // Where a checkout converts line ends or filters, git does it.
      const bytes = file.isAsItIs
        ? version.bytes
        : await gitBytes(["cat-file", "--filters", `--path=${path}`, version.blob], { cwd: top });
      replaceFile(checkout, bytes, own.scratch);
    }
    return await updateIndex(checkout, version, file === null);
  } catch (error) {
    // The change itself is committed: an error here must not look as if it had failed.
    if (!isVivError(error) && !("code" in (error as Error))) throw error;
    return { message: `the change is committed, but: ${(error as Error).message}` };
  }
}

/** By rename: a reader, or a crash, sees the old file or the new one. */
function replaceFile(checkout: BoardCheckout, bytes: Buffer, scratch: string): void {
  const { mode } = statSync(checkout.file);
  writeFileSync(scratch, bytes, { flag: "wx", mode: 0o600 });
  chmodSync(scratch, mode & 0o7777);
  try {
    renameSync(scratch, checkout.file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EXDEV") throw error;
    // A linked worktree on another disk than its repository.
    const beside = join(checkout.folder, `.${checkout.name}.viv-${process.pid}`);
    copyFileSync(scratch, beside);
    chmodSync(beside, mode & 0o7777);
    renameSync(beside, checkout.file);
    rmSync(scratch, { force: true });
  }
}

async function updateIndex(
  checkout: BoardCheckout,
  version: BoardVersion,
  isLeftOut: boolean,
): Promise<Warning | null> {
  const mode = version.trees.at(-1)?.entry.mode ?? "100644";
  const info = `${mode},${version.blob},${checkout.path}`;
  // A file that a sparse checkout leaves out would count as deleted without the flag. For any other,
  // size and time are recorded, so that `git diff-index` need not read it.
  const rest = isLeftOut ? ["--skip-worktree", "--", checkout.path] : ["--refresh"];
  const args = ["update-index", "-q", "--cacheinfo", info, ...rest];
  const lock = join(checkout.gitDir, "index.lock");
  for (let tries = 0; ; tries++) {
    const answer = await askGit(args, { cwd: checkout.top, isShielded: true });
    // 1: another file was edited.
    if (answer.status === 0 || answer.status === 1) return null;
    // With -q, git prints nothing when it finds the lock.
    const isLocked = answer.stderr === "" || answer.stderr.includes("index.lock");
    if (isLocked && tries < 6) {
      await wait(growingPause(tries + 1, { first: 10, longest: 320 }) * (0.5 + Math.random()));
      continue;
    }
    const why = isLocked
      ? `${lock} exists; if no git runs there any more, remove that file`
      : lastWord(answer.stderr);
    const message = `the change is committed, but the index is behind: ${why}.`;
    return { message, isFinal: true };
  }
}
