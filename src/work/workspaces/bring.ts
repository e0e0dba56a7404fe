import {
  closeSync,
  existsSync,
  fchmodSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { counted } from "../../base/text.ts";
import { mkdirSync, removeSync, renameSync } from "../../platform/files/beneath.ts";
import { isThere } from "../../platform/files/remove-tree.ts";
import { type GitPlace, gitNames } from "../../platform/git/git.ts";
import type { Needs } from "../config-needs.ts";
import { pathsFor } from "./paths.ts";
import { type ReadyState, readReady, writeReady } from "./ready-state.ts";
import { invalid } from "./record.ts";

/**
 * Brings files of the repository's checkout that git does not have (`copy`), and links to them
 * (`link`), into a worktree. What git tracks is left alone, and so is what the worktree has already,
 * but for an older copy. Each path is noted before it is brought, so that none can be committed.
 */
export interface Bringing {
  copies: { path: string; from: string; mark: string }[];
  links: { path: string; target: string }[];
}

/** More of them are a case for `link`, or for the set-up. */
const MOST_FILES = 1000;

/** Throws INVALID for a path that is not there or that leads out of the repository. */
export function planBringing(checkout: string, { copy = [], link = [] }: Needs): Bringing {
  if ((copy.length > 0 || link.length > 0) && !existsSync(join(checkout, ".git"))) {
    const message = `${checkout} is a repository without a checkout; copy and link have nothing to take from.`;
    throw invalid(checkout, message);
  }
  const copies = copy.flatMap((entry) =>
    found(checkout, "copy", entry).flatMap((path) => [...filesAt(checkout, path)]),
  );
  if (copies.length > MOST_FILES) {
    const message = `copy stands for ${counted(copies.length, "file")}, and at most ${MOST_FILES} are copied; name fewer, or use link or setup.`;
    throw invalid(checkout, message);
  }
  const links = link.flatMap((entry) =>
    found(checkout, "link", entry).map((path) => ({ path, target: insideOf(checkout, path) })),
  );
  return { copies, links };
}

function found(checkout: string, key: string, entry: string): string[] {
  const paths = pathsFor(checkout, entry);
  if (paths.length > 0) return paths;
  const remedy = `make it, or take it out of ${key}`;
  throw invalid(checkout, `${key}: ${checkout} has no ${entry}; ${remedy}.`);
}

/** Where a path of the checkout really is: below it. */
function insideOf(checkout: string, path: string): string {
  let real: string;
  try {
    real = realpathSync(join(checkout, path));
  } catch (cause) {
    throw invalid(checkout, `${join(checkout, path)} is a link that leads nowhere.`, cause);
  }
  const way = relative(checkout, real);
  if (way !== "" && way !== ".." && !way.startsWith("../") && way.split("/")[0] !== ".git") {
    return real;
  }
  const message = `${join(checkout, path)} leads to ${real}, outside of the repository's files; put the file itself there.`;
  throw invalid(checkout, message);
}

function* filesAt(checkout: string, path: string): Generator<Bringing["copies"][number]> {
  const open = [path];
  let seen = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    // A link to a folder above it would never end.
    if (++seen > 20 * MOST_FILES) throw invalid(checkout, `${path} has too many files to copy.`);
    const from = insideOf(checkout, next);
    const stats = statSync(from);
    if (stats.isFile()) {
      const mark = [stats.size, stats.mtimeMs, stats.mode.toString(8)].join(" ");
      yield { path: next, from, mark };
    } else if (stats.isDirectory()) {
      const names = readdirSync(from);
      if (names.includes(".git")) {
        throw invalid(checkout, `${from} is a repository of its own, and is not copied.`);
      }
      for (const name of names.sort().reverse()) open.push(`${next}/${name}`);
    } else throw invalid(checkout, `${from} is neither a file nor a folder, and is not copied.`);
  }
}

/** `scratch`: a folder on the same disk, for files that are not whole yet. `base`: where the work began. */
export async function bring(
  { copies, links }: Bringing,
  place: GitPlace & { gitDir: string },
  { scratch, base }: { scratch: string; base: string | null },
): Promise<ReadyState> {
  const state = readReady(place.gitDir);
  const wanted = [...copies, ...links].map(({ path }) => path);
  const all = [...new Set([...wanted, ...Object.keys(state.brought)])];
  if (all.length === 0) return state;
  const tracked = new Set(await trackedBelow(all, place));
  await forgetLanded(state, tracked, place, base);
  const isTracked = (path: string) =>
    tracked.has(path) || [...tracked].some((one) => one.startsWith(`${path}/`));
  const missing = copies.filter(
    ({ path, mark }) =>
      !tracked.has(path) &&
      // Without a note it is the task's own.
      (!isThere(join(place.cwd, path)) || (state.brought[path] ?? mark) !== mark),
  );
  const unlinked = links.filter(({ path }) => !isTracked(path) && !isThere(join(place.cwd, path)));
  if (missing.length + unlinked.length === 0) return state;
  for (const { path } of [...missing, ...unlinked]) state.brought[path] = "";
  writeReady(place.gitDir, state);
  mkdirSync(scratch, { recursive: true, mode: 0o700 });
  for (const { path, from, mark } of missing) {
    put(scratch, join(place.cwd, path), (draft) => copyFile(from, draft));
    state.brought[path] = mark;
  }
  for (const { path, target } of unlinked) {
    put(scratch, join(place.cwd, path), (draft) => symlinkSync(target, draft));
    state.brought[path] = "link";
  }
  writeReady(place.gitDir, state);
  return state;
}

/** What git has had since before the task's own work is the repository's, and may be committed. */
async function forgetLanded(
  state: ReadyState,
  tracked: ReadonlySet<string>,
  place: GitPlace & { gitDir: string },
  base: string | null,
): Promise<void> {
  const both = Object.keys(state.brought).filter((path) => tracked.has(path));
  if (both.length === 0 || base === null) return;
  const list = await gitNames(["ls-tree", "-z", "--name-only", base, "--", ...both], place);
  for (const path of list) delete state.brought[path];
  writeReady(place.gitDir, state);
}

export function trackedBelow(paths: readonly string[], place: GitPlace): Promise<string[]> {
  const env = { GIT_LITERAL_PATHSPECS: "1" };
  return gitNames(["ls-files", "-z", "--cached", "--", ...paths], { ...place, env });
}

/** By a rename, which follows no link that a task has left in the worktree. */
function put(scratch: string, to: string, make: (draft: string) => void): void {
  const draft = join(scratch, `.bring~${process.pid}`);
  removeSync(draft);
  make(draft);
  mkdirSync(dirname(to), { recursive: true, mode: 0o755 });
  renameSync(draft, to);
}

function copyFile(from: string, to: string): void {
  const { mode } = statSync(from);
  const fd = openSync(to, "wx", 0o600);
  try {
    writeFileSync(fd, readFileSync(from));
    fchmodSync(fd, mode & 0o777);
  } finally {
    closeSync(fd);
  }
}

/** The targets of the links that a task has not replaced. */
export function linkedFrom(path: string, state: ReadyState): string[] {
  return Object.entries(state.brought).flatMap(([name, mark]) => {
    const at = join(path, name);
    const isLink = lstatSync(at, { throwIfNoEntry: false })?.isSymbolicLink() === true;
    return mark === "link" && isLink ? [readlinkSync(at)] : [];
  });
}
