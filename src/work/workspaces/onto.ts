import { lstatSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { quoted } from "../../base/text.ts";
import { askGit, type GitPlace, git, lastWord } from "../../platform/git/git.ts";
import { hasOtherWork, hiddenSides, mergeTrees, sinceBase } from "../../platform/git/merge-tree.ts";
import { checkOut, treeOfFiles, treeWith } from "./archive.ts";
import { identity, mustBeAtRest, mustBeOn } from "./commit.ts";
import { invalid, type Onto, readRecord, type WorktreeRecord, writeRecord } from "./record.ts";
import { adminOf, commitOf, placeOf, type Repository } from "./worktree.ts";

/**
 * Brings a worktree onto another commit, with the task's work on top as uncommitted changes, and with
 * conflict markers where git cannot merge the two. The claimer does it before its handler starts, so
 * that a worktree has one writer. The steps, each of which may be repeated after a kill:
 *   1. the work as it is now, uncommitted files included, becomes a commit, kept by the ref `keep`
 *   2. the merge is computed, and all of it written to the record
 *   3. the branch moves to `tip`, by compare-and-swap
 *   4. the files become those of the merge
 *   5. the record says that the branch begins at `tip`
 */
export async function bringOnto(
  place: { root: string; id: string; path: string; repository: Repository },
  record: WorktreeRecord,
): Promise<WorktreeRecord> {
  const { root, id, path, repository } = place;
  const { onto } = record;
  if (onto === undefined) return record;
  const admin = adminOf(repository, path);
  if (admin === null) throw invalid(path, `${path} is no worktree of ${repository.path}.`);
  const tree = placeOf(admin, path);
  await mustBeOn(record.branch, tree);
  const ready = onto.step === "noted" ? await prepare(place, admin, tree, record, onto) : onto;
  if (ready === null) return settle(root, id, record, {});
  await moveBranch(repository, record.branch, ready);
  // A process that slept through all of this must not write over the work of the next one.
  const now = readRecord(root, id);
  if (now?.kind === "worktree" && now.onto?.step !== "ready") return now;
  await checkOut(root, tree, ready.tree);
  return settle(root, id, record, { base: ready.tip, conflicts: ready.files });
}

type Noted = Extract<Onto, { step: "noted" }>;
type Ready = Extract<Onto, { step: "ready" }>;

/** Null when it cannot be brought there: `tip` is gone, or this git cannot merge without a worktree. */
async function prepare(
  { root, id, path, repository }: Parameters<typeof bringOnto>[0],
  admin: string,
  place: GitPlace,
  record: WorktreeRecord,
  { tip, keep, merged: known }: Noted,
): Promise<Ready | null> {
  mustBeAtRest(admin, path);
  if (!(await isThere(repository, tip))) return null;
  const head = await git(["rev-parse", "--verify", "HEAD^{commit}"], place);
  const from = await commitOfFiles(root, id, place, head);
  await git(["update-ref", "-m", "viv: before a rework", keep, from], place);
  const sides = await sidesOf(repository, record.base, tip, from);
  const merged =
    known?.from === from
      ? known
      : await mergeTrees({ cwd: repository.path }, sides.ours, sides.theirs);
  if (merged === null) return null;
  const { tree, files } = await withHidden(root, place, { ...merged, from, sides });
  const ready: Ready = { step: "ready", tip, keep, head, from, tree, files };
  writeRecord(root, id, { ...record, onto: ready });
  return ready;
}

interface Sides {
  ours: string;
  theirs: string;
}

/** Without what the branch began with and the tip does not have, like a dependency's old work. */
async function sidesOf(
  repository: Repository,
  base: string,
  tip: string,
  from: string,
): Promise<Sides> {
  const place = { cwd: repository.path };
  const isPlain = !(await isThere(repository, base)) || !(await hasOtherWork(place, base, tip));
  return isPlain ? { ours: tip, theirs: from } : sinceBase(place, base, tip, from);
}

/**
 * A picture or a link that both sides have changed has no conflict markers, and the merge has only the
 * tip's. The work's own lies beside it, as git does it for files of different types: nothing of it is
 * lost unseen, and to remove it is to have decided.
 */
async function withHidden(
  root: string,
  place: GitPlace,
  { tree, files, from, sides }: { tree: string; files: string[]; from: string; sides: Sides },
): Promise<{ tree: string; files: string[] }> {
  if (files.length === 0) return { tree, files };
  const hidden = (await hiddenSides(place, sides.ours, sides.theirs)).map((one) => ({
    ...one,
    path: `${one.path}~${from}`,
  }));
  if (hidden.length === 0) return { tree, files };
  const entries = hidden.map(({ mode, object, path }) => `${mode} ${object}\t${path}`);
  return {
    tree: await treeWith(root, place, tree, entries),
    files: [...files, ...hidden.map(({ path }) => path)],
  };
}

async function isThere({ path }: Repository, commit: string): Promise<boolean> {
  const { status, stderr } = await askGit(["cat-file", "-e", commit], { cwd: path });
  if (status === 0 || status === 1) return status === 0;
  throw invalid(path, `git cat-file failed in ${path}: ${lastWord(stderr)}.`);
}

/** The branch's own commit when nothing has changed since. */
async function commitOfFiles(
  root: string,
  id: string,
  place: GitPlace,
  head: string,
): Promise<string> {
  const tree = await treeOfFiles(root, place);
  if (tree === (await git(["rev-parse", `${head}^{tree}`], place))) return head;
  const message = `viv: uncommitted work of ${id}\n`;
  const env = await identity(place);
  return git(["commit-tree", tree, "-p", head, "-F", "-"], { ...place, env, stdin: message });
}

async function moveBranch(
  repository: Repository,
  branch: string,
  { head, tip }: Ready,
): Promise<void> {
  const ref = `refs/heads/${branch}`;
  const now = await commitOf(repository, ref);
  if (now === tip) return;
  if (now !== head) {
    throw invalid(
      repository.path,
      `${branch} has moved while it was brought onto ${tip.slice(0, 10)}; bring it back with: git -C ${quoted(repository.path)} update-ref ${ref} ${head}.`,
    );
  }
  const move = ["update-ref", "-m", "viv: rework", ref, tip, head];
  await git(move, { cwd: repository.path });
}

function settle(
  root: string,
  id: string,
  { onto: _, conflicts: __, ...record }: WorktreeRecord,
  now: { base?: string; conflicts?: string[] },
): WorktreeRecord {
  const conflicts = now.conflicts?.length ? { conflicts: now.conflicts } : {};
  const settled = { ...record, base: now.base ?? record.base, ...conflicts };
  writeRecord(root, id, settled);
  return settled;
}

const MARKER = /^(?:<{7}|>{7})(?: |\r?$)/m;
/** What one side of a conflict is called that cannot be in the same file as the other. */
const SIDE = /~[0-9a-f]{40,}(?:_\d+)?$/;

/**
 * Of the files that conflicted, those that still have lines with conflict markers, or are one side of
 * a conflict.
 */
export async function unresolvedIn(
  path: string,
  files?: readonly string[],
): Promise<readonly string[]> {
  const record = readRecord(dirname(path), basename(path));
  if (record?.kind !== "worktree") return [];
  const left: string[] = [];
  for (const file of files ?? record.conflicts ?? []) {
    const target = join(path, file);
    const stats = lstatSync(target, { throwIfNoEntry: false });
    const isSide = stats !== undefined && SIDE.test(file);
    if (!isSide && !(stats?.isFile() && MARKER.test(readFileSync(target, "latin1")))) continue;
    // A text about conflicts has such lines in its own right.
    const before = ["cat-file", "blob", `${record.base}:${file}`];
    const { status, stdout } = await askGit(before, { cwd: record.repository });
    if (status === 0 && (isSide || MARKER.test(stdout.toString("latin1")))) continue;
    left.push(file);
  }
  return left;
}
