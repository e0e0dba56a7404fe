import { existsSync, lstatSync, readFileSync, realpathSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { VivError } from "../base/errors.ts";
import { assertTrusted, refuse } from "../platform/files/owned.ts";
import { findUp } from "../platform/files/search-up.ts";
import { askGit, checkoutAbove } from "../platform/git/git.ts";

/** The checkout that a board is in (which may be a linked worktree), and its path in it. */
export interface BoardCheckout {
  file: string;
  folder: string;
  name: string;
  top: string;
  /** Of this checkout, and of the repository it belongs to. */
  gitDir: string;
  commonDir: string;
  /** From the top, with slashes. */
  path: string;
}

/** `--board`, then VIV_BOARD, then the nearest board.org here or above. */
export async function findCheckout(
  given: string | undefined,
  { cwd, env }: { cwd: string; env: Readonly<Record<string, string | undefined>> },
): Promise<BoardCheckout> {
  const named = given ?? (env.VIV_BOARD || undefined);
  if (named === "") throw new VivError("USAGE", "--board is empty; it is the path of an org file.");
  if (named !== undefined) return checkoutOf(resolve(cwd, named));
  const found = findUp("board.org", cwd, env, ({ path, why }) => refuse(path, why));
  if (found !== null) return checkoutOf(found);
  const message =
    "there is no board.org here or above; make one with viv board init, or name it with --board FILE.";
  throw new VivError("RUN_NOT_FOUND", message, { cwd });
}

export async function checkoutOf(file: string): Promise<BoardCheckout> {
  const found = lstatSync(file, { throwIfNoEntry: false });
  if (found?.isSymbolicLink()) {
    const meant = existsSync(file) ? `: ${realpathSync(file)}` : "";
    throw unusable(`${file} is a link; give the board itself with --board${meant}`, { file });
  }
  if (found?.isDirectory()) {
    throw new VivError("USAGE", `${file} is a folder; --board is an org file.`, { file });
  }
  if (found && !found.isFile()) throw unusable(`${file} is not a plain file.`, { file });
  if (found === undefined && !existsSync(dirname(file))) throw noBoard(file);
  assertTrusted(file);
  const folder = realpathSync(dirname(file));
  const name = basename(file);
  if (/[\n\r]/.test(join(folder, name))) {
    throw unusable(`the path of a board must not contain a line break: ${file}`, { file });
  }
  const top = checkoutAbove(folder);
  if (top === null) throw await noCheckout(folder, file, found !== undefined);
  const gitDir = gitDirOf(top);
  const common = join(gitDir, "commondir");
  return {
    ...{ file: join(folder, name), folder, name, top, gitDir },
    commonDir: existsSync(common) ? resolve(gitDir, readFileSync(common, "utf8").trim()) : gitDir,
    path: relative(top, join(folder, name)).split(sep).join("/"),
  };
}

/** In a linked worktree and in a submodule, `.git` is a file that names the folder. */
function gitDirOf(top: string): string {
  const path = join(top, ".git");
  if (lstatSync(path).isDirectory()) return path;
  const link = lstatSync(path).isFile() ? /^gitdir: (.+)/.exec(readFileSync(path, "utf8")) : null;
  return link === null ? realpathSync(path) : resolve(top, (link[1] as string).trim());
}

async function noCheckout(folder: string, file: string, exists: boolean): Promise<VivError> {
  const answer = await askGit(["rev-parse", "--is-inside-work-tree"], { cwd: folder });
  if (answer.status === 0) {
    const message = `${folder} belongs to a bare repository, which has no files; use the board of a checkout.`;
    return unusable(message, { file });
  }
  if (!exists) return noBoard(file);
  const message = `${file} is in no git repository, and claims are commits; make one with: git init ${folder}`;
  return unusable(message, { file });
}

export function noBoard(file: string): VivError {
  const message = `there is no board ${file}; name the board with --board FILE or VIV_BOARD.`;
  return new VivError("RUN_NOT_FOUND", message, { file });
}

/** It exists, but no commit can be made on it. */
export function unusable(message: string, details: Record<string, unknown>): VivError {
  return new VivError("RUN_INVALID", message, details);
}

const UNFINISHED: readonly [file: string, operation: string][] = [
  ["rebase-merge", "a rebase"],
  ["rebase-apply", "a rebase"],
  ["MERGE_HEAD", "a merge"],
  ["CHERRY_PICK_HEAD", "a cherry-pick"],
  ["REVERT_HEAD", "a revert"],
];

/** The merge or rebase that was begun in this checkout and not finished. */
export function operationUnderWay({ gitDir }: BoardCheckout): string | null {
  return UNFINISHED.find(([file]) => existsSync(join(gitDir, file)))?.[1] ?? null;
}

const HEADS = "refs/heads/";

/** The branch that is checked out; null for none. */
export async function branchOf(checkout: BoardCheckout): Promise<string | null> {
  const ref = refInFile(join(checkout.gitDir, "HEAD")) ?? (await refByGit(checkout));
  return ref?.startsWith(HEADS) ? ref.slice(HEADS.length) : null;
}

/** Null where the file does not name it: another ref store writes `.invalid`; old git made a link. */
function refInFile(head: string): string | null {
  try {
    const ref = /^ref: *(\S+)\s*$/.exec(readFileSync(head, "utf8"))?.[1];
    return ref === undefined || ref === `${HEADS}.invalid` ? null : ref;
  } catch {
    return null; // git reports the error
  }
}

async function refByGit({ top }: BoardCheckout): Promise<string | null> {
  const answer = await askGit(["symbolic-ref", "-q", "HEAD"], { cwd: top });
  return answer.status === 0 ? answer.stdout.toString("utf8").trim() : null;
}

/** The branch's commit if that can be read without git, as right after it was moved; else null. */
export function commitInFile({ commonDir }: BoardCheckout, branch: string): string | null {
  try {
    return readFileSync(join(commonDir, HEADS, branch), "utf8").trim();
  } catch {
    return null; // packed, or another kind of store: git must be asked
  }
}
