import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import { unlessTaken } from "../../base/errno.ts";
import { isVivError, VivError } from "../../base/errors.ts";
import { syncFolder } from "../../platform/files/atomic-write.ts";
import { withFile } from "../../platform/files/beneath.ts";
import { runTar } from "../../platform/files/tar.ts";
import { type GitPlace, git } from "../../platform/git/git.ts";
import { stage } from "./commit.ts";

/**
 * Saves the content of a workspace to a file that is complete, synced and read back before anything
 * is removed. The user's index and branches stay as they are.
 */

/** A patch from `base` to the files as they are, or null when there is no difference. */
export async function archiveWorktree(
  root: string,
  place: GitPlace,
  base: string,
  target: string,
): Promise<string | null> {
  return withTemporary(root, async (temporary) => {
    const own = await ownIndex(temporary, place, base);
    await stage(own);
    const from = await git(["rev-parse", `${base}^{tree}`], own);
    const to = await git(["write-tree"], own);
    if (from === to) return null;
    return writePatch(temporary, own, { from, to }, target);
  });
}

/** The files of a worktree as a tree, ignored ones apart. Its index stays as it is. */
export function treeOfFiles(root: string, place: GitPlace): Promise<string> {
  return withTemporary(root, async (temporary) => {
    const own = await ownIndex(temporary, place, "HEAD");
    await stage(own);
    return git(["write-tree"], own);
  });
}

/**
 * Makes the files of a worktree those of a tree. Its index is replaced in one step when they are:
 * killed before, the same call begins anew.
 */
export function checkOut(root: string, place: GitPlace, tree: string): Promise<void> {
  return withTemporary(root, async (temporary) => {
    const own = await ownIndex(temporary, place, "HEAD");
    await git(["read-tree", "--reset", "-u", tree], own);
    renameSync(own.indexFile, join(place.gitDir ?? "", "index"));
  });
}

/** A tree with more files in it, given as `git update-index --index-info` takes them. */
export function treeWith(
  root: string,
  place: GitPlace,
  tree: string,
  entries: readonly string[],
): Promise<string> {
  return withTemporary(root, async (temporary) => {
    const own = { ...place, indexFile: join(temporary, "index") };
    await git(["read-tree", tree], own);
    const stdin = entries.map((entry) => `${entry}\0`).join("");
    await git(["update-index", "-z", "--index-info"], { ...own, stdin });
    return git(["write-tree"], own);
  });
}

async function ownIndex(temporary: string, place: GitPlace, base: string) {
  const own = { ...place, indexFile: join(temporary, "index") };
  const index = join(place.gitDir ?? "", "index");
  if (existsSync(index)) {
    copyFileSync(index, own.indexFile);
    // Older than all files: so git compares their content. By the time of the copy it would overlook
    // changes from just before.
    utimesSync(own.indexFile, 1, 1);
  } else await git(["read-tree", base], own);
  return own;
}

/** A patch that makes all files of a folder out of nothing; a tar where a patch cannot hold it. */
export async function archiveFolder(root: string, path: string, target: string): Promise<string> {
  return withTemporary(root, async (temporary) => {
    try {
      if (isPlain(path)) return await patchOfFolder(temporary, path, target);
    } catch (error) {
      // A name that git does not take, or no git at all: a tar will do. Not so with a full disk.
      if (isVivError(error, "DISK_FULL")) throw error;
    }
    return tarOfFolder(temporary, path, target);
  });
}

async function patchOfFolder(temporary: string, path: string, target: string): Promise<string> {
  const gitDir = join(temporary, "repository");
  await git(["init", "--quiet", "--bare", "--template=", gitDir], { cwd: temporary });
  mkdirSync(join(gitDir, "info"), { recursive: true });
  // Every byte as it is, whatever a .gitattributes in the folder says.
  const raw = "* -text -ident -filter !eol !working-tree-encoding\n";
  writeFileSync(join(gitDir, "info/attributes"), raw);
  const place = { cwd: path, gitDir, workTree: path, indexFile: join(temporary, "index") };
  const from = await git(["write-tree"], place);
  await stage(place, true);
  const to = await git(["write-tree"], place);
  return writePatch(temporary, place, { from, to }, target);
}

async function writePatch(
  temporary: string,
  place: GitPlace,
  { from, to }: { from: string; to: string },
  target: string,
): Promise<string> {
  return publish(target, async (draft) => {
    const fd = openSync(draft, "r+");
    try {
      const exact = ["-p", "--binary", "--full-index", "--no-renames", "--no-color"];
      const plain = ["--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/"];
      await git(["diff-tree", "-r", ...exact, ...plain, from, to], { ...place, stdoutTo: fd });
    } finally {
      closeSync(fd);
    }
    const check = { ...place, indexFile: join(temporary, "check") };
    await git(["read-tree", from], check);
    await git(["apply", "--cached", "--whitespace=nowarn", draft], check);
    if ((await git(["write-tree"], check)) !== to) {
      throw new VivError("CORRUPT", `the patch ${target} would not give the same files back.`);
    }
  });
}

async function tarOfFolder(temporary: string, path: string, target: string): Promise<string> {
  const tar = join(dirname(target), `${basename(target, extname(target))}.tar`);
  return publish(tar, async (draft) => {
    await runTar(["--create", "--file", draft, "--directory", path, "."], temporary);
    await runTar(["--compare", "--file", draft, "--directory", path], temporary);
  });
}

/**
 * Writes a file under another name, syncs it, and gives it its own name or the next free one: no
 * earlier archive is overwritten. Returns its path.
 */
async function publish(target: string, write: (draft: string) => Promise<void>): Promise<string> {
  mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
  const draft = join(dirname(target), `.${basename(target)}.${process.pid}.new`);
  try {
    closeSync(openSync(draft, "wx", 0o600));
    await write(draft);
    withFile(draft, constants.O_RDWR, fsyncSync);
    const end = extname(target);
    const stem = target.slice(0, target.length - end.length);
    let path = target;
    const link = () => unlessTaken(() => linkSync(draft, path));
    for (let n = 2; !link(); n++) path = `${stem}.${n}${end}`;
    syncFolder(dirname(path));
    return path;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Only files, links and folders that are not empty: what a patch can hold. */
function isPlain(folder: string): boolean {
  const entries = readdirSync(folder, { withFileTypes: true });
  return (
    entries.length > 0 &&
    entries.every((entry) => {
      if (entry.name.toLowerCase() === ".git") return false;
      if (entry.isDirectory()) return isPlain(join(folder, entry.name));
      return entry.isFile() || entry.isSymbolicLink();
    })
  );
}

async function withTemporary<T>(root: string, work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(root, ".archive~"));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
