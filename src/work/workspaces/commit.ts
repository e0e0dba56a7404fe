import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isVivError, VivError } from "../../base/errors.ts";
import { quoted } from "../../base/text.ts";
import { removeSync } from "../../platform/files/beneath.ts";
import { askGit, type GitPlace, git, gitBytes } from "../../platform/git/git.ts";
import { trackedBelow } from "./bring.ts";
import { broughtTo, excludeLine } from "./ready-state.ts";
import { invalid, readRecord } from "./record.ts";
import { adminOf, findRepository, LOCKS_OF_WORKTREE, placeOf } from "./worktree.ts";

/**
 * Commits all changes in a worktree on its branch. Returns the commit, or null when there is
 * nothing to commit (also for a plain folder). What git ignores, what was copied or linked into the
 * workspace, and repositories within it are left out. No hook is run. `isOver`: all processes of the
 * attempt have ended, so a lock that stays is one of a git that was killed.
 */
export async function commitWorkspace(
  path: string,
  message: string,
  { isOver }: { isOver: boolean } = { isOver: false },
): Promise<string | null> {
  try {
    return await commitNow(path, message);
  } catch (error) {
    if (!isVivError(error)) throw error;
    const { lock, stderr } = error.details;
    const isFree = isOver && lock !== undefined && (await removeOwnLock(path, String(lock)));
    if (!isFree && !LOST.test(String(stderr))) throw error;
    return commitNow(path, message, { isAnew: !isFree });
  }
}

/** A `git gc --prune=now` takes what no commit refers to yet. */
const LOST = /not a valid object|invalid object|bad (tree )?object|unable to read/i;

/** `isAnew`: the files that are not in the last commit are written into the repository once more. */
async function commitNow(
  path: string,
  message: string,
  { isAnew }: { isAnew: boolean } = { isAnew: false },
): Promise<string | null> {
  const record = readRecord(dirname(path), basename(path));
  if (record?.kind === "dir") return null;
  if (record === null) throw invalid(path, `${path} is not a workspace.`);
  const repository = await findRepository(record.repository);
  const admin = adminOf(repository, path);
  if (admin === null || !existsSync(path)) {
    throw invalid(
      path,
      `${path} is no worktree of ${repository.path} any more; nothing was committed.`,
    );
  }
  const place = placeOf(admin, path);
  mustBeAtRest(admin, path);
  await mustBeOn(record.branch, place);

  if (isAnew) await git(["read-tree", "-m", "HEAD"], place);
  await stage(place);
  const tree = await git(["write-tree"], place);
  const head = await git(["rev-parse", "--verify", "HEAD^{commit}"], place);
  await mustNotHave(broughtTo(place), { base: record.base, head }, place);
  if (tree === (await git(["rev-parse", `${head}^{tree}`], place))) return null;
  const env = await identity(place);
  const stdin = `${message.trim() || "viv"}\n`;
  const commit = await git(["commit-tree", tree, "-p", head, "-F", "-"], { ...place, env, stdin });
  // Fails if the branch has moved meanwhile.
  const move = ["-m", "commit: viv", `refs/heads/${record.branch}`, commit, head];
  await git(["update-ref", ...move], { ...place, env });
  return commit;
}

/** Not one of the repository, which others may hold. */
async function removeOwnLock(path: string, lock: string): Promise<boolean> {
  const record = readRecord(dirname(path), basename(path));
  if (record?.kind !== "worktree") return false;
  const repository = await findRepository(record.repository);
  const admin = adminOf(repository, path) ?? "";
  const own = [
    ...LOCKS_OF_WORKTREE.map((name) => join(admin, name)),
    join(repository.gitDir, `refs/heads/${record.branch}.lock`),
  ];
  if (!own.includes(lock)) return false;
  removeSync(lock);
  return true;
}

const UNFINISHED = {
  MERGE_HEAD: "merge",
  CHERRY_PICK_HEAD: "cherry-pick",
  REVERT_HEAD: "revert",
  "rebase-merge": "rebase",
  "rebase-apply": "rebase",
};

/** What git has begun there and not ended, like a merge; null at rest. */
export function unfinishedIn(admin: string): string | null {
  const file = Object.keys(UNFINISHED).find((name) => existsSync(join(admin, name)));
  return file === undefined ? null : UNFINISHED[file as keyof typeof UNFINISHED];
}

export function mustBeAtRest(admin: string, path: string): void {
  const what = unfinishedIn(admin);
  if (what !== null) {
    throw invalid(
      path,
      `a ${what} is unfinished in ${path}; finish it, or run: git -C ${quoted(path)} ${what} --abort.`,
    );
  }
}

export async function mustBeOn(branch: string, place: GitPlace): Promise<void> {
  const { status, stdout } = await askGit(["symbolic-ref", "--quiet", "HEAD"], place);
  const head = status === 0 ? stdout.toString().trim() : null;
  if (head === `refs/heads/${branch}`) return;
  const where = head === null ? "a detached HEAD" : head.replace(/^refs\/heads\//, "");
  throw invalid(
    place.cwd,
    `${place.cwd} is on ${where} instead of its branch ${branch}; bring it back with: git -C ${quoted(place.cwd)} switch ${branch}.`,
  );
}

/**
 * A task that commits by itself may have committed a copied file, which may be a secret: also in a
 * commit before one that removes it, because all of them land.
 */
async function mustNotHave(
  paths: readonly string[],
  { base, head }: { base: string; head: string },
  place: GitPlace,
): Promise<void> {
  if (paths.length === 0) return;
  const list = await gitBytes(["ls-tree", "-z", "--name-only", head, "--", ...paths], place);
  const [path] = namesOf(list);
  const which = path === undefined ? await brought(paths, `${base}..${head}`, place) : text(path);
  if (which === null) return;
  throw invalid(
    place.cwd,
    `the branch of ${place.cwd} has ${which}, which was copied or linked there and must not be committed; take it out of its commits (git -C ${quoted(place.cwd)} rebase -i).`,
  );
}

/** The first of these paths in any of these commits. */
async function brought(
  paths: readonly string[],
  commits: string,
  place: GitPlace,
): Promise<string | null> {
  const env = { GIT_LITERAL_PATHSPECS: "1" };
  const all = ["rev-list", "--full-history", commits, "--", ...paths];
  const [commit] = (await git(all, { ...place, env })).split("\n");
  if (!commit) return null;
  const one = ["diff-tree", "-r", "-m", "-z", "--name-only", "--no-commit-id", commit];
  const [name] = namesOf(await gitBytes([...one, "--", ...paths], { ...place, env }));
  return `${name === undefined ? paths[0] : text(name)} in commit ${commit.slice(0, 10)}`;
}

/** The user is the author, as far as git knows one. */
export async function identity(place: GitPlace): Promise<Record<string, string>> {
  const env: Record<string, string> = {};
  for (const role of ["AUTHOR", "COMMITTER"]) {
    const question = ["-c", "user.useConfigOnly=true", "var", `GIT_${role}_IDENT`];
    if ((await askGit(question, place)).status === 0) continue;
    env[`GIT_${role}_NAME`] = "Vivarium";
    env[`GIT_${role}_EMAIL`] = "vivarium@localhost";
  }
  return env;
}

/**
 * The differences from the index, without ignored files unless `everything` is set. `paths`: changed,
 * new and deleted files, as git names them; `nested`: folders that are repositories of their own,
 * whose files no commit and no patch can hold.
 *
 * Not by `git add -A` and `git status`: those run another git inside each repository that they find,
 * with its settings, and so any program that a task has put there.
 */
export async function changesIn(
  place: GitPlace,
  everything = false,
): Promise<{ paths: Buffer[]; nested: string[] }> {
  const rules = everything ? [] : rulesOf(place);
  const kinds = ["--modified", "--deleted", "--others"];
  const names = namesOf(await gitBytes(["ls-files", "-z", ...kinds, ...rules], place));
  const paths = names.filter((name) => !name.endsWith("/"));
  const nested = names.filter((name) => name.endsWith("/")).map((name) => text(name));
  return { paths: paths.map(bytes), nested };
}

/** Brings the index up to date with the files, but for nested repositories. */
export async function stage(place: GitPlace, everything = false): Promise<void> {
  // Deleted files first: a file may have become a folder, or a folder a link, of the same name.
  const gone = ["diff-files", "-z", "--name-only", "--diff-filter=D", "--ignore-submodules=dirty"];
  await updateIndex(["--force-remove"], namesOf(await gitBytes(gone, place)).map(bytes), place);
  const { paths } = await changesIn(place, everything);
  await updateIndex(["--add", "--remove", "--replace"], paths, place);
  await unstage(broughtTo(place), place);
  const rules = everything ? [] : rulesOf(place);
  const left = namesOf(await gitBytes(["ls-files", "-z", "--others", ...rules], place));
  const refused = left.find((name) => !name.endsWith("/"));
  if (refused === undefined) return;
  const name = JSON.stringify(text(refused));
  throw new VivError("INVALID", `git takes no file that is called ${name}; rename or remove it.`);
}

/** What is ignored: what was brought into a workspace, whatever the task's own rules are. */
function rulesOf(place: GitPlace): string[] {
  return [
    "--exclude-standard",
    ...broughtTo(place).map((path) => `--exclude=${excludeLine(path)}`),
  ];
}

/** A task may have staged what was brought. */
async function unstage(paths: readonly string[], place: GitPlace): Promise<void> {
  if (paths.length === 0) return;
  const staged = await trackedBelow(paths, place);
  await updateIndex(
    ["--force-remove"],
    staged.map((path) => Buffer.from(path)),
    place,
  );
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
