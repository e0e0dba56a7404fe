import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { VivError } from "../../base/errors.ts";
import { askGit, type GitPlace, git } from "../../platform/git/git.ts";
import { readRecord } from "./record.ts";
import { stage } from "./stage.ts";
import { adminOf, findRepository, placeOf } from "./worktree.ts";

export interface Author {
  name: string;
  email: string;
}

const NOBODY: Author = { name: "Vivarium", email: "vivarium@localhost" };

/**
 * Commits all changes in a worktree on its branch. Returns the commit, or null when there is
 * nothing to commit (also for a plain folder). What git ignores, and repositories within the
 * workspace, are left out. No hook is run.
 */
export async function commitWorkspace(
  path: string,
  message: string,
  author?: Author,
): Promise<string | null> {
  const record = readRecord(dirname(path), basename(path));
  if (record?.kind === "dir") return null;
  if (record === null) throw new VivError("INVALID", `${path} is not a workspace.`, { path });
  const repository = await findRepository(record.repository);
  const admin = adminOf(repository, path);
  if (admin === null || !existsSync(path)) {
    const sentence = `${path} is no worktree of ${repository.path} any more; nothing was committed.`;
    throw new VivError("INVALID", sentence, { path });
  }
  const place = placeOf(admin, path);
  mustBeAtRest(admin, path);
  await mustBeOn(record.branch, place);

  await stage(place);
  const tree = await git(["write-tree"], place);
  const head = await git(["rev-parse", "--verify", "HEAD^{commit}"], place);
  if (tree === (await git(["rev-parse", `${head}^{tree}`], place))) return null;
  const env = await identity(place, author);
  const stdin = `${message.trim() || "viv"}\n`;
  const commit = await git(["commit-tree", tree, "-p", head, "-F", "-"], { ...place, env, stdin });
  // Only if nobody has moved the branch meanwhile.
  const move = ["-m", "commit: viv", `refs/heads/${record.branch}`, commit, head];
  await git(["update-ref", ...move], { ...place, env });
  return commit;
}

const UNFINISHED = {
  MERGE_HEAD: "merge",
  CHERRY_PICK_HEAD: "cherry-pick",
  REVERT_HEAD: "revert",
  "rebase-merge": "rebase",
  "rebase-apply": "rebase",
};

function mustBeAtRest(admin: string, path: string): void {
  for (const [file, what] of Object.entries(UNFINISHED)) {
    if (!existsSync(join(admin, file))) continue;
    throw new VivError(
      "INVALID",
      `a ${what} is unfinished in ${path}; finish it, or run: git -C ${path} ${what} --abort.`,
      { path },
    );
  }
}

async function mustBeOn(branch: string, place: GitPlace): Promise<void> {
  const { status, stdout } = await askGit(["symbolic-ref", "--quiet", "HEAD"], place);
  const head = status === 0 ? stdout.toString().trim() : null;
  if (head === `refs/heads/${branch}`) return;
  const where = head === null ? "a detached HEAD" : head.replace(/^refs\/heads\//, "");
  throw new VivError(
    "INVALID",
    `${place.cwd} is on ${where} instead of its branch ${branch}; bring it back with: git -C ${place.cwd} switch ${branch}.`,
    { path: place.cwd },
  );
}

/** The user is the author, as far as git knows one. */
async function identity(place: GitPlace, author?: Author): Promise<Record<string, string>> {
  const knows = async (role: string) => {
    const question = ["-c", "user.useConfigOnly=true", "var", `GIT_${role}_IDENT`];
    return (await askGit(question, place)).status === 0;
  };
  const own = author ?? ((await knows("AUTHOR")) ? undefined : NOBODY);
  const committer = (await knows("COMMITTER")) ? undefined : NOBODY;
  return { ...variables("AUTHOR", own), ...variables("COMMITTER", committer) };
}

function variables(role: string, person: Author | undefined): Record<string, string> {
  if (person === undefined) return {};
  return { [`GIT_${role}_NAME`]: person.name, [`GIT_${role}_EMAIL`]: person.email };
}
