import { type SpawnOptions, spawn } from "node:child_process";
import { lstatSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import * as z from "zod/mini";
import { ifThere } from "../../base/errno.ts";
import { VivError } from "../../base/errors.ts";
import { parseRecord } from "../../base/json.ts";
import { replaceFileUnsynced } from "../../platform/files/atomic-write.ts";
import { mkdirSync, removeSync, renameSync, utimesSync } from "../../platform/files/beneath.ts";
import { tryFileLock, withFileLock } from "../../platform/files/file-lock.ts";
import { isThere } from "../../platform/files/remove-tree.ts";
import { bytesIn, extentOf, noteBytes } from "./disk-use.ts";

/**
 * What set-ups made, for later workspaces with the same key: `workspaces/.setup/<key>/`, with the
 * files in `files/` and their names in `about.json`. An entry is copied together under another name
 * and renamed, and never changed after that. Copies share blocks where the disk can (reflinks), and
 * never a file: a workspace must not be able to change another one.
 */
const about = z.object({
  key: z.string(),
  command: z.string(),
  /** Paths below a workspace. */
  paths: z.array(z.string()),
  bytes: z.number(),
  /** Of `files/`; entries are not synced, and a power cut may leave empty or missing files. */
  extent: z.optional(z.object({ entries: z.number(), bytes: z.number() })),
  made_at: z.string(),
});
export type KeptSetup = z.output<typeof about>;

export const setupFolder = (root: string) => join(root, ".setup");
const entryOf = (root: string, key: string) => join(setupFolder(root), key);
const aboutOf = (root: string, key: string) => join(entryOf(root, key), "about.json");

/** One workspace at a time works with an entry: the second copies what the first one has made. */
export function withSetupLock<T>(
  root: string,
  key: string,
  act: () => Promise<T>,
  waitMs: number,
): Promise<T> {
  mkdirSync(setupFolder(root), { recursive: true, mode: 0o700 });
  return withFileLock(lockOf(root, key), act, { waitMs });
}

const lockOf = (root: string, key: string) => join(setupFolder(root), `.lock~${key}`);

/** Null for a damaged one, too: it is made anew. */
export function keptSetup(root: string, key: string): KeptSetup | null {
  const text = ifThere(() => readFileSync(aboutOf(root, key), "utf8"));
  return about.safeParse(parseRecord(text)).data ?? null;
}

/** Copies an entry into a workspace that has none of its paths. False when it has one, or the entry is damaged. */
export async function restoreSetup(
  root: string,
  { key, paths, extent }: KeptSetup,
  workspace: string,
): Promise<boolean> {
  if (paths.some((path) => isThere(join(workspace, path)))) return false;
  const now = await extentOf(join(entryOf(root, key), "files")).catch(() => null);
  if (!extent || now?.entries !== extent.entries || now.bytes !== extent.bytes) return false;
  const draft = join(setupFolder(root), `.to~${key}.${process.pid}`);
  await rm(draft, { recursive: true, force: true });
  try {
    await copyPaths(join(entryOf(root, key), "files"), draft, paths);
    for (const path of paths) {
      const to = join(workspace, path);
      mkdirSync(dirname(to), { recursive: true, mode: 0o755 });
      renameSync(join(draft, path), to);
    }
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  const usedAt = new Date();
  utimesSync(aboutOf(root, key), usedAt, usedAt);
  return true;
}

/** Keeps these paths of a workspace. Returns why it did not, or null. */
export async function keepSetup(
  root: string,
  { key, command, paths }: Pick<KeptSetup, "key" | "command" | "paths">,
  workspace: string,
  mostBytes: number,
): Promise<string | null> {
  if (paths.length === 0) return "it made no files that git ignores";
  const bound = await namingFile(workspace, paths);
  if (bound !== null) return `${bound} names the path of this workspace`;
  const draft = join(setupFolder(root), `.new~${key}.${process.pid}`);
  await rm(draft, { recursive: true, force: true });
  try {
    await copyPaths(workspace, join(draft, "files"), paths);
    const bytes = await bytesIn(draft);
    if (bytes > mostBytes) return "it is larger than setup_cache in [limits] allows";
    const extent = await extentOf(join(draft, "files"));
    const made_at = new Date().toISOString();
    const entry: KeptSetup = { key, command, paths, bytes, extent, made_at };
    replaceFileUnsynced(join(draft, "about.json"), `${JSON.stringify(entry, null, 2)}\n`);
    await rm(entryOf(root, key), { recursive: true, force: true }); // a damaged one
    renameSync(draft, entryOf(root, key));
    noteBytes(root, relative(root, entryOf(root, key)), bytes);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  await evict(root, mostBytes, key);
  return null;
}

const isEntry = (name: string) => !name.startsWith(".") && name !== "failures";

/** All entries, those that were used last first. */
export function keptSetups(root: string): (KeptSetup & { used_at: string })[] {
  const names = ifThere(() => readdirSync(setupFolder(root))) ?? [];
  return names
    .filter(isEntry)
    .flatMap((key) => {
      const entry = keptSetup(root, key);
      const stats = statSync(aboutOf(root, key), { throwIfNoEntry: false });
      return entry && stats ? [{ ...entry, used_at: stats.mtime.toISOString() }] : [];
    })
    .sort((a, b) => (a.used_at < b.used_at ? 1 : -1));
}

/** Removes entries until the rest fits, the least recently used first; returns those. */
export async function evict(root: string, mostBytes: number, except = ""): Promise<KeptSetup[]> {
  const entries = keptSetups(root);
  let sum = entries.reduce((all, { bytes }) => all + bytes, 0);
  const gone: KeptSetup[] = [];
  for (const { used_at: _, ...entry } of entries.reverse()) {
    if (sum <= mostBytes) break;
    if (entry.key === except || !(await removeSetup(root, entry.key))) continue;
    sum -= entry.bytes;
    gone.push(entry);
  }
  await sweep(root);
  return gone;
}

/** False when it is in use. */
async function removeSetup(root: string, key: string): Promise<boolean> {
  const lock = await tryFileLock(lockOf(root, key));
  if (lock === null) return false;
  try {
    const trash = join(setupFolder(root), `.old~${key}.${process.pid}`);
    renameSync(entryOf(root, key), trash);
    noteBytes(root, relative(root, entryOf(root, key)), 0);
    await rm(trash, { recursive: true, force: true });
    removeSync(lockOf(root, key)); // one that waits for it sees that, and makes another
    return true;
  } finally {
    lock.release();
  }
}

/** An entry, by what is in it, that cannot be used: nothing else is removed. */
function isDamaged(root: string, key: string): boolean {
  const path = entryOf(root, key);
  if (keptSetup(root, key) !== null || !lstatSync(path).isDirectory()) return false;
  return readdirSync(path).every((name) => name === "files" || name === "about.json");
}

const DAY_MS = 86_400_000;

/** What killed processes left (a copy takes minutes, not a day), and entries that cannot be read. */
async function sweep(root: string): Promise<void> {
  if (!lstatSync(setupFolder(root), { throwIfNoEntry: false })?.isDirectory()) return;
  for (const name of ifThere(() => readdirSync(setupFolder(root))) ?? []) {
    const path = join(setupFolder(root), name);
    if (isEntry(name) && isDamaged(root, name)) await removeSetup(root, name);
    if (!/^\.(new|to|old|bring)~/.test(name)) continue;
    const { mtimeMs = Date.now() } = statSync(path, { throwIfNoEntry: false }) ?? {};
    if (Date.now() - mtimeMs > DAY_MS) await rm(path, { recursive: true, force: true });
  }
}

async function copyPaths(from: string, to: string, paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    mkdirSync(dirname(join(to, path)), { recursive: true, mode: 0o700 });
    const reflink = process.platform === "linux" ? ["--reflink=auto"] : [];
    const { status, said } = await run("cp", [
      ...["-a", ...reflink, "--"],
      ...[join(from, path), join(to, path)],
    ]);
    if (status === 0) continue;
    const code = /no space left|disk quota/i.test(said) ? "DISK_FULL" : "INVALID";
    throw new VivError(code, `cp failed: ${said.trim().split("\n")[0] || `exit ${status}`}.`);
  }
}

/**
 * The first file or link that has the path of its workspace in it: a Python environment, a build of
 * native code. A copy of it elsewhere would work on the first workspace.
 */
async function namingFile(workspace: string, paths: readonly string[]): Promise<string | null> {
  const all = paths.map((path) => join(workspace, path));
  const names = [...new Set([workspace, realpathSync(workspace)])];
  const texts = names.flatMap((name) => ["-e", name]);
  const inFiles = await run("grep", ["-rlF", ...texts, "--", ...all], true);
  const links = names.flatMap((name, i) => [
    ...(i > 0 ? ["-o"] : []),
    ...["-lname", `*${name.replace(/[\\*?[\]]/g, "\\$&")}*`],
  ]);
  const inLinks = await run("find", [...all, "(", ...links, ")", "-print"], true);
  const [first] = `${inFiles.said}${inLinks.said}`.split("\n");
  if (first) return relative(workspace, first);
  // An error is no proof that there is none.
  if (inFiles.status === 1 && inLinks.status === 0) return null;
  return "a file that cannot be read";
}

/** `first`: only the first line of stdout is wanted. */
function run(
  program: string,
  args: string[],
  first = false,
): Promise<{ status: number | null; said: string }> {
  const stdio: SpawnOptions["stdio"] = [
    "ignore",
    first ? "pipe" : "ignore",
    first ? "ignore" : "pipe",
  ];
  const child = spawn(program, args, { env: { ...process.env, LC_ALL: "C" }, stdio });
  let said = "";
  (first ? child.stdout : child.stderr)?.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(0, 65_536);
    if (first && said.includes("\n")) child.kill();
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (status) => resolve({ status, said }));
  });
}
