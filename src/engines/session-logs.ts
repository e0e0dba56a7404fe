import { constants } from "node:fs";
import { type FileHandle, open, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { LineSplitter } from "../platform/processes/line-splitter.ts";
import type { Engine, EngineRequest, SessionLogs } from "./engine.ts";

/** `isPast`: the line is of an earlier run. */
type OnLine = (text: string, isPast: boolean) => void;

type LogFollower = ReturnType<typeof followLogs>;

/** The end of a long past that is still emitted. */
const PAST_BYTES = 256 * 1024;
const DEEPEST = 3;
const CHUNK_BYTES = 1024 * 1024;
/** A line may hold a whole file; a longer one is dropped. */
const LONGEST_LINE_BYTES = 16 * 1024 * 1024;
/** Of a vendor that writes its file whole each time. */
const LONGEST_WHOLE_BYTES = 64 * 1024 * 1024;
/** A home may hold the sessions of years, so the search for a missing file slows down. */
const MOST_LOOKS_SKIPPED = 8;

/**
 * Follows files that another program writes, by position: each whole line is emitted once. A file may be
 * missing, shorter than before or replaced; all lines of a replaced file are new.
 */
export function followLogs(place: Omit<SessionLogs, "isOnlySource">, onLine: OnLine) {
  const files = new Map<string, FollowedFile>();
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
  const each = async (act: (file: FollowedFile) => Promise<void>) => {
    const own = await find();
    if (own === null) return;
    const others = place.beside && join(dirname(own), ...place.beside);
    for (const path of [own, ...(others ? await filesBelow(others, DEEPEST) : [])]) {
      const file = files.get(path) ?? new FollowedFile(path, onLine);
      files.set(path, file);
      await act(file).catch(() => {}); // it may be readable at the next look
    }
  };
  return {
    /** The session's own file exists. */
    get isFound(): boolean {
      return main !== null;
    },
    /**
     * Before the run: the existing lines are past. `from`: an earlier `position`; a file that it does not
     * name is all new.
     */
    skipPast: (from?: Readonly<Record<string, number>>): Promise<void> =>
      each((file) => file.skip(from && (from[file.path] ?? 0))),
    /** How far each file is read. */
    position: (): Record<string, number> =>
      Object.fromEntries([...files].map(([path, { at }]) => [path, at])),
    /** Emits new lines. One call at a time; it never rejects. */
    look: (isLast = false): Promise<void> => {
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
  const all = await readdir(folder).catch(() => []); // missing, or not a folder
  const names = all.filter((name) =>
    typeof wanted === "string" ? name === wanted : wanted.test(name),
  );
  for (const name of names.sort().reverse()) {
    const found = await findFirst(join(folder, name), rest);
    if (found !== null) return found;
  }
  return null;
}

/** The files of subagents; those of a workflow are in folders of their own. */
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

interface OpenFile {
  handle: FileHandle;
  size: number;
  ino: number;
  /** Changes with the content. */
  stamp: string;
}

class FollowedFile {
  readonly path: string;
  /** In bytes; of a file that is written whole, in messages. */
  at = 0;
  readonly #onLine: OnLine;
  #inode = 0;
  #lines: LineSplitter;
  #stamp = "";

  constructor(path: string, onLine: OnLine) {
    this.path = path;
    this.#onLine = onLine;
    this.#lines = this.#newLines();
  }

  /** `upTo`: no further than that. */
  skip(upTo = Number.POSITIVE_INFINITY): Promise<void> {
    return this.#open(async (file) => {
      this.#inode = file.ino;
      if (this.#isWhole) return this.#readWhole(file, upTo);
      const to = Math.min(file.size, upTo);
      const from = Math.max(0, to - PAST_BYTES);
      const bytes = await readAt(file.handle, from, to - from);
      const end = bytes.lastIndexOf(0x0a) + 1;
      const lines = bytes.toString("utf8", 0, end).split("\n");
      // With an offset, the first line is cut.
      for (const line of from > 0 ? lines.slice(1) : lines) this.#emit(line, true);
      this.at = from + end;
    });
  }

  read(): Promise<void> {
    return this.#open(async (file) => {
      if (this.#isWhole) return this.#readWhole(file, 0);
      const { handle, size, ino } = file;
      if (ino !== this.#inode || size < this.at) {
        this.#inode = ino;
        this.at = 0;
        this.#lines = this.#newLines();
      }
      while (this.at < size) {
        const bytes = await readAt(handle, this.at, Math.min(CHUNK_BYTES, size - this.at));
        if (bytes.length === 0) return;
        this.at += bytes.length;
        this.#lines.push(bytes);
      }
    });
  }

  get #isWhole(): boolean {
    return this.path.endsWith(".json");
  }

  /** Each message is emitted again: readers know them by their ids. The first `past` are of earlier runs. */
  async #readWhole({ handle, size, stamp }: OpenFile, past: number): Promise<void> {
    if (stamp === this.#stamp || size > LONGEST_WHOLE_BYTES) return;
    const value: unknown = JSON.parse((await readAt(handle, 0, size)).toString("utf8"));
    this.#stamp = stamp; // only now: it may be half written
    const messages: unknown = (value as { messages?: unknown } | null)?.messages;
    for (const [i, message] of Array.isArray(messages) ? messages.entries() : []) {
      this.#emit(JSON.stringify(message), i < past);
      this.at = i + 1;
    }
  }

  #newLines(): LineSplitter {
    const line = (text: string) => this.#emit(text, false);
    return new LineSplitter(LONGEST_LINE_BYTES, { line, tooLong: () => {} });
  }

  #emit(line: string, isPast: boolean): void {
    if (line !== "") this.#onLine(line, isPast);
  }

  /** Never through a link, and never blocked by a pipe: a program that obeys a model owns the folder. */
  async #open(act: (file: OpenFile) => Promise<void>): Promise<void> {
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
    const handle = await open(this.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      const stats = await handle.stat();
      const { size, ino, mtimeMs } = stats;
      if (stats.isFile()) await act({ handle, size, ino, stamp: `${ino}.${size}.${mtimeMs}` });
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

export interface LogPort {
  follow: typeof followLogs;
  /** The environment of the program, with a HOME that can be read from here. */
  env: Readonly<Record<string, string | undefined>>;
  /** The part of these files that is of earlier runs. */
  onBegin?(position: Record<string, number>): void;
}

const EVERY_MS = 250;
/** After so many looks and so many calls of tools, a missing file is not written at all. */
const LOOKS = 40;
const TOOLS = 3;

/** Reads a vendor's files about its session during the run: after each call of a tool, and on a timer. */
export function sessionFeed(
  engine: Engine,
  { resume, settings }: EngineRequest,
  { env, follow, onBegin }: LogPort,
  onLine: OnLine,
) {
  let known: string | null = null;
  let logs: SessionLogs | null = null;
  let follower: LogFollower | null = null;
  let looking: Promise<void> = Promise.resolve();
  let isAsked = false;
  let timer: NodeJS.Timeout | undefined;
  let looks = 0;
  let tools = 0;

  /** At once, or once more after the look under way. */
  const look = () => {
    if (isAsked) return;
    isAsked = true;
    looking = looking.then(() => {
      isAsked = false;
      return follower?.look();
    });
  };
  /** As soon as it is known. Instead of the resumed session it may be another. */
  const onSession = (session: string) => {
    if (session === known) return;
    known = session;
    logs = engine.logs?.({ session, env, settings }) ?? null;
    follower = logs && follow(logs, onLine);
    if (follower === null) return;
    timer ??= setInterval(() => {
      looks++;
      look();
    }, EVERY_MS);
  };
  const close = () => clearInterval(timer);

  return {
    async begin(): Promise<void> {
      if (resume === null) return;
      onSession(resume);
      await follower?.skipPast();
      onBegin?.(follower?.position() ?? {});
    },
    onSession,
    onTool(): void {
      tools++;
      look();
    },
    /** No source of its usage was found, and by now there should be one. */
    get isMissing(): boolean {
      if (logs?.isOnlySource !== true || follower?.isFound) return false;
      return looks >= LOOKS && tools >= TOOLS;
    },
    close,
    /** Reads the rest. */
    async end(): Promise<void> {
      close();
      await looking;
      await follower?.look(true);
    },
  };
}
