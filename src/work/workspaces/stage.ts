import { VivError } from "../../base/errors.ts";
import { type GitPlace, git, gitBytes } from "../../platform/git/git.ts";

/**
 * Not `git add -A` and `git status`: those run another git inside of each repository that they find
 * in the folder, with the settings of that repository, and so whatever program a task has put
 * there. The commands below only look.
 */

export interface Changes {
  /** Changed, new and deleted files, as git names them. */
  paths: Buffer[];
  /** Folders that are repositories of their own; no commit and no patch can hold their files. */
  nested: string[];
}

/** What differs from the index. Ignored files count only where `everything` is asked for. */
export async function changesIn(place: GitPlace, everything = false): Promise<Changes> {
  const rules = everything ? [] : ["--exclude-standard"];
  const kinds = ["--modified", "--deleted", "--others"];
  const names = namesOf(await gitBytes(["ls-files", "-z", ...kinds, ...rules], place));
  const paths = names.filter((name) => !name.endsWith("/"));
  const nested = names.filter((name) => name.endsWith("/")).map((name) => text(name));
  return { paths: paths.map(bytes), nested };
}

/** Brings the index up to date with the files, but for nested repositories. */
export async function stage(place: GitPlace, everything = false): Promise<void> {
  // First what is gone: a file may have become a folder, or a folder a link, of the same name.
  const gone = ["diff-files", "-z", "--name-only", "--diff-filter=D", "--ignore-submodules=dirty"];
  await updateIndex(["--force-remove"], namesOf(await gitBytes(gone, place)).map(bytes), place);
  const { paths } = await changesIn(place, everything);
  await updateIndex(["--add", "--remove", "--replace"], paths, place);
  const rules = everything ? [] : ["--exclude-standard"];
  const left = namesOf(await gitBytes(["ls-files", "-z", "--others", ...rules], place));
  const refused = left.find((name) => !name.endsWith("/"));
  if (refused === undefined) return;
  const name = JSON.stringify(text(refused));
  throw new VivError("INVALID", `git takes no file that is called ${name}; rename or remove it.`);
}

async function updateIndex(how: string[], paths: Buffer[], place: GitPlace): Promise<void> {
  if (paths.length === 0) return;
  const stdin = Buffer.concat(paths.flatMap((path) => [path, Buffer.of(0)]));
  await git(["update-index", ...how, "-z", "--stdin"], { ...place, stdin });
}

/** Submodules that are checked out: a worktree is not removed with work in them. */
export async function submodulesIn(place: GitPlace): Promise<string[]> {
  const entries = namesOf(await gitBytes(["ls-files", "-z", "--stage"], place));
  return entries
    .filter((entry) => entry.startsWith("160000 "))
    .map((entry) => text(entry.slice(entry.indexOf("\t") + 1)));
}

/** Names are bytes, and need not be valid in any encoding: latin1 keeps each as it is. */
function namesOf(output: Buffer): string[] {
  return [...new Set(output.toString("latin1").split("\0"))].filter((name) => name !== "");
}

function bytes(name: string): Buffer {
  return Buffer.from(name, "latin1");
}

function text(name: string): string {
  return bytes(name).toString("utf8");
}
