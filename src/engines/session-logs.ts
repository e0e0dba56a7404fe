import { constants } from "node:fs";
import { type FileHandle, open, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { LineSplitter } from "../platform/processes/line-splitter.ts";
import type { Engine, EngineRequest, SessionLogs } from "./engine.ts";

/** Files of one session, as an engine describes them: see SessionLogs there. */
export interface LogPlace {
  root: string;
  path: readonly (string | RegExp)[];
  beside?: readonly string[];
}

export interface LogFollower {
  /** The session's own file is there. */
  readonly isFound: boolean;
  /**
   * Before the run: what is there by now is past. Of long files only the end is emitted. `from`: an earlier
   * `position`; a file that it does not name is all new.
   */
  skipPast(from?: Readonly<Record<string, number>>): Promise<void>;
  /** How far each file is read. */
  position(): Record<string, number>;
  /** Emits what is new. One call at a time; it never rejects. `isLast`: the last look. */
  look(isLast?: boolean): Promise<void>;
}

const PAST_BYTES = 256 * 1024;
const DEEPEST = 3;
const CHUNK_BYTES = 1024 * 1024;
/** A line may hold a whole file; a longer one is dropped. */
const LONGEST_LINE_BYTES = 16 * 1024 * 1024;
/** Of a vendor that writes its file whole each time. */
const LONGEST_WHOLE_BYTES = 64 * 1024 * 1024;
/** A home may hold the sessions of years, so a missing file is looked for ever less often. */
const MOST_LOOKS_SKIPPED = 8;

/**
 * Follows files that another program writes, by position: each whole line is emitted once. A file that is
 * missing, shorter than before or replaced is no error; of a replaced one all is new.
 */
export function followLogs(
  place: LogPlace,
  onLine: (text: string, isPast: boolean) => void,
): LogFollower {
  const files = new Map<string, Followed>();
  let main: string | null = null;
  let skip = 0;
  let pause = 0;

  const find = async (): Promise<string | null> => {
    if (main !== null) return main;
    if (skip > 0) {
      skip--;
      return null;
    }
    main = await findFirst(place.root, place.path);
    pause = Math.min(MOST_LOOKS_SKIPPED, 2 * pause + 1);
    skip = pause;
    return main;
  };
  const paths = async (): Promise<string[]> => {
    const own = await find();
    if (own === null || place.beside === undefined) return own === null ? [] : [own];
    const folder = join(dirname(own), ...place.beside);
    return [own, ...(await filesBelow(folder, DEEPEST))];
  };
  const each = async (act: (file: Followed) => Promise<void>) => {
    for (const path of await paths()) {
      let file = files.get(path);
      if (file === undefined) {
        file = new Followed(path, onLine);
        files.set(path, file);
      }
      // What cannot be read now may be readable at the next look.
      await act(file).catch(() => {});
    }
  };
  return {
    get isFound() {
      return main !== null;
    },
    skipPast: (from) =>
      each((file) => file.skip(from === undefined ? undefined : (from[file.path] ?? 0))),
    position: () => Object.fromEntries([...files].map(([path, { at }]) => [path, at])),
    look: (isLast = false) => {
      if (isLast) skip = 0;
      return each((file) => file.read());
    },
  };
}

/** The first by name that fits, newest first: names that begin with a date sort by it. */
async function findFirst(
  folder: string,
  [wanted, ...rest]: readonly (string | RegExp)[],
): Promise<string | null> {
  if (wanted === undefined) return folder;
  if (typeof wanted === "string" && rest.length > 0) return findFirst(join(folder, wanted), rest);
  const names = (await list(folder)).filter((name) =>
    typeof wanted === "string" ? name === wanted : wanted.test(name),
  );
  for (const name of names.sort().reverse()) {
    const found = await findFirst(join(folder, name), rest);
    if (found !== null) return found;
  }
  return null;
}

/** Of subagents, and of those that a workflow has started, in folders of their own. */
async function filesBelow(folder: string, depth: number): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []); // none yet
  const found: string[] = [];
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isFile() && /^(?!journal\.).*\.jsonl$/.test(entry.name)) found.push(path);
    if (entry.isDirectory() && depth > 0) found.push(...(await filesBelow(path, depth - 1)));
  }
  return found;
}

async function list(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch {
    return []; // not there, or not a folder
  }
}

class Followed {
  readonly path: string;
  readonly #onLine: (text: string, isPast: boolean) => void;
  #inode = 0;
  #at = 0;
  #lines = this.#newLines();
  #stamp = "";

  constructor(path: string, onLine: (text: string, isPast: boolean) => void) {
    this.path = path;
    this.#onLine = onLine;
  }

  /** In bytes; of a file that is written whole, in messages. */
  get at(): number {
    return this.#at;
  }

  /** `upTo`: no further than that. */
  skip(upTo = Number.POSITIVE_INFINITY): Promise<void> {
    return this.#opened(async (handle, { size, ino, stamp }) => {
      this.#inode = ino;
      if (this.#isWhole) return this.#readWhole(handle, size, stamp, upTo);
      const to = Math.min(size, upTo);
      const from = Math.max(0, to - PAST_BYTES);
      const bytes = await readAt(handle, from, to - from);
      const end = bytes.lastIndexOf(0x0a) + 1;
      const lines = bytes.toString("utf8", 0, end).split("\n");
      // The first is cut where we began to read.
      for (const line of from > 0 ? lines.slice(1) : lines) this.#emit(line, true);
      this.#at = from + end;
    });
  }

  read(): Promise<void> {
    return this.#opened(async (handle, { size, ino, stamp }) => {
      if (this.#isWhole) return this.#readWhole(handle, size, stamp, 0);
      if (ino !== this.#inode || size < this.#at) this.#startAnew(ino);
      while (this.#at < size) {
        const bytes = await readAt(handle, this.#at, Math.min(CHUNK_BYTES, size - this.#at));
        if (bytes.length === 0) return;
        this.#at += bytes.length;
        this.#lines.push(bytes);
      }
    });
  }

  get #isWhole(): boolean {
    return this.path.endsWith(".json");
  }

  /** Each message is emitted again: readers know them by their ids. The first `past` are of earlier runs. */
  async #readWhole(handle: FileHandle, size: number, stamp: string, past: number): Promise<void> {
    if (stamp === this.#stamp || size > LONGEST_WHOLE_BYTES) return;
    const value: unknown = JSON.parse((await readAt(handle, 0, size)).toString("utf8"));
    this.#stamp = stamp; // only now: half of it may be written
    const messages: unknown = (value as { messages?: unknown } | null)?.messages;
    for (const [i, message] of Array.isArray(messages) ? messages.entries() : []) {
      this.#emit(JSON.stringify(message), i < past);
      this.#at = i + 1;
    }
  }

  #startAnew(inode: number): void {
    this.#inode = inode;
    this.#at = 0;
    this.#lines = this.#newLines();
  }

  #newLines(): LineSplitter {
    const line = (text: string) => this.#emit(text, false);
    return new LineSplitter(LONGEST_LINE_BYTES, { line, tooLong: () => {} });
  }

  #emit(line: string, isPast: boolean): void {
    if (line !== "") this.#onLine(line, isPast);
  }

  /** Never through a link, and never waiting at a pipe: the folder belongs to a program that obeys a model. */
  async #opened(
    act: (handle: FileHandle, file: { size: number; ino: number; stamp: string }) => Promise<void>,
  ): Promise<void> {
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
    const handle = await open(this.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      const stats = await handle.stat();
      const { size, ino, mtimeMs } = stats;
      if (stats.isFile()) await act(handle, { size, ino, stamp: `${ino}.${size}.${mtimeMs}` });
    } finally {
      await handle.close();
    }
  }
}

async function readAt(handle: FileHandle, at: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  const { bytesRead } = await handle.read(buffer, 0, length, at);
  return buffer.subarray(0, bytesRead);
}

/** What following a vendor's own files needs of the machine. */
export interface LogPort {
  follow(place: LogPlace, onLine: (text: string, isPast: boolean) => void): LogFollower;
  /** What the program runs with, and a HOME that can be read from here. */
  env: Readonly<Record<string, string | undefined>>;
  /** How much of these files is of earlier runs. */
  onBegin?(position: Record<string, number>): void;
}

const EVERY_MS = 250;
/** After so many looks, while the run called so many tools, a file that was not found is not there. */
const LOOKS = 40;
const TOOLS = 3;

/**
 * Reads what a vendor's program writes about its session while it runs. It looks when the run does
 * something, and now and then. A session that is gone on with has a past, which is not this run's.
 */
export class SessionFeed {
  readonly #engine: Engine;
  readonly #request: EngineRequest;
  readonly #port: LogPort;
  readonly #onLine: (text: string, isPast: boolean) => void;
  #session: string | null = null;
  #logs: SessionLogs | null = null;
  #follower: LogFollower | null = null;
  #looking: Promise<void> = Promise.resolve();
  #isAsked = false;
  #timer: NodeJS.Timeout | undefined;
  #looks = 0;
  #tools = 0;

  constructor(
    engine: Engine,
    request: EngineRequest,
    port: LogPort,
    onLine: (text: string, isPast: boolean) => void,
  ) {
    this.#engine = engine;
    this.#request = request;
    this.#port = port;
    this.#onLine = onLine;
  }

  async begin(): Promise<void> {
    const { resume } = this.#request;
    if (resume === null) return;
    this.onSession(resume);
    await this.#follower?.skipPast();
    this.#port.onBegin?.(this.#follower?.position() ?? {});
  }

  /** As soon as it is known. One that was resumed may turn out to be another. */
  onSession(session: string): void {
    if (session === this.#session) return;
    this.#session = session;
    const { env } = this.#port;
    this.#logs = this.#engine.logs?.({ session, env, settings: this.#request.settings }) ?? null;
    this.#follower = this.#logs && this.#port.follow(this.#logs, this.#onLine);
    if (this.#follower === null) return;
    this.#timer ??= setInterval(() => {
      this.#looks++;
      this.look();
    }, EVERY_MS);
  }

  onTool(): void {
    this.#tools++;
    this.look();
  }

  /** At once, or once more after the look that is under way. */
  look(): void {
    if (this.#isAsked) return;
    this.#isAsked = true;
    this.#looking = this.#looking.then(() => {
      this.#isAsked = false;
      return this.#follower?.look();
    });
  }

  /** No source of its usage was found, and by now there should be one. */
  get isMissing(): boolean {
    if (this.#logs?.isOnlySource !== true || this.#follower?.isFound) return false;
    return this.#looks >= LOOKS && this.#tools >= TOOLS;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Reads what was written until the end. */
  async end(): Promise<void> {
    this.close();
    await this.#looking;
    await this.#follower?.look(true);
  }
}
