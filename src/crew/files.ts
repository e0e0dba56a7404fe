import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { isName } from "../base/names.ts";
import { isTemporary, replaceFileUnsynced } from "../platform/files/atomic-write.ts";
import { readTrusted } from "../platform/files/owned.ts";
import { explained, listed, readPlain } from "../platform/files/state-files.ts";
import { ranFileOf } from "./lifecycle.ts";
import { type CrewLine, type MemberStatus, parseMemberStatus, questionFileOf } from "./status.ts";
import { stepLogIn } from "./step-log.ts";

/** The state folder of a crew, or of the singleton: there `name` is "" and files have no suffix. */
export interface CrewFiles {
  readonly folder: string;
  lastRun(name: string): string | null;
  writeLastRun(name: string, at: number): void;
  position(name: string): string | null;
  writePosition(name: string, text: string): void;
  /** The last run of that state of its lifecycle. */
  ran(name: string, state: string): string | null;
  writeRan(name: string, state: string, at: number): void;
  status(name: string): MemberStatus | null;
  writeStatus(name: string, status: MemberStatus): void;
  /** All members with a status; "" for the singleton. */
  names(): string[];
  append(line: CrewLine): void;
  /** The last lines, oldest first. */
  lastLines(count: number): CrewLine[];
  /** The lines added after a place, and the next place; for null only the place of the end. */
  linesFrom(place: number | null): { lines: CrewLine[]; place: number };
  /** A new log for a run; the oldest beyond the limit are removed. */
  newLog(name: string, at: number): string;
  /** Of its latest run; null when it never ran. */
  latestLog(name: string): string | null;
  /** The file with the warden's open question to a member (`$VIV_QUESTION`), and its text. */
  questionPath(name: string): string;
  question(name: string): string | null;
  isPaused(name: string): boolean;
  setPaused(name: string, isPaused: boolean): void;
  readJson(file: "crew" | "gate"): unknown;
  writeJson(file: "crew" | "gate", value: unknown): void;
  /** The requests in the inbox, oldest first; each is returned once. */
  takeRequests(): { id: string; request: unknown }[];
  /** Removes what a dead process has left: requests, answers, half written files. */
  tidy(): void;
  leaveRequest(id: string, request: unknown): void;
  answer(id: string, value: unknown): void;
  /** Null while there is none. */
  takeAnswer(id: string): unknown;
  /** Removes answers from before that time. */
  dropAnswers(before: number): void;
  /** The content of the lock file: the process that has the lock, or null. */
  holder(): unknown;
  writeHolder(value: unknown): void;
  /** The folder belongs to another crew now: no more writes. */
  abandon(): void;
}

const PARTS = ["runs", "paused", "inbox", "outbox"];
const KEPT_LOGS = 20;
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
  const steps = stepLogIn(folder);
  /** Listed once: there may be thousands. */
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
    append: unlessAbandoned(steps.append),
    lastLines: steps.lastLines,
    linesFrom: steps.linesFrom,
    newLog: (name, time) => {
      const runs = at("runs");
      if (!existsSync(runs)) explained(runs, () => makeFolder(runs));
      logs ??= logsIn(runs);
      const owner = name || "keeper";
      const own = logs.get(owner) ?? [];
      logs.set(owner, own);
      const file = `${owner}-${new Date(time).toISOString().replace(/[-:]/g, "")}.log`;
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
        return null; // no question, or of another user's warden
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
            return []; // unreadable; the others are answered
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
        return null; // unreadable: the command times out
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
        return null; // being written
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

/** "" for anything but a small plain file, as for a torn one. */
function readIfThere(path: string): string | null {
  return readPlain(path, LONGEST_STATE);
}

/**
 * Whole or not at all. A missing folder in the state folder is created; the state folder itself is
 * not: removing it takes it from the crew.
 */
function replace(path: string, text: string): void {
  explained(path, () => inFolder(dirname(path), () => replaceFileUnsynced(path, text)));
}

/**
 * In place, when the text is as long as the one before: one write, so it is whole after a kill, at a
 * tenth of the cost of a rename. Not for files that others may read at the same moment.
 */
function overwrite(path: string, text: string): void {
  let fd: number | undefined;
  try {
    fd = openSync(path, constants.O_WRONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stats = fstatSync(fd);
    const isSame = stats.isFile() && stats.size === Buffer.byteLength(text);
    if (isSame && writeSync(fd, text, 0) === stats.size) return;
  } catch {
    // missing, or no plain file: `replace` creates it or reports the error
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

/** By member, the oldest first. */
function logsIn(runs: string): Map<string, string[]> {
  const logs = new Map<string, string[]>();
  for (const file of listed(runs).sort()) {
    const [, owner] = LOG.exec(file) ?? [];
    if (owner === undefined) continue;
    const own = logs.get(owner);
    if (own) own.push(file);
    else logs.set(owner, [file]);
  }
  return logs;
}
