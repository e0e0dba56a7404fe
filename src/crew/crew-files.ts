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
import { unlessTaken } from "../base/errno.ts";
import { isName } from "../base/names.ts";
import type { NewEntry } from "../ledger/line.ts";
import { recordIn } from "../ledger/room-ledger.ts";
import { isTemporary, replaceFileUnsynced } from "../platform/files/atomic-write.ts";
import { openToRead } from "../platform/files/open-to-read.ts";
import { readTrusted } from "../platform/files/owned.ts";
import { appendLine, codeOf, explained, listed, readPlain } from "../platform/files/state-files.ts";
import { ranFileOf } from "./lifecycle.ts";
import {
  type CrewJson,
  type CrewLine,
  type MemberStatus,
  parseMemberStatus,
  questionFileOf,
} from "./member-status.ts";

/** Folders in the state folder; a missing one is created by the first write into it. */
const PARTS = ["runs", "paused", "inbox", "outbox"];
const KEPT_LOGS = 20;
const STEPS_BYTES = 8 * 1024 * 1024;
const LONGEST_STATE = 1024 * 1024;
const STATUS = /^status(?:-(.+))?\.json$/;
const LOG = /^(.+)-\d{8}T\d{6}\.\d{3}Z\.log$/;
const { O_RDONLY, O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW, O_NONBLOCK } = constants;

export type CrewFiles = ReturnType<typeof crewFilesIn>;

/** The state folder of a crew, or of the singleton: there `name` is "" and files have no suffix. */
export function crewFilesIn(folder: string) {
  const at = (...parts: string[]) => join(folder, ...parts);
  const of = (kind: string, name: string) => at(name === "" ? kind : `${kind}-${name}`);
  const statusPath = (name: string) => `${of("status", name)}.json`;
  const pausedPath = (name: string) => at("paused", name || "keeper");
  const stepsPath = at("_steps.jsonl");
  const olderSteps = at("_steps.1.jsonl");
  let isAbandoned = false;
  const replace = (path: string, text: string) => {
    if (!isAbandoned) replaceWhole(path, text);
  };
  /** Listed once: there may be thousands. */
  let logs: Map<string, string[]> | undefined;
  return {
    folder,
    lastRun: (name: string) => readIfThere(of("keeper-last-run", name)),
    writeLastRun: (name: string, time: number) => {
      if (!isAbandoned) overwrite(of("keeper-last-run", name), `${time}\n`);
    },
    position: (name: string) => readIfThere(of("lifecycle-pos", name)),
    writePosition: (name: string, text: string) => replace(of("lifecycle-pos", name), `${text}\n`),
    /** The last run of that state of its lifecycle. */
    ran: (name: string, state: string) => readIfThere(at(ranFileOf(name, state))),
    writeRan: (name: string, state: string, time: number) =>
      replace(at(ranFileOf(name, state)), `${time}\n`),
    status: (name: string): MemberStatus | null => {
      const text = readIfThere(statusPath(name));
      return text === null ? null : parseMemberStatus(text);
    },
    writeStatus: (name: string, status: MemberStatus) =>
      replace(statusPath(name), `${JSON.stringify(status)}\n`),
    /** All members with a status; "" for the singleton. */
    names: (): string[] =>
      listed(folder).flatMap((file) => {
        const [whole, name = ""] = STATUS.exec(file) ?? [];
        return whole !== undefined && (name === "" || isName(name)) ? [name] : [];
      }),
    /** Adds a line to the crew's ledger (§31). */
    record: (at: number, entry: NewEntry) => {
      if (!isAbandoned) recordIn(folder, at, entry);
    },
    /** To `_steps.jsonl`; when that is large it becomes `_steps.1.jsonl` and begins anew. */
    append: (line: CrewLine) => {
      if (isAbandoned) return;
      explained(stepsPath, () => {
        if (sizeOf(stepsPath) > STEPS_BYTES) renameSync(stepsPath, olderSteps);
        appendLine(stepsPath, `${JSON.stringify(line)}\n`);
      });
    },
    /** The last lines, oldest first. */
    lastLines: (count: number): CrewLine[] => {
      const lines = lastLinesOf(stepsPath, count);
      const missing = count - lines.length;
      return missing > 0 ? [...lastLinesOf(olderSteps, missing), ...lines] : lines;
    },
    /** The lines added after a place, and the next place; for null only the place of the end. */
    linesFrom: (place: number | null): { lines: CrewLine[]; place: number } => {
      const size = sizeOf(stepsPath);
      if (place === null) return { lines: [], place: size };
      // Smaller than it was: it was begun anew.
      return linesBetween(stepsPath, place <= size ? place : 0, size);
    },
    /** A new log for a run; the oldest beyond the limit are removed. */
    newLog: (name: string, time: number): string => {
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
    /** Of its latest run; null when it never ran. */
    latestLog: (name: string): string | null => {
      const latest = logsIn(at("runs"))
        .get(name || "keeper")
        ?.at(-1);
      return latest === undefined ? null : at("runs", latest);
    },
    /** The file with the warden's open question to a member (`$VIV_QUESTION`). */
    questionPath: (name: string) => at(questionFileOf(name)),
    question: (name: string): string | null => {
      try {
        return readTrusted(at(questionFileOf(name)));
      } catch {
        return null; // no question, or of another user's warden
      }
    },
    isPaused: (name: string) => existsSync(pausedPath(name)),
    setPaused: (name: string, isPaused: boolean) => {
      if (isPaused) replace(pausedPath(name), "");
      else if (!isAbandoned) rmSync(pausedPath(name), { force: true });
    },
    /** crew.json, as its supervisor wrote it last. */
    crew: () => jsonIn(at("crew.json")) as CrewJson | null,
    writeJson: (file: "crew" | "gate", value: unknown) =>
      replace(at(`${file}.json`), `${JSON.stringify(value)}\n`),
    /** The requests in the inbox, oldest first; each is returned once. */
    takeRequests: (): { id: string; request: unknown }[] =>
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
    /** Removes the remains of a dead process: requests, answers, half written files. */
    tidy: () => {
      for (const box of ["inbox", "outbox"]) {
        for (const file of listed(at(box))) rmSync(at(box, file), { recursive: true, force: true });
      }
      for (const file of listed(folder).filter(isTemporary)) rmSync(at(file), { force: true });
    },
    leaveRequest: (id: string, request: unknown) =>
      replace(at("inbox", `${id}.json`), JSON.stringify(request)),
    answer: (id: string, value: unknown) =>
      replace(at("outbox", `${id}.json`), JSON.stringify(value)),
    /** Null while there is none; an unreadable one is dropped, and the command times out. */
    takeAnswer: (id: string): unknown => {
      const path = at("outbox", `${id}.json`);
      const text = readIfThere(path);
      if (text !== null) rmSync(path, { recursive: true, force: true });
      try {
        return JSON.parse(text ?? "null");
      } catch {
        return null;
      }
    },
    /** Removes answers from before that time. */
    dropAnswers: (before: number) => {
      for (const file of listed(at("outbox"))) {
        const path = at("outbox", file);
        const stats = statSync(path, { throwIfNoEntry: false });
        if (stats && stats.mtimeMs < before) rmSync(path, { recursive: true, force: true });
      }
    },
    /** The content of the lock file: the process that has the lock, or null. */
    holder: () => jsonIn(at(".lock")),
    /** In place: another file would be another lock. */
    writeHolder: (value: unknown) =>
      explained(at(".lock"), () => {
        const flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK;
        const fd = openSync(at(".lock"), flags, 0o600);
        try {
          writeFileSync(fd, `${JSON.stringify(value)}\n`);
        } finally {
          closeSync(fd);
        }
      }),
    /** The folder belongs to another crew now: no more writes. */
    abandon: () => {
      isAbandoned = true;
    },
  };
}

/** "" for anything but a small plain file, as for a torn one. */
function readIfThere(path: string): string | null {
  return readPlain(path, LONGEST_STATE);
}

/** Null when it is missing, being written, or torn by a power loss. */
function jsonIn(path: string): unknown {
  try {
    return JSON.parse(readIfThere(path) ?? "null");
  } catch {
    return null;
  }
}

/**
 * Whole or not at all. A missing folder in the state folder is created; the state folder itself is
 * not: removing it takes it from the crew.
 */
function replaceWhole(path: string, text: string): void {
  explained(path, () => {
    try {
      replaceFileUnsynced(path, text);
    } catch (error) {
      const folder = dirname(path);
      if (codeOf(error) !== "ENOENT" || !PARTS.includes(basename(folder))) throw error;
      makeFolder(folder);
      replaceFileUnsynced(path, text);
    }
  });
}

/**
 * In place, when the text is as long as the one before: one write, so it is whole after a kill, at a
 * tenth of the cost of a rename. Not for files that others may read at the same moment.
 */
function overwrite(path: string, text: string): void {
  let fd: number | undefined;
  try {
    fd = openSync(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK);
    const stats = fstatSync(fd);
    const isSame = stats.isFile() && stats.size === Buffer.byteLength(text);
    if (isSame && writeSync(fd, text, 0) === stats.size) return;
  } catch {
    // missing, or no plain file: `replaceWhole` creates it or reports the error
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
  replaceWhole(path, text);
}

function makeFolder(folder: string): void {
  unlessTaken(() => mkdirSync(folder, { mode: 0o700 }));
}

/** By member, the oldest first: the time in each name is equally long. */
function logsIn(runs: string): Map<string, string[]> {
  const logs = new Map<string, string[]>();
  for (const file of listed(runs).sort()) {
    const [, owner] = LOG.exec(file) ?? [];
    const own = logs.get(owner ?? "");
    if (own) own.push(file);
    else if (owner !== undefined) logs.set(owner, [file]);
  }
  return logs;
}

/** 0 for anything but a plain file. */
function sizeOf(path: string): number {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isFile() === true ? stats.size : 0;
}

/** From the end: a feed asks for sixty lines of perhaps megabytes. */
function lastLinesOf(path: string, count: number): CrewLine[] {
  const fd = explained(path, () => openToRead(path));
  if (fd === null) return [];
  try {
    const { size } = fstatSync(fd);
    let length = Math.min(size, 64 * 1024);
    for (;;) {
      const buffer = Buffer.alloc(length);
      readSync(fd, buffer, 0, length, size - length);
      const lines = buffer
        .toString("utf8")
        .split("\n")
        .slice(length < size ? 1 : 0, -1);
      if (lines.length >= count || length === size) return lines.slice(-count).flatMap(parsedLine);
      length = Math.min(size, 4 * length);
    }
  } finally {
    closeSync(fd);
  }
}

/** Up to the last whole line. */
function linesBetween(path: string, place: number, size: number) {
  if (size <= place) return { lines: [], place };
  const fd = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const buffer = Buffer.alloc(size - place);
    const length = readSync(fd, buffer, 0, buffer.length, place);
    const whole = buffer.subarray(0, length).lastIndexOf(10) + 1;
    const lines = buffer.subarray(0, whole).toString("utf8").split("\n").slice(0, -1);
    return { lines: lines.flatMap(parsedLine), place: place + whole };
  } finally {
    closeSync(fd);
  }
}

function parsedLine(line: string): CrewLine[] {
  try {
    return [JSON.parse(line) as CrewLine];
  } catch {
    return []; // torn by a full disk
  }
}
