import { VivError } from "../../base/errors.ts";
import { askGit, type GitOptions, type GitPlace, git, lastWord } from "./git.ts";

/** Two commits merged without a worktree. */
export interface MergedTree {
  /** With conflict markers in files that conflict. */
  tree: string;
  /** Paths with conflicts, as git names them; empty when it merges cleanly. */
  files: string[];
  /** What git says about each conflict. */
  messages: string[];
}

/** Null when this git cannot do it: that needs 2.38. */
export async function mergeTrees(
  place: GitOptions,
  ours: string,
  theirs: string,
): Promise<MergedTree | null> {
  const args = ["merge-tree", "--write-tree", "--name-only", "-z", "--messages", ours, theirs];
  const { status, stdout, stderr } = await askGit(args, place);
  if (status === 129) return null; // its usage: it does not know the flags
  const [tree = "", ...rest] = stdout.toString("utf8").split("\0");
  // It ends with 1 after a conflict, and when one of the two is no commit.
  if ((status !== 0 && status !== 1) || !/^[0-9a-f]{40,}$/.test(tree)) {
    throw new VivError("INVALID", `git merge-tree failed: ${lastWord(stderr)}.`, { stderr });
  }
  const end = status === 0 ? 0 : rest.indexOf("");
  const files = [...new Set(rest.slice(0, end))];
  return { tree, files, messages: messagesIn(rest.slice(end + 1)) };
}

/**
 * Commits to merge instead of these two, whose common base is `base`: so only what `theirs` has done
 * since `base` comes to `ours`.
 */
export async function sinceBase(
  place: GitPlace,
  base: string,
  ours: string,
  theirs: string,
): Promise<{ ours: string; theirs: string }> {
  const alone = async (commit: string, parents: readonly string[]) => {
    const tree = await git(["rev-parse", "--verify", `${commit}^{tree}`], place);
    const args = ["commit-tree", tree, ...parents.flatMap((one) => ["-p", one]), "-m", "viv"];
    return git(args, { ...place, env: NO_ONE });
  };
  const root = await alone(base, []);
  return { ours: await alone(ours, [root]), theirs: await alone(theirs, [root]) };
}

/** For commits that stay out of every branch. */
export const NO_ONE = {
  GIT_AUTHOR_NAME: "Vivarium",
  GIT_AUTHOR_EMAIL: "vivarium@localhost",
  GIT_COMMITTER_NAME: "Vivarium",
  GIT_COMMITTER_EMAIL: "vivarium@localhost",
};

/** Whether `base` has work that `ours` has not, apart from merges. */
export async function hasOtherWork(place: GitPlace, base: string, ours: string): Promise<boolean> {
  const list = ["rev-list", "--no-merges", "--max-count=1", base, "--not", ours];
  return (await git(list, place)) !== "";
}

/**
 * Files that conflict and have no markers, because they are no text: the merged tree has the version of
 * `ours`, and these are those of `theirs`.
 */
export async function hiddenSides(
  place: GitPlace,
  ours: string,
  theirs: string,
): Promise<{ path: string; mode: string; object: string }[]> {
  const args = ["merge-tree", "--write-tree", "-z", "--no-messages", ours, theirs];
  const { status, stdout } = await askGit(args, place);
  if (status !== 1) return [];
  const [tree = "", ...rest] = stdout.toString("utf8").split("\0");
  const sides = { 2: new Map<string, Entry>(), 3: new Map<string, Entry>() };
  for (const line of rest) {
    const [, mode = "", object = "", stage, path = ""] = STAGED.exec(line) ?? [];
    if (stage === "2" || stage === "3") sides[stage].set(path, { mode, object });
  }
  const hidden: { path: string; mode: string; object: string }[] = [];
  for (const [path, entry] of sides[3]) {
    const other = sides[2].get(path);
    if (other === undefined || entry.mode === SUBMODULE || other.object === entry.object) continue;
    const { stdout: found } = await askGit(["rev-parse", "--verify", `${tree}:${path}`], place);
    if (found.toString().trim() === other.object) hidden.push({ path, ...entry });
  }
  return hidden;
}

interface Entry {
  mode: string;
  object: string;
}

const STAGED = /^(\d{6}) ([0-9a-f]{40,}) ([123])\t(.*)$/s;
const SUBMODULE = "160000";

/** Each is: a number of paths, the paths, the kind of message, the message. */
function messagesIn(words: readonly string[]): string[] {
  const messages: string[] = [];
  for (let at = 0; at < words.length; ) {
    const paths = Number(words[at]);
    const [kind = "", message = ""] = words.slice(at + 1 + paths, at + 3 + paths);
    if (words[at] === "" || kind === "" || !Number.isSafeInteger(paths)) break;
    if (kind.startsWith("CONFLICT")) messages.push(message.trim());
    at += paths + 3;
  }
  return messages;
}
