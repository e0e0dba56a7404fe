import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { VivError } from "../base/errors.ts";
import { askGit, type GitAnswer, lastWord } from "../platform/git/git.ts";
import {
  type BoardCheckout,
  branchOf,
  commitInFile,
  noBoard,
  operationUnderWay,
  unusable,
} from "./checkout.ts";
import { blobsOnTheWay } from "./journal.ts";
import { entryOf, formatOf, oidOf, readBatch, type TreeEntry } from "./objects.ts";

/** The board as a commit has it, with the trees that lead to it. */
export interface BoardVersion {
  commit: string;
  blob: string;
  bytes: Buffer;
  /** From the top to the folder of the board, each with the entry that leads on. */
  trees: { bytes: Buffer; entry: TreeEntry }[];
}

/** At HEAD. One process, so that it costs the same however deep the board lies. */
export async function readVersion(checkout: BoardCheckout): Promise<BoardVersion> {
  for (let tries = 0; ; tries++) {
    const { head, blob } = (await readAll(checkout, `HEAD:${checkout.path}`)) ?? {};
    if (head !== undefined && blob?.oid === head.blob) {
      if (blob.kind !== "blob") throw await notCommitted(checkout);
      return { ...head, bytes: blob.bytes };
    }
    if (tries === 20)
      throw new VivError("LOCKED", `HEAD of ${checkout.top} moved during each read; try again.`);
  }
}

/** At HEAD, if the index has the same blob: asked of the index, one answer is for both. */
async function readSettledVersion(checkout: BoardCheckout): Promise<BoardVersion | null> {
  const { head, blob } = (await readAll(checkout, `:0:${checkout.path}`)) ?? {};
  const isSame = head !== undefined && blob?.oid === head.blob && blob.kind === "blob";
  return isSame ? { ...head, bytes: blob.bytes } : null;
}

/** The trees from HEAD to the board, and `object`. Null when HEAD moved between two answers. */
async function readAll(checkout: BoardCheckout, object: string) {
  const parts = checkout.path.split("/");
  const folders = parts.map((_, i) => `HEAD:${parts.slice(0, i).join("/")}`);
  const answer = await askGit(["cat-file", "--batch"], {
    cwd: checkout.top,
    stdin: `${["HEAD", ...folders, object].join("\n")}\n`,
  });
  if (answer.status !== 0) throw gitError(checkout, answer);
  const [commit, ...rest] = readBatch(answer.stdout);
  if (!commit) throw await noCommits(checkout);
  const format = formatOf(commit.oid);
  const trees: BoardVersion["trees"] = [];
  let expected = /^tree ([0-9a-f]+)/.exec(commit.bytes.toString("latin1", 0, 80))?.[1] ?? "";
  for (const [i, name] of parts.entries()) {
    const tree = rest[i];
    if (!tree && i > 0) throw await notCommitted(checkout);
    if (tree?.oid !== expected) return null;
    if (tree.kind !== "tree") throw await notCommitted(checkout); // a file stands in the way
    const entry = entryOf(tree.bytes, name, format);
    if (entry === null) throw await notCommitted(checkout);
    trees.push({ bytes: tree.bytes, entry });
    expected = entry.oid;
  }
  if (trees.at(-1)?.entry.mode === "120000") {
    throw unusable(`${checkout.file} is committed as a link; commit the board itself.`, {});
  }
  return { head: { commit: commit.oid, blob: expected, trees }, blob: rest[parts.length] };
}

async function noCommits(checkout: BoardCheckout): Promise<VivError> {
  const { top, name } = checkout;
  const named = await askGit(["rev-parse", "-q", "--verify", "HEAD"], { cwd: top });
  const branch = await branchOf(checkout);
  const broken = named.stdout.toString("utf8").trim() || (branch && commitInFile(checkout, branch));
  if (broken) {
    const what = `HEAD of ${top} names ${JSON.stringify(broken.slice(0, 80))}, which is not a commit`;
    return unusable(`${what}: the repository is damaged; run: git fsck`, { top });
  }
  const message = `the branch of ${top} has no commit yet; make the first with: git add ${name} && git commit`;
  return unusable(message, { top });
}

async function notCommitted({ file, name, path, top }: BoardCheckout): Promise<VivError> {
  if (!existsSync(file)) return noBoard(file);
  const ignored = await askGit(["check-ignore", "-q", "--", path], { cwd: top });
  return unusable(
    ignored.status === 0
      ? `${file} is ignored by git, and claims are commits; take it out of .gitignore and commit it.`
      : `${file} is not committed on this branch; do that first: git add ${name} && git commit -m "the board" ${name}`,
    { file },
  );
}

function gitError({ top, gitDir }: BoardCheckout, { stderr }: GitAnswer): VivError {
  const hint = stderr.includes("index.lock") ? ` (see ${join(gitDir, "index.lock")})` : "";
  return unusable(`git cannot use ${top}: ${lastWord(stderr)}${hint}.`, { stderr });
}

/** The tip of the branch that is checked out, on which a change can be made. */
export interface BoardTip extends BoardVersion {
  branch: string;
  /** The index or the file is older: another process updates it now, or was killed before it did. */
  isBehind: boolean;
}

/** Throws the first reason that forbids a change. */
export async function readTip(checkout: BoardCheckout): Promise<BoardTip> {
  const operation = operationUnderWay(checkout);
  if (operation !== null) {
    const message = `${operation} is under way in ${checkout.top}; finish or abort it first (see git status).`;
    throw new VivError("WRONG_STATE", message, { file: checkout.file });
  }
  const settled = await readSettledVersion(checkout);
  const version = settled ?? (await readVersion(checkout));
  const branch = await branchOf(checkout);
  if (branch === null) {
    const message = `${checkout.top} is on no branch (detached HEAD), so a claim would be lost; git switch to one first.`;
    throw new VivError("WRONG_STATE", message, { file: checkout.file });
  }
  const index = settled ? version.blob : await indexBlob(checkout);
  return { ...version, branch, isBehind: await isBehind(checkout, version, index) };
}

/** The board's blob in the index; null for none. */
async function indexBlob(checkout: BoardCheckout): Promise<string | null> {
  const args = ["--literal-pathspecs", "ls-files", "-s", "-z", "--", checkout.path];
  const answer = await askGit(args, { cwd: checkout.top });
  if (answer.status !== 0) throw gitError(checkout, answer);
  const entry = /^\d+ ([0-9a-f]+) ([0-3])\t/.exec(answer.stdout.toString("latin1"));
  if (entry === null) return null;
  if (entry[2] === "0") return entry[1] as string;
  const message = `${checkout.file} has unresolved conflicts; resolve and commit them first (see git status).`;
  throw new VivError("WRONG_STATE", message, { file: checkout.file });
}

/** Refuses an edited board: a change must not mix with the edit, nor overwrite it. */
async function isBehind(
  checkout: BoardCheckout,
  version: BoardVersion,
  index: string | null,
): Promise<boolean> {
  const file = (await fileBlob(checkout, version))?.blob ?? null;
  if (index === version.blob && (file === version.blob || file === null)) return false;
  const known = blobsOnTheWay(checkout).add(version.blob);
  const isKnown = (blob: string | null) => blob !== null && known.has(blob);
  if (isKnown(index) && (file === null || isKnown(file))) return true;
  const how = isKnown(file) ? "staged" : "edited";
  const both = isKnown(index) ? "" : "--staged --worktree ";
  const [what, flags] =
    how === "staged" ? ["staged changes", "--staged "] : ["uncommitted edits", both];
  const message = `${checkout.file} has ${what}; commit them first, or drop them with: git restore ${flags}${checkout.name}`;
  throw new VivError("WRONG_STATE", message, { file: checkout.file, how });
}

/**
 * The blob that the file would be; null when a sparse checkout leaves it out. `isAsItIs`: the bytes
 * are those of the blob; otherwise git converts line ends or filters.
 */
export async function fileBlob(
  checkout: BoardCheckout,
  version: BoardVersion,
): Promise<{ blob: string; isAsItIs: boolean } | null> {
  const bytes = readIfThere(checkout.file);
  if (bytes === null) {
    const args = ["--literal-pathspecs", "ls-files", "-t", "--", checkout.path];
    const flags = await askGit(args, { cwd: checkout.top });
    if (flags.stdout.toString("utf8").startsWith("S ")) return null;
    const message = `${checkout.file} was deleted and the deletion is not committed; restore it with: git restore ${checkout.name}`;
    throw new VivError("WRONG_STATE", message, { file: checkout.file });
  }
  if (bytes.equals(version.bytes)) return { blob: version.blob, isAsItIs: true };
  const asItIs = oidOf({ kind: "blob", bytes }, formatOf(version.commit));
  if (blobsOnTheWay(checkout).has(asItIs)) return { blob: asItIs, isAsItIs: true };
  const answer = await askGit(["hash-object", `--path=${checkout.path}`, "--stdin"], {
    cwd: checkout.top,
    stdin: bytes,
  });
  const blob = answer.status === 0 ? answer.stdout.toString("utf8").trim() : asItIs;
  return { blob, isAsItIs: blob === asItIs };
}

function readIfThere(file: string): Buffer | null {
  try {
    return readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    const message = `${file} cannot be read: ${(error as Error).message}.`;
    throw new VivError("RUN_INVALID", message, { file }, { cause: error });
  }
}
