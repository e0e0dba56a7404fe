import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { isName } from "../base/names.ts";
import { isTemporary, replaceFileUnsynced } from "../platform/files/atomic-write.ts";
import { readTrusted } from "../platform/files/owned.ts";
import {
  appendLine,
  codeOf,
  explained,
  failure,
  listed,
  readPlain,
} from "../platform/files/state-files.ts";
import { ranFileOf } from "./lifecycle.ts";
import { type CrewLine, type MemberStatus, parseMemberStatus, questionFileOf } from "./status.ts";

/** The state folder of a crew, or of the singleton: there `name` is "" and files have no suffix. */
export interface CrewFiles {
  readonly folder: string;
  lastRun(name: string): string | null;
  writeLastRun(name: string, at: number): void;
  position(name: string): string | null;
  writePosition(name: string, text: string): void;
  /** When that state of its lifecycle was last run. */
  ran(name: string, state: string): string | null;
  writeRan(name: string, state: string, at: number): void;
  status(name: string): MemberStatus | null;
  writeStatus(name: string, status: MemberStatus): void;
  /** Names of all that have a status; "" for the singleton. */
  names(): string[];
  append(line: CrewLine): void;
  /** The last lines, oldest first. */
  lastLines(count: number): CrewLine[];
  /** Those that were added behind a place, and the next place; from null: none, and where the end is. */
  linesFrom(place: number | null): { lines: CrewLine[]; place: number };
  /** A new log for a run; the oldest beyond the limit go. */
  newLog(name: string, at: number): string;
  /** That of its latest run; null when it never ran. */
  latestLog(name: string): string | null;
  /** Where a member finds what the warden asks it, while it does (`$VIV_QUESTION`); and what that is. */
  questionPath(name: string): string;
  question(name: string): string | null;
  isPaused(name: string): boolean;
  setPaused(name: string, isPaused: boolean): void;
  readJson(file: "crew" | "gate"): unknown;
  writeJson(file: "crew" | "gate", value: unknown): void;
  /** What was asked for, oldest first; each is given once. */
  takeRequests(): { id: string; request: unknown }[];
  /** What one that died has left: requests, answers that nobody took, files half written. */
  tidy(): void;
  leaveRequest(id: string, request: unknown): void;
  answer(id: string, value: unknown): void;
  /** Null while there is none. */
  takeAnswer(id: string): unknown;
  /** Answers that were given before that time: nobody waits for them any more. */
  dropAnswers(before: number): void;
  /** Who has the folder's lock, as it says itself, in the lock file; null when that says nothing. */
  holder(): unknown;
  writeHolder(value: unknown): void;
  /** The folder is another's now: nothing is written any more. */
  abandon(): void;
}

const PARTS = ["runs", "paused", "inbox", "outbox"];
const KEPT_LOGS = 20;
const MAX_STEPS_BYTES = 8 * 1024 * 1024;
const STATUS = /^status(?:-(.+))?\.json$/;

export function crewFilesIn(folder: string): CrewFiles {
  const at = (...parts: string[]) => join(folder, ...parts);
  const suffix = (name: string) => (name === "" ? "" : `-${name}`);
  const ranPath = (name: string, state: string) => at(ranFileOf(name, state));
  let isAbandoned = false;
  const unlessAbandoned =
    <A extends unknown[]>(write: (...args: A) => void) =>
    (...args: A) => {
      if (!isAbandoned) write(...args);
    };
  const steps = at("_steps.jsonl");
  /** Listed once: thousands of logs are not to be looked through at each tick. */
  let logs: Map<string, string[]> | undefined;
  return {
    folder,
    lastRun: (name) => readIfThere(at(`keeper-last-run${suffix(name)}`)),
    writeLastRun: unlessAbandoned((name: string, time: number) =>
      overwrite(at(`keeper-last-run${suffix(name)}`), `${time}\n`),
    ),
    position: (name) => readIfThere(at(`lifecycle-pos${suffix(name)}`)),
    writePosition: unlessAbandoned((name: string, text: string) =>
      replace(at(`lifecycle-pos${suffix(name)}`), `${text}\n`),
    ),
    ran: (name, state) => readIfThere(ranPath(name, state)),
    writeRan: unlessAbandoned((name: string, state: string, time: number) =>
      replace(ranPath(name, state), `${time}\n`),
    ),
    status: (name) => {
      const text = readIfThere(at(`status${suffix(name)}.json`));
      return text === null ? null : parseMemberStatus(text);
    },
    writeStatus: unlessAbandoned((name: string, status: MemberStatus) =>
      replace(at(`status${suffix(name)}.json`), `${JSON.stringify(status)}\n`),
    ),
    names: () =>
      listed(folder).flatMap((file) => {
        const [whole, name = ""] = STATUS.exec(file) ?? [];
        return whole !== undefined && (name === "" || isName(name)) ? [name] : [];
      }),
    append: unlessAbandoned((line: CrewLine) => {
      const text = `${JSON.stringify(line)}\n`;
      explained(steps, () => {
        if (sizeOf(steps) > MAX_STEPS_BYTES) renameSync(steps, at("_steps.1.jsonl"));
        appendLine(steps, text);
      });
    }),
    lastLines: (count) => {
      const lines = lastLinesOf(steps, count);
      const missing = count - lines.length;
      return missing > 0 ? [...lastLinesOf(at("_steps.1.jsonl"), missing), ...lines] : lines;
    },
    linesFrom: (place) => {
      const size = sizeOf(steps);
      // Smaller than it was: it was begun anew.
      return place === null
        ? { lines: [], place: size }
        : linesFrom(steps, place <= size ? place : 0);
    },
    newLog: (name, time) => {
      const runs = at("runs");
      if (!existsSync(runs)) explained(runs, () => makeFolder(runs));
      logs ??= logsIn(runs);
      const whose = name || "keeper";
      const own = logs.get(whose) ?? [];
      logs.set(whose, own);
      const file = `${whose}-${new Date(time).toISOString().replace(/[-:]/g, "")}.log`;
      if (!own.includes(file)) own.push(file);
      for (const old of own.splice(0, own.length - KEPT_LOGS)) {
        rmSync(join(runs, old), { force: true });
      }
      return join(runs, file);
    },
    latestLog: (name) => {
      const runs = at("runs");
      // By the time in its name, which is as long in all of them.
      const own = listed(runs).filter((file) => LOG.exec(file)?.[1] === (name || "keeper"));
      const latest = own.sort().at(-1);
      return latest === undefined ? null : join(runs, latest);
    },
    questionPath: (name) => at(questionFileOf(name)),
    question: (name) => {
      try {
        return readTrusted(at(questionFileOf(name)));
      } catch {
        return null; // nobody asks, or it is another user's warden
      }
    },
    isPaused: (name) => existsSync(at("paused", name || "keeper")),
    setPaused: unlessAbandoned((name: string, isPaused: boolean) => {
      const path = at("paused", name || "keeper");
      if (!isPaused) rmSync(path, { force: true });
      else replace(path, "");
    }),
    readJson: (file) => {
      try {
        return JSON.parse(readIfThere(at(`${file}.json`)) ?? "null");
      } catch {
        return null; // torn by a power loss
      }
    },
    writeJson: unlessAbandoned((file: "crew" | "gate", value: unknown) =>
      replace(at(`${file}.json`), `${JSON.stringify(value)}\n`),
    ),
    takeRequests: () =>
      listed(at("inbox"))
        .filter((file) => /^[A-Za-z0-9_-]+\.json$/.test(file))
        .sort()
        .flatMap((file) => {
          const path = at("inbox", file);
          try {
            const text = readIfThere(path);
            rmSync(path, { recursive: true, force: true });
            return text === null ? [] : [{ id: file.slice(0, -5), request: JSON.parse(text) }];
          } catch {
            return []; // nobody can say what was asked for; the others are answered
          }
        }),
    tidy: () => {
      for (const box of ["inbox", "outbox"]) {
        for (const file of listed(at(box))) rmSync(at(box, file), { recursive: true, force: true });
      }
      for (const file of listed(folder).filter(isTemporary)) rmSync(at(file), { force: true });
    },
    leaveRequest: (id, request) => replace(at("inbox", `${id}.json`), JSON.stringify(request)),
    answer: unlessAbandoned((id: string, value: unknown) =>
      replace(at("outbox", `${id}.json`), JSON.stringify(value)),
    ),
    takeAnswer: (id) => {
      const path = at("outbox", `${id}.json`);
      const text = readIfThere(path);
      if (text === null) return null;
      rmSync(path, { recursive: true, force: true });
      try {
        return JSON.parse(text);
      } catch {
        return null; // no answer: whoever waits gives up in time
      }
    },
    dropAnswers: (before) => {
      for (const file of listed(at("outbox"))) {
        const path = at("outbox", file);
        const stats = statSync(path, { throwIfNoEntry: false });
        if (stats && stats.mtimeMs < before) rmSync(path, { recursive: true, force: true });
      }
    },
    holder: () => {
      try {
        return JSON.parse(readIfThere(at(".lock")) || "null");
      } catch {
        return null; // it is just being written
      }
    },
    // In place: another file would be another lock.
    writeHolder: (value) =>
      explained(at(".lock"), () => {
        const fd = openSync(at(".lock"), IN_PLACE, 0o600);
        try {
          writeFileSync(fd, `${JSON.stringify(value)}\n`);
        } finally {
          closeSync(fd);
        }
      }),
    abandon: () => {
      isAbandoned = true;
    },
  };
}

const IN_PLACE =
  constants.O_WRONLY |
  constants.O_CREAT |
  constants.O_TRUNC |
  constants.O_NOFOLLOW |
  constants.O_NONBLOCK;
const LONGEST_STATE = 1024 * 1024;

/** What is no plain file, or no small one, says as little as one that is torn: "". */
function readIfThere(path: string): string | null {
  return readPlain(path, LONGEST_STATE);
}

/**
 * Whole or not at all. A folder in the state folder is made when it is missing; that one itself is not: who has
 * removed it has taken it from the crew.
 */
function replace(path: string, text: string): void {
  explained(path, () => inFolder(dirname(path), () => replaceFileUnsynced(path, text)));
}

/**
 * In place, when the text is as long as the one before: one write, so it is whole after a kill, and it
 * costs a tenth of a rename over a file. Not for what others may read at the same moment.
 */
function overwrite(path: string, text: string): void {
  let fd: number | undefined;
  try {
    fd = openSync(path, constants.O_WRONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stats = fstatSync(fd);
    const isSame = stats.isFile() && stats.size === Buffer.byteLength(text);
    if (isSame && writeSync(fd, text, 0) === stats.size) return;
  } catch {
    // it is not there, or something else is: then it is made anew, or that tells what is wrong
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
  replace(path, text);
}

function inFolder(folder: string, write: () => void): void {
  try {
    write();
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === "ENOENT";
    if (!isMissing || !PARTS.includes(basename(folder))) throw error;
    makeFolder(folder);
    write();
  }
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

const LOG = /^(.+)-\d{8}T\d{6}\.\d{3}Z\.log$/;

/** By whose they are, the oldest first. */
function logsIn(runs: string): Map<string, string[]> {
  const logs = new Map<string, string[]>();
  for (const file of listed(runs).sort()) {
    const [, whose] = LOG.exec(file) ?? [];
    if (whose === undefined) continue;
    const own = logs.get(whose);
    if (own) own.push(file);
    else logs.set(whose, [file]);
  }
  return logs;
}

/** Of what is no plain file: 0. */
function sizeOf(path: string): number {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isFile() === true ? stats.size : 0;
}

const TO_READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** From the end: a feed asks for sixty lines of what may be megabytes. */
function lastLinesOf(path: string, count: number): CrewLine[] {
  let fd: number;
  try {
    fd = openSync(path, TO_READ);
  } catch (error) {
    if (["ENOENT", "ELOOP", "ENXIO"].includes(codeOf(error) ?? "")) return [];
    throw failure(path, error);
  }
  try {
    const stats = fstatSync(fd);
    const size = stats.isFile() ? stats.size : 0;
    let length = Math.min(size, 64 * 1024);
    for (;;) {
      const buffer = Buffer.alloc(length);
      readSync(fd, buffer, 0, length, size - length);
      const lines = buffer
        .toString("utf8")
        .split("\n")
        .slice(length < size ? 1 : 0, -1);
      if (lines.length >= count || length === size) return lines.slice(-count).flatMap(parsed);
      length = Math.min(size, 4 * length);
    }
  } finally {
    closeSync(fd);
  }
}

/** Up to the last whole line. */
function linesFrom(path: string, place: number): { lines: CrewLine[]; place: number } {
  const length = sizeOf(path) - place;
  if (length <= 0) return { lines: [], place };
  const fd = openSync(path, TO_READ);
  try {
    const buffer = Buffer.alloc(length);
    const whole = buffer.subarray(0, readSync(fd, buffer, 0, length, place)).lastIndexOf(10) + 1;
    const lines = buffer.subarray(0, whole).toString("utf8").split("\n").slice(0, -1);
    return { lines: lines.flatMap(parsed), place: place + whole };
  } finally {
    closeSync(fd);
  }
}

function parsed(line: string): CrewLine[] {
  try {
    return [JSON.parse(line) as CrewLine];
  } catch {
    return []; // torn by a full disk
  }
}
