import { readFileSync } from "node:fs";
import { VivError } from "../base/errors.ts";
import { askGitNow } from "../platform/git/git.ts";
import { branchOf } from "./branch.ts";
import { blobsOnTheWay } from "./journal.ts";
import { formatOf, oidOf } from "./objects.ts";
import { type BoardPlace, underWay } from "./place.ts";
import { type BoardVersion, gitSays, readSettledVersion, readVersion } from "./version.ts";

/** The tip of the branch that is checked out, on which a change can be made. */
export interface BoardTip extends BoardVersion {
  branch: string;
  /** The index or the file are older: somebody is bringing them up to date, or died before it. */
  isBehind: boolean;
}

/** The tip, if nothing forbids a change: otherwise the first reason that does. */
export function lookForChange(place: BoardPlace): BoardTip {
  const what = underWay(place);
  if (what !== null) {
    const message = `${what} is under way in ${place.top}; finish or abort it first (git status says how).`;
    throw new VivError("WRONG_STATE", message, { file: place.file });
  }
  const settled = readSettledVersion(place);
  const version = settled ?? readVersion(place);
  const branch = branchOf(place);
  if (branch === null) {
    const message = `${place.top} is on no branch (detached HEAD), so a claim would be lost; git switch to one first.`;
    throw new VivError("WRONG_STATE", message, { file: place.file });
  }
  const state = stateOf(place, version, settled ? version.blob : indexBlob(place));
  return { ...version, branch, isBehind: state === "behind" };
}

/** What the index has of the board; null for nothing. */
function indexBlob(place: BoardPlace): string | null {
  const args = ["--literal-pathspecs", "ls-files", "-s", "-z", "--", place.path];
  const answer = askGitNow(args, { cwd: place.top });
  if (answer.status !== 0) throw gitSays(place, answer);
  const entry = /^\d+ ([0-9a-f]+) ([0-3])\t/.exec(answer.stdout.toString("latin1"));
  if (entry === null) return null;
  if (entry[2] === "0") return entry[1] as string;
  const message = `${place.file} has conflicts that nobody has resolved; git status says how to.`;
  throw new VivError("WRONG_STATE", message, { file: place.file });
}

/** Refuses what somebody has edited: a change must not mix with it, nor overwrite it. */
function stateOf(
  place: BoardPlace,
  version: BoardVersion,
  index: string | null,
): "clean" | "behind" {
  const file = fileBlob(place, version)?.blob ?? null;
  if (index === version.blob && (file === version.blob || file === null)) return "clean";
  const known = blobsOnTheWay(place).add(version.blob);
  const isKnown = (blob: string | null) => blob !== null && known.has(blob);
  if (isKnown(index) && (file === null || isKnown(file))) return "behind";
  throw edited(place, isKnown(file) ? "staged" : "edited", !isKnown(index));
}

function edited(place: BoardPlace, how: "staged" | "edited", isInIndex: boolean): VivError {
  const both = isInIndex ? "--staged --worktree " : "";
  const message =
    how === "staged"
      ? `${place.file} has changes in the index that are not committed; commit them, or drop them with: git restore --staged ${place.name}`
      : `${place.file} was edited and not committed; commit that first, or drop it with: git restore ${both}${place.name}`;
  return new VivError("WRONG_STATE", message, { file: place.file, how });
}

export interface FileBlob {
  blob: string;
  /** Its bytes are those of the blob: git converts nothing. */
  isAsItIs: boolean;
}

/**
 * The blob that the file would be; null when a sparse checkout leaves it out. Where git converts
 * line ends or filters, only git can say.
 */
export function fileBlob(place: BoardPlace, version: BoardVersion): FileBlob | null {
  const bytes = bytesOf(place.file);
  if (bytes === null) {
    const flags = askGitNow(["--literal-pathspecs", "ls-files", "-t", "--", place.path], {
      cwd: place.top,
    });
    if (flags.stdout.toString("utf8").startsWith("S ")) return null;
    const message = `${place.file} was deleted and that is not committed; bring it back with: git restore ${place.name}`;
    throw new VivError("WRONG_STATE", message, { file: place.file });
  }
  if (bytes.equals(version.bytes)) return { blob: version.blob, isAsItIs: true };
  const asItIs = oidOf({ kind: "blob", bytes }, formatOf(version.commit));
  if (blobsOnTheWay(place).has(asItIs)) return { blob: asItIs, isAsItIs: true };
  const answer = askGitNow(["hash-object", `--path=${place.path}`, "--stdin"], {
    cwd: place.top,
    stdin: bytes,
  });
  const blob = answer.status === 0 ? answer.stdout.toString("utf8").trim() : asItIs;
  return { blob, isAsItIs: blob === asItIs };
}

function bytesOf(file: string): Buffer | null {
  try {
    return readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    const message = `${file} cannot be read: ${(error as Error).message}.`;
    throw new VivError("RUN_INVALID", message, { file }, { cause: error });
  }
}
