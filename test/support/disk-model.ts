import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { dirname } from "node:path";
import { knownPath } from "./handle-paths.ts";

type Call = (...args: unknown[]) => unknown;
const library = fs as unknown as Record<string, Call>;

/**
 * What a disk would still have after a power cut, if a file system promised no more than POSIX does: a
 * name is there once its folder was synced, bytes once their file was. Follows the calls of this process.
 */
export class DiskModel {
  /** Folders with names that came or went since they were last synced, and which names. */
  readonly folders = new Map<string, Set<string>>();
  /** Files that were written to since they were last synced. */
  readonly files = new Set<string>();
  /** Renames whose source was synced before their target. */
  readonly wrongOrder: string[] = [];
  /** Moves of claims while the line about their end was not on the disk. */
  readonly unrecorded: string[] = [];
  #moves: { from: string; to: string }[] = [];
  readonly #paths = new Map<number, string>();
  readonly #originals = new Map<string, Call>();

  constructor() {
    this.#hook("openSync", (fd, [path, flags]) => {
      this.#paths.set(fd as number, knownPath(path));
      const mayCreate =
        typeof flags === "number" ? (flags & fs.constants.O_CREAT) !== 0 : flags !== "r";
      if (mayCreate && fs.fstatSync(fd as number).size === 0) this.#touch(knownPath(path));
    });
    this.#hook("writeSync", (_, [fd]) => void this.files.add(this.#paths.get(fd as number) ?? ""));
    this.#hook("renameSync", (_, [from, to]) => {
      const move = { from: knownPath(from), to: knownPath(to) };
      this.#moves = [...this.#moves.filter(({ to }) => to !== move.from), move];
      const isEnd = move.from.includes("/claimed/");
      if (isEnd && [...this.files].some((path) => path.includes("/ledger/"))) {
        this.unrecorded.push(move.from);
      }
      this.#touch(move.from);
      this.#touch(move.to);
    });
    this.#hook("linkSync", (_, [, to]) => this.#touch(knownPath(to)));
    this.#hook("unlinkSync", (_, [path]) => this.#touch(knownPath(path)));
    this.#hook("mkdirSync", (_, [path]) => this.#touch(knownPath(path)));
    for (const name of ["fsyncSync", "fdatasyncSync", "fsync", "fdatasync"]) {
      this.#hook(name, (_, [fd]) => this.#synced(this.#paths.get(fd as number) ?? ""));
    }
    syncBuiltinESMExports();
  }

  /** Names outside .viv/ that a power cut would take back, or bring back. */
  get lost(): string[] {
    const names = [...this.folders].flatMap(([folder, those]) =>
      [...those].map((name) => `${folder}/${name}`),
    );
    return names.filter((path) => !path.includes("/.viv/")).sort();
  }

  #touch(path: string): void {
    const folder = dirname(path);
    const names = this.folders.get(folder) ?? new Set();
    names.add(path.slice(folder.length + 1));
    this.folders.set(folder, names);
  }

  #synced(path: string): void {
    this.files.delete(path);
    const names = this.folders.get(path);
    if (names === undefined) return;
    this.folders.delete(path);
    for (const { from, to } of this.#moves) {
      const name = to.slice(dirname(to).length + 1);
      const isOnlySource = dirname(from) === path && dirname(to) !== path;
      if (isOnlySource && this.folders.get(dirname(to))?.has(name)) this.wrongOrder.push(from);
    }
  }

  #hook(name: string, after: (result: unknown, args: unknown[]) => void): void {
    const original = library[name] as Call;
    this.#originals.set(name, original);
    library[name] = (...args) => {
      const result = original(...args);
      after(result, args);
      return result;
    };
  }

  restore(): void {
    for (const [name, original] of this.#originals) library[name] = original;
    syncBuiltinESMExports();
  }
}
