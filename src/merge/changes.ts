import { isUtf8 } from "node:buffer";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { askGit, git, gitBytes } from "../platform/git/git.ts";
import type { Store } from "../queue/store.ts";
import { treeOfFiles } from "../work/workspaces/archive.ts";
import { NOT_OF_TASKS } from "../work/workspaces/inspect.ts";
import { readRecord, workspacePath } from "../work/workspaces/record.ts";
import {
  adminOf,
  commitOf,
  findRepository,
  placeOf,
  type Repository,
} from "../work/workspaces/worktree.ts";
import { type Landing, readLanding } from "./landing.ts";

/** What a task has changed, and where that is to be seen. */
export interface Changes {
  repository: string;
  branch: string;
  /** The commit that its work began at. */
  base: string;
  /** The commit that its branch ends at; null when the branch is gone. */
  head: string | null;
  /** Two commits or trees: the work is the difference. */
  from: string;
  to: string;
  seen: "workspace" | "branch" | "landed";
  /** The workspace has changes that are on no branch; they are in `to`. */
  uncommitted: boolean;
  landing: Landing | null;
}

/** Null for a task that has no branch. Throws INVALID when nothing is left to look at. */
export async function changesOf(store: Store, id: string): Promise<Changes | null> {
  const landing = readLanding(store.folder, id);
  const record = readRecord(store.workspaces, id);
  const known = record?.kind === "worktree" ? record : landing;
  if (known === null) return null;
  const { branch, base } = known;
  const repository = await findRepository(known.repository);
  const head = await commitOf(repository, `refs/heads/${branch}`);
  const one = { repository: repository.path, branch, base, head, landing };
  const files = record === null ? null : await filesOf(store, id, repository);
  if (files !== null) {
    return { ...one, from: base, to: files.tree, seen: "workspace", uncommitted: files.isDirty };
  }
  const isLanded = landing?.state === "landed" && landing.head === head;
  if (head !== null && !isLanded) {
    return { ...one, from: base, to: head, seen: "branch", uncommitted: false };
  }
  const landed = landing && (await landedIn(repository, landing));
  if (landed) return { ...one, ...landed, seen: "landed", uncommitted: false };
  const to = head ?? base;
  return { ...one, from: base, to, seen: "branch", uncommitted: false };
}

/** The files as they are, if its worktree is there. */
async function filesOf(store: Store, id: string, repository: Repository) {
  const path = workspacePath(store.workspaces, id);
  const admin = existsSync(path) ? adminOf(repository, path) : null;
  if (admin === null) return null;
  const place = placeOf(admin, path);
  const tree = await treeOfFiles(store.workspaces, place);
  return { tree, isDirty: tree !== (await git(["rev-parse", "HEAD^{tree}"], place)) };
}

/** By its own commits while git has them; after a squash or a rebase and a gc, by what landed. */
async function landedIn(repository: Repository, { base, head, to }: Landing) {
  const own = await Promise.all([base, head].map((one) => commitOf(repository, one)));
  if (own.every((one) => one !== null)) return { from: base, to: head };
  const parent = to === undefined ? null : await commitOf(repository, `${to}^1`);
  return to === undefined || parent === null ? null : { from: parent, to };
}

export interface ChangedFile {
  path: string;
  /** Null for a binary file. */
  insertions: number | null;
  deletions: number | null;
}

export async function changedFiles({
  repository,
  from,
  to,
}: Pick<Changes, "repository" | "from" | "to">): Promise<ChangedFile[]> {
  const args = ["diff-tree", "-r", "-z", "--numstat", "--no-renames", from, to];
  const text = (await gitBytes(args, { cwd: repository })).toString("utf8");
  return text.split("\0").flatMap((line) => {
    const [insertions, deletions, ...names] = line.split("\t");
    if (names.length === 0) return [];
    const path = names.join("\t"); // a name may have tabs in it
    const count = (number = "") => (number === "-" ? null : Number(number));
    return [{ path, insertions: count(insertions), deletions: count(deletions) }];
  });
}

/**
 * As `git diff` shows it, in the repository's own words: no program of the repository is run. Files
 * that are no UTF-8 are in it as binary ones: a text would not give the same bytes to `git apply`.
 */
export async function diffText({ repository, from, to }: Changes, file?: string): Promise<string> {
  const plain = ["--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/"];
  const only = file === undefined ? [] : ["--", file];
  const exact = ["-r", "-p", "-M", "--binary", ...plain, "--dst-prefix=b/", from, to, ...only];
  const literal = ["--literal-pathspecs"]; // a file may be called *
  const diff = await gitBytes([...literal, "diff-tree", ...exact], { cwd: repository });
  if (isUtf8(diff)) return diff.toString("utf8");
  const folder = mkdtempSync(join(tmpdir(), "viv-diff-"));
  try {
    const path = join(folder, "attributes");
    writeFileSync(path, "* -diff\n");
    const all = [...literal, "-c", `core.attributesFile=${path}`, "diff-tree", ...exact];
    const binary = sectionsOf(await gitBytes(all, { cwd: repository }));
    const texts = sectionsOf(diff).map((one, i) => (isUtf8(one) ? one : (binary[i] ?? one)));
    return Buffer.concat(texts).toString("utf8");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** One for each file: a line of a content has another sign in front. */
function sectionsOf(diff: Buffer): Buffer[] {
  const head = "diff --git ";
  const starts: number[] = [];
  for (let at = diff.indexOf(head); at !== -1; at = diff.indexOf(`\n${head}`, at) + 1 || -1) {
    starts.push(at);
  }
  return starts.map((start, i) => diff.subarray(start, starts[i + 1]));
}

export interface ChangeSum {
  files: number;
  insertions: number;
  deletions: number;
}

export function sumOf(files: readonly ChangedFile[]): ChangeSum {
  const sum = { files: files.length, insertions: 0, deletions: 0 };
  for (const { insertions, deletions } of files) {
    sum.insertions += insertions ?? 0;
    sum.deletions += deletions ?? 0;
  }
  return sum;
}

/** Whether every commit of the branch is in another one, too: a person has merged it. */
export async function isElsewhere({ repository, head, base }: Changes): Promise<boolean> {
  if (head === null || head === base) return false;
  const args = ["rev-list", "--count", "--max-count=1", head, ...NOT_OF_TASKS];
  const { status, stdout } = await askGit(args, { cwd: repository });
  return status === 0 && stdout.toString().trim() === "0";
}
