import { createHash } from "node:crypto";
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import type { Machine } from "../../base/clock.ts";
import { errno, machineErrorOf } from "../../base/errno.ts";
import { VivError } from "../../base/errors.ts";
import { parseRecord } from "../../base/json.ts";
import { isThere, removeTree } from "../../platform/files/remove-tree.ts";
import { localMachine } from "../../platform/processes/machine.ts";

/** In every export: only a folder that has it, and nothing else than an export has, is replaced. */
const MARKER = ".viv-export.json";
const FILES = ["index.html", "board.html", "style.css", MARKER];
const FOLDERS = ["board", "tasks"];

/**
 * A folder that is written aside, under a hidden name in the same folder, and then put in place. A
 * process that dies before that leaves the old export as it was; the next export removes what is left.
 * Between the two renames of `publish` there is no folder: a process that dies there leaves the old
 * one aside, and the next export puts it back first.
 */
export class ExportFolder {
  readonly dir: string;
  readonly #aside: string;
  readonly #old: string;
  #files = 0;
  #bytes = 0;

  private constructor(dir: string, mark: string) {
    this.dir = dir;
    const hidden = (what: string) => join(dirname(dir), `.${basename(dir)}.viv-${what}.${mark}`);
    this.#aside = hidden("export");
    this.#old = hidden("old");
  }

  /** `run`: its folder, where nothing is written. */
  static begin(wanted: string, run: string, machine: Machine = localMachine()): ExportFolder {
    return translated(wanted, () => {
      mkdirSync(dirname(wanted), { recursive: true });
      const isLink = lstatSync(wanted, { throwIfNoEntry: false })?.isSymbolicLink();
      const dir = isLink
        ? realpathSync(wanted)
        : join(realpathSync(dirname(wanted)), basename(wanted));
      assertOutside(dir, realpathSync(run));
      const { pid, started } = machine.self();
      const folder = new ExportFolder(dir, `${hostMark()}.${pid}.${started}`);
      removeLeftovers(dir, machine);
      assertReplaceable(dir);
      removeTree(folder.#aside); // of this process: an earlier export that failed
      mkdirSync(folder.#aside, { mode: 0o755 });
      const made = { made_by: "viv export", format: 1 };
      folder.write(MARKER, `${JSON.stringify(made)}\n`);
      for (const name of FOLDERS) mkdirSync(join(folder.#aside, name), { mode: 0o755 });
      return folder;
    });
  }

  write(name: string, text: string): void {
    translated(this.dir, () => writeFileSync(join(this.#aside, name), text, { flag: "wx" }));
    this.#files++;
    this.#bytes += Buffer.byteLength(text);
  }

  publish(): { dir: string; files: number; bytes: number } {
    translated(this.dir, () => {
      assertReplaceable(this.dir); // files may have come there meanwhile
      const isOld = isThere(this.dir) && readdirSync(this.dir).length > 0;
      if (isOld) renameSync(this.dir, this.#old);
      try {
        renameSync(this.#aside, this.dir); // an empty folder is replaced
      } catch (error) {
        if (isOld) renameSync(this.#old, this.dir);
        throw error;
      }
      if (isOld) removeTree(this.#old);
    });
    return { dir: this.dir, files: this.#files, bytes: this.#bytes };
  }

  discard(): void {
    removeTree(this.#aside);
  }
}

function translated<T>(path: string, act: () => T): T {
  try {
    return act();
  } catch (cause) {
    if (cause instanceof VivError) throw cause;
    const code = machineErrorOf(cause) ?? "INVALID";
    const message = `cannot write the export to ${path}: ${(cause as Error).message}`;
    throw new VivError(code, message, { path }, { cause });
  }
}

function assertOutside(dir: string, run: string): void {
  if (dir !== run && !dir.startsWith(`${run}/`)) return;
  throw new VivError("INVALID", `${dir} is in the run; export to a folder outside of it.`);
}

/** Nothing, an empty folder, or an export without files of others. */
function assertReplaceable(dir: string): void {
  const stats = lstatSync(dir, { throwIfNoEntry: false });
  if (stats === undefined) return;
  const refuse = (why: string) => {
    const message = `${dir} ${why}; export to a new folder, or move that away.`;
    return new VivError("WRONG_STATE", message, { dir });
  };
  if (!stats.isDirectory()) throw refuse("is no folder");
  const entries = readdirSync(dir, { withFileTypes: true });
  if (entries.length === 0) return;
  if (!isMarked(dir)) throw refuse("holds files that no export made");
  const foreign = entries.find((entry) =>
    entry.isFile()
      ? !FILES.includes(entry.name)
      : !entry.isDirectory() || !FOLDERS.includes(entry.name),
  );
  if (foreign) throw refuse(`holds ${foreign.name}, which no export made`);
  for (const name of FOLDERS) {
    const inside = isThere(join(dir, name))
      ? readdirSync(join(dir, name), { withFileTypes: true })
      : [];
    const other = inside.find((entry) => !entry.isFile() || !entry.name.endsWith(".html"));
    if (other) throw refuse(`holds ${name}/${other.name}, which no export made`);
  }
}

function isMarked(dir: string): boolean {
  const path = join(dir, MARKER);
  if (!lstatSync(path, { throwIfNoEntry: false })?.isFile()) return false;
  return parseRecord(readFileSync(path, "utf8"))?.made_by === "viv export";
}

/** Not the host's name: the folder may be published before it is put in place. */
function hostMark(): string {
  return createHash("sha256").update(hostname()).digest("hex").slice(0, 8);
}

/** Of exports that died: by the process in the name, which is of this host. */
function removeLeftovers(dir: string, machine: Machine): void {
  const parent = dirname(dir);
  const begin = `.${basename(dir)}.viv-`;
  for (const name of readdirSync(parent)) {
    const [what, host, pid, started] = name.startsWith(begin)
      ? name.slice(begin.length).split(".")
      : [];
    if ((what !== "export" && what !== "old") || host !== hostMark() || !started) continue;
    const owner = { ...machine.self(), pid: Number(pid), started };
    if (owner.pid === process.pid || machine.vitality(owner) !== "gone") continue;
    const path = join(parent, name);
    if (what === "old" && !isThere(dir) && isMarked(path)) renameSync(path, dir);
    else if (isMarked(path)) removeTree(path);
    else removeIfEmpty(path);
  }
}

function removeIfEmpty(path: string): void {
  try {
    rmdirSync(path);
  } catch (error) {
    // Not ours, as far as anyone can tell.
    if (!["ENOTEMPTY", "EEXIST", "ENOTDIR", "ENOENT"].includes(errno(error) ?? "")) throw error;
  }
}

export function resolveDir(cwd: string, dir: string): string {
  if (dir.trim() === "") throw new VivError("USAGE", "--html is empty; give it a folder.");
  return resolve(cwd, dir);
}
