import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { ifThere } from "../base/errno.ts";
import { replaceFileSynced, syncFolder } from "../platform/files/atomic-write.ts";
import {
  linkSync,
  mkdirSync,
  openSync,
  removeSync,
  renameSync,
  unlinkSync,
  withFile,
} from "../platform/files/beneath.ts";
import { SAFE_OPEN } from "../queue/fs/files/atomic.ts";
import { type ArtifactFiles, artifactsIn } from "../work/artifacts.ts";
import { snakeOfWaste, type WasteLog, wasteFoot, wasteHead, wasteName } from "./waste.ts";

/** The files of a pit that tidying its waste/ needs. */
export interface WasteFiles {
  /** The logs; folders, links, hidden and other files in waste/ are left alone. */
  list(): Promise<WasteLog[]>;
  /** The first bytes, and the last ones from the beginning of a line on. Null when it is gone. */
  read(log: WasteLog): Promise<{ head: string; end: string } | null>;
  /** Which of these names occur in a file below scraps/, or what there cannot be read. */
  mentioned(names: readonly string[]): Promise<Set<string> | { unreadable: string }>;
  /** Returns those that could not be removed. A log that has changed since it was listed stays. */
  remove(logs: readonly WasteLog[]): Promise<WasteLog[]>;
  readText(file: WasteText): Promise<string | null>;
  /** Atomic and fsynced: a reader finds the old text or the new one, also after a power cut. */
  writeText(file: WasteText, text: string): Promise<void>;
  /** Renames record/waste.json; returns its new name. */
  setRecordAside(now: number): Promise<string>;
}

/** `memo` only saves reading: it may vanish at any time. */
type WasteText = "record" | "summary" | "memo";

const HEAD_BYTES = 4 * 1024;
const END_BYTES = 1024 * 1024;
const CHUNK_BYTES = 1024 * 1024;
/** Calls are synchronous (a trip through the thread pool costs more), but not too many in a row. */
const BATCH = 500;
const TRIES = 3;

export function wasteFiles(pit: string): WasteFiles {
  const waste = join(pit, "waste");
  const paths: Record<WasteText, string> = {
    record: join(pit, "record/waste.json"),
    summary: join(waste, "SUMMARY.md"),
    memo: join(pit, ".viv/waste-memo.json"),
  };
  return {
    list: () => list(waste),
    read: async (log) => {
      await setImmediate();
      return readPlain(join(waste, log.name), readEnds);
    },
    mentioned: (names) => mentionedBelow(join(pit, "scraps"), names),
    remove: (logs) => remove(waste, logs),
    readText: async (file) => {
      try {
        return readPlain(paths[file], (fd) => readFileSync(fd, "utf8"));
      } catch (error) {
        if (file === "record") throw error;
        return null; // the others can be made again
      }
    },
    writeText: async (file, text) => {
      const path = paths[file];
      const temporary = join(dirname(path), `.${basename(path)}.new`); // one process tidies at a time
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      replaceFileSynced(path, text, { mode: 0o644, temporary });
    },
    setRecordAside: async (now) => {
      const aside = `${basename(paths.record)}.bad-${now}`;
      renameSync(paths.record, join(dirname(paths.record), aside));
      syncFolder(dirname(paths.record));
      return aside;
    },
  };
}

async function list(waste: string): Promise<WasteLog[]> {
  const logs: WasteLog[] = [];
  for (const [i, name] of (ifThere(() => readdirSync(waste)) ?? []).entries()) {
    if (i % BATCH === BATCH - 1) await setImmediate();
    const stat = lstatSync(join(waste, name), { throwIfNoEntry: false });
    if (!stat?.isFile() || snakeOfWaste(name) === null) continue;
    logs.push({ name, size: stat.size, mtimeMs: stat.mtimeMs });
  }
  return logs;
}

function readEnds(fd: number): { head: string; end: string } {
  const { size } = fstatSync(fd);
  const from = Math.max(0, size - END_BYTES);
  const head = readAt(fd, 0, Math.min(size, HEAD_BYTES)).toString("utf8");
  const end = readAt(fd, from, size - from);
  const whole = from === 0 ? 0 : end.indexOf("\n") + 1; // without the cut line
  return { head, end: end.toString("utf8", whole) };
}

function readAt(fd: number, from: number, length: number): Buffer {
  const buffer = Buffer.alloc(length);
  let done = 0;
  while (done < length) {
    const count = readSync(fd, buffer, done, length - done, from + done);
    if (count === 0) break;
    done += count;
  }
  return buffer.subarray(0, done);
}

async function remove(waste: string, logs: readonly WasteLog[]): Promise<WasteLog[]> {
  const left: WasteLog[] = [];
  for (const [i, log] of logs.entries()) {
    if (i % BATCH === BATCH - 1) await setImmediate();
    const path = join(waste, log.name);
    try {
      const stat = lstatSync(path, { throwIfNoEntry: false });
      const isSame = stat?.isFile() && stat.size === log.size && stat.mtimeMs === log.mtimeMs;
      if (isSame) unlinkSync(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") left.push(log);
    }
  }
  // Before the record says that they are gone: a power cut must not bring them back.
  if (logs.length > left.length) ifThere(() => syncFolder(waste));
  return left;
}

async function mentionedBelow(
  scraps: string,
  names: readonly string[],
): Promise<Set<string> | { unreadable: string }> {
  for (let tries = 1; ; tries++) {
    const search = new NameSearch(names);
    try {
      // The folder itself may be a link; links in it are not followed.
      if (ifThere(() => readdirSync(scraps)) !== null) await searchFolder(scraps, search);
      return search.found;
    } catch (error) {
      const { code, path } = error as NodeJS.ErrnoException;
      // A file that has gone may have been moved to a folder that was searched already.
      if (code === "ENOENT" && tries < TRIES) continue;
      return { unreadable: `${path ?? scraps} cannot be read (${code ?? String(error)})` };
    }
  }
}

async function searchFolder(folder: string, search: NameSearch): Promise<void> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (search.isComplete) return;
    const path = join(folder, entry.name);
    await setImmediate();
    if (entry.isDirectory()) await searchFolder(path, search);
    else if (entry.isSymbolicLink()) search.in(Buffer.from(readlinkSync(path)));
    else if (entry.isFile()) await searchFile(path, search);
  }
}

async function searchFile(path: string, search: NameSearch): Promise<void> {
  const fd = openSync(path, SAFE_OPEN);
  try {
    const buffer = Buffer.allocUnsafe(search.longest + CHUNK_BYTES);
    let kept = 0; // the end of the last chunk: a name may lie across the border
    while (!search.isComplete) {
      const count = readSync(fd, buffer, kept, CHUNK_BYTES, null);
      if (count === 0) return;
      const length = kept + count;
      search.in(buffer.subarray(0, length));
      kept = Math.min(length, search.longest);
      buffer.copy(buffer, 0, length - kept, length);
      await setImmediate();
    }
  } catch (error) {
    throw Object.assign(error as Error, { path }); // an error of a read does not name the file
  } finally {
    closeSync(fd);
  }
}

/** Finds names of logs in bytes: looks up the bytes before each `.log`. */
class NameSearch {
  readonly found = new Set<string>();
  readonly longest: number;
  readonly #names: Map<string, string>;
  readonly #lengths: Set<number>;

  constructor(names: readonly string[]) {
    this.#names = new Map(names.map((name) => [Buffer.from(name).toString("latin1"), name]));
    this.#lengths = new Set([...this.#names.keys()].map((bytes) => bytes.length));
    this.longest = Math.max(0, ...this.#lengths);
  }

  get isComplete(): boolean {
    return this.found.size === this.#names.size;
  }

  in(bytes: Buffer): void {
    for (let at = bytes.indexOf(".log"); at !== -1; at = bytes.indexOf(".log", at + 1)) {
      const end = at + ".log".length;
      for (const length of this.#lengths) {
        if (length > end) continue;
        const name = this.#names.get(bytes.toString("latin1", end - length, end));
        if (name !== undefined) this.found.add(name);
      }
    }
  }
}

/** Null when it is gone. */
function readPlain<T>(path: string, use: (fd: number) => T): T | null {
  const read = (fd: number) => {
    if (!fstatSync(fd).isFile()) throw new Error(`${path} is not a file`);
    return use(fd);
  };
  return ifThere(() => withFile(path, SAFE_OPEN, read));
}

/**
 * In a pit every attempt has a log of its own, `waste/<snake>-<ts>.log`. The latest one has a second
 * name, `record/artifacts/<food>.log`, as in any run; `record/artifacts/<food>.logs` maps attempts
 * to logs.
 */
export function pitArtifactsIn(artifacts: string, waste: string): ArtifactFiles {
  const files = artifactsIn(artifacts);
  return {
    ...files,
    beginLog: ({ id, attempt, worker }) => {
      const at = Date.now();
      const name = newLog(waste, worker, at);
      const log = files.logOf(id);
      removeSync(log);
      linkSync(join(waste, name), log);
      append(join(artifacts, `${id}.logs`), `${attempt} ${worker} ${name}`);
      return wasteHead({ id, attempt, worker, at: new Date(at).toISOString() });
    },
    endLog: (id, end) => append(files.logOf(id), wasteFoot(end)),
  };
}

/** Never through a link in its place. */
function append(path: string, line: string): void {
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;
  const flags = O_APPEND | O_CREAT | O_NOFOLLOW | O_WRONLY;
  withFile(path, flags, (fd) => writeSync(fd, `${line}\n`), 0o600);
}

/** Two attempts of one snake within a millisecond get a time each. */
function newLog(waste: string, worker: string, at: number): string {
  for (let later = at; ; later++) {
    const name = wasteName(worker, later);
    try {
      closeSync(openSync(join(waste, name), "wx", 0o600));
      return name;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ENOENT") mkdirSync(waste, { recursive: true, mode: 0o700 });
      else if (code !== "EEXIST") throw error;
    }
  }
}
