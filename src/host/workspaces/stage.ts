import { VivError } from "../../model/errors.ts";
import { type GitPlace, git, gitBytes } from "../git.ts";

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
  return { paths: paths.map((name) => Buffer.from(name, "latin1")), nested };
}

/** Brings the index up to date with the files, but for nested repositories. */
export async function stage(place: GitPlace, everything = false): Promise<Changes> {
  const changes = await changesIn(place, everything);
  if (changes.paths.length === 0) return changes;
  const stdin = Buffer.concat(changes.paths.flatMap((path) => [path, Buffer.of(0)]));
  const how = ["--add", "--remove", "--replace", "-z", "--stdin"];
  await git(["update-index", ...how], { ...place, stdin });
  const rules = everything ? [] : ["--exclude-standard"];
  const left = namesOf(await gitBytes(["ls-files", "-z", "--others", ...rules], place));
  const refused = left.find((name) => !name.endsWith("/"));
  if (refused === undefined) return changes;
  const name = JSON.stringify(text(refused));
  throw new VivError("INVALID", `git takes no file that is called ${name}; rename or remove it.`);
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

function text(name: string): string {
  return Buffer.from(name, "latin1").toString("utf8");
}
