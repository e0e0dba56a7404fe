import { existsSync } from "node:fs";
import { join } from "node:path";
import { isVivError, VivError } from "../base/errors.ts";
import { quoted } from "../base/text.ts";
import {
  askGit,
  askGitScript,
  type GitPlace,
  git,
  gitNames,
  isAncestor,
  lastWord,
} from "../platform/git/git.ts";
import { hasOtherWork, mergeTrees, sinceBase } from "../platform/git/merge-tree.ts";
import type { Repository } from "../work/workspaces/worktree.ts";
import type { Strategy } from "./config.ts";
import type { Scratch } from "./scratch.ts";

/**
 * One branch onto one commit. Objects are written and no ref is moved, so nothing can be seen of it
 * until the target moves.
 */
export type Combined =
  | { kind: "merged"; commit: string; tree: string }
  | { kind: "empty" }
  | { kind: "conflict"; files: string[]; said: string; tree?: string }
  | { kind: "held"; reason: string; command?: string };

export interface Combination {
  repository: Repository;
  strategy: Strategy;
  /** The commit to merge onto, and its tree. */
  onto: string;
  ontoTree: string;
  base: string;
  head: string;
  /** Its task depends on others, whose work its branch may have begun with. */
  isDependent: boolean;
  /** Of the merge commit. */
  message: string;
  signs: boolean;
  /** The scratch worktree gets its files at once, because it is proven next. */
  isLast?: boolean;
  /** The author and committer, where git knows none. */
  identity: Readonly<Record<string, string>>;
}

/** `scratch` null: a rebase is only guessed at, by a merge. */
export async function combine(one: Combination, scratch: Scratch | null): Promise<Combined> {
  const place = scratch?.place ?? { cwd: one.repository.path };
  try {
    if (one.strategy === "rebase" && scratch !== null) return await rebase(one, scratch);
    const { ours, theirs } = await sides(one, place);
    return await mergeAndCommit(one, ours, theirs, one.isLast ? scratch : null, place);
  } catch (error) {
    if (error instanceof Held) return { kind: "held", ...error.why };
    throw error;
  }
}

class Held extends Error {
  readonly why: { reason: string; command?: string };

  constructor(why: { reason: string; command?: string }) {
    super(why.reason);
    this.why = why;
  }
}

export async function treeOf(commit: string, place: GitPlace): Promise<string> {
  return git(["rev-parse", "--verify", `${commit}^{tree}`], place);
}

/** In one shell; what is no plain success is asked again, for its details. */
async function mergeAndCommit(
  one: Combination,
  ours: string,
  theirs: string,
  scratch: Scratch | null,
  place: GitPlace,
): Promise<Combined> {
  // Attributes (merge=union and the like) of the target; git before 2.41 takes those of the folder.
  const how = { ...place, env: { ...one.identity, GIT_ATTR_SOURCE: one.onto } };
  const mergeTree = [...DURABLE, "merge-tree", "--write-tree"];
  const parents = one.strategy === "merge" ? [one.onto, one.head] : [one.onto];
  const commit = ["commit-tree", ...(one.signs ? ["-S"] : []), "-F", "-"];
  const args = [...DURABLE, ...commit, ...parents.flatMap((parent) => ["-p", parent])];
  const { status, stdout, stderr } = await askGitScript(
    (git) => `
      tree=$(${git([...mergeTree, "--name-only", ours, theirs])} </dev/null) || exit
      echo "$tree"
      test "$tree" = ${one.ontoTree} && exit
      commit=$(${git(args)} "$tree") || exit ${NO_COMMIT}
      echo "$commit"
      ${(scratch?.resetting(COMMIT) ?? []).map(git).join(" && ").replace(COMMIT, '"$commit"')}`,
    { ...how, stdin: one.message },
  );
  const [tree = "", made = ""] = stdout.toString().split("\n");
  // Where its files could not be written, the proof tries again and says why.
  if (made !== "") {
    if (status === 0) scratch?.hasBecome(made);
    return { kind: "merged", commit: made, tree };
  }
  if (status === 0) return { kind: "empty" };
  if (status === NO_COMMIT) throw (one.signs && notSigned(stderr)) || failed("commit-tree", stderr);
  if (status === 1) {
    const merged = await mergeTrees(how, ours, theirs);
    if (merged !== null) {
      const { tree, files, messages } = merged;
      return { kind: "conflict", files, said: messages.join("\n"), tree };
    }
  }
  if (/unrelated histories/.test(stderr)) throw await noCommonBase(one);
  if (status === 129) {
    throw new VivError("UNSUPPORTED", "the merge queue needs git 2.38 or newer; update git.");
  }
  throw failed("merge-tree", stderr);
}

const NO_COMMIT = 71;
/** Stands for the commit until there is one. */
const COMMIT = "THE_COMMIT_THAT_WAS_JUST_MADE";

function failed(what: string, stderr: string): VivError {
  return new VivError("INVALID", `git ${what} failed: ${lastWord(stderr)}.`, { stderr });
}

/** Synced before a landing is acknowledged. */
const DURABLE = ["-c", "core.fsync=objects,reference"];

/**
 * A squash or rebase of a dependency leaves the commits that this branch began at out of the target,
 * and so does a rework of it. Then only what came after them is merged: with the beginning of the branch
 * as the common base. Otherwise what the rework has taken out of the dependency would come back.
 */
async function sides(
  { strategy, onto, base, head, isDependent }: Combination,
  place: GitPlace,
): Promise<{ ours: string; theirs: string }> {
  const plain = { ours: onto, theirs: head };
  if (strategy === "merge" && !isDependent) return plain;
  if (await isAncestor(base, onto, place)) return plain;
  if (strategy === "merge" && !(await hasOtherWork(place, base, onto))) return plain;
  return sinceBase(place, base, onto, head);
}

async function noCommonBase({ repository: { path, gitDir } }: Combination): Promise<Held> {
  if (existsSync(join(gitDir, "shallow"))) {
    return new Held({
      reason: `${path} is a shallow clone without the commit that the branch and its target share`,
      command: `git -C ${quoted(path)} fetch --unshallow`,
    });
  }
  return new Held({ reason: "the branch and its target have no commit in common" });
}

/** Of what git said, when it is about signing. */
function notSigned(said: string): Held | null {
  if (!/gpg|sign|ssh-keygen|secret key/i.test(said)) return null;
  const why = lastWord(said);
  return new Held({
    reason: `commit.gpgsign is set, and the commit could not be signed (${why}); unlock the key, or turn commit.gpgsign off for this repository`,
  });
}

/** Each commit of the branch by itself; those that the target has already are left out. */
async function rebase(one: Combination, scratch: Scratch): Promise<Combined> {
  const { onto, base, head, identity } = one;
  const upstream = (await isAncestor(base, onto, scratch.place)) ? onto : base;
  const { status } = await askGit(["merge-base", onto, head], scratch.place);
  if (status !== 0 && upstream === onto) {
    throw await noCommonBase(one);
  }
  await scratch.become(onto);
  const settings = ["rebase.updateRefs=false", "rebase.autoSquash=false", "rerere.enabled=false"];
  const quiet = ["--quiet", "--empty=drop", "--no-autostash", "--no-rebase-merges"];
  const args = [...DURABLE, ...settings.flatMap((each) => ["-c", each]), "rebase", ...quiet];
  const env = { ...identity, GIT_EDITOR: "true", GIT_SEQUENCE_EDITOR: "true" };
  try {
    await scratch.git([...args, "--onto", onto, upstream, head], { env });
  } catch (error) {
    const said = isVivError(error) ? String(error.details.stderr ?? "") : "";
    const signing = one.signs ? notSigned(said) : null;
    const conflict = signing === null ? await unmergedIn(scratch) : null;
    await askGit(["rebase", "--abort"], scratch.place);
    if (signing !== null) throw signing;
    if (conflict === null) throw error;
    return conflict;
  }
  const commit = await scratch.git(["rev-parse", "--verify", "HEAD^{commit}"]);
  const tree = await treeOf(commit, scratch.place);
  return tree === one.ontoTree ? { kind: "empty" } : { kind: "merged", commit, tree };
}

/** Lists the files with conflicts. */
export const UNMERGED = ["diff", "--name-only", "-z", "--diff-filter=U"];

async function unmergedIn({ place }: Scratch): Promise<Combined | null> {
  const files = await gitNames(UNMERGED, place);
  if (files.length === 0) return null;
  const at = await askGit(["log", "-1", "--format=%h %s", "REBASE_HEAD"], place);
  const which = at.stdout.toString("utf8").trim();
  return { kind: "conflict", files, said: `CONFLICT: the commit ${which} does not apply` };
}

/** The conflicting parts of these files, with their markers, for the handler that resolves them. */
export async function hunksOf(
  tree: string | undefined,
  files: readonly string[],
  place: GitPlace,
): Promise<string> {
  if (tree === undefined) return "";
  const parts: string[] = [];
  let left = MOST_EVIDENCE;
  for (const file of files) {
    const { status, stdout } = await askGit(["cat-file", "blob", `${tree}:${file}`], place);
    if (status !== 0) continue;
    const hunks = stdout.toString("utf8").match(/^<{7} [\s\S]*?^>{7} .*$/gm) ?? [];
    const text = [`--- ${file}`, ...hunks].join("\n").slice(0, left);
    left -= text.length;
    parts.push(text);
    if (left <= 0) break;
  }
  return parts.join("\n\n");
}

const MOST_EVIDENCE = 64 * 1024;
