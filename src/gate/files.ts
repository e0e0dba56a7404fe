import { randomBytes } from "node:crypto";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from "node:fs";
import { join } from "node:path";
import type { ProcessIdentity } from "../base/clock.ts";
import { VivError } from "../base/errors.ts";
import { replaceFileUnsynced } from "../platform/files/atomic-write.ts";
import { withFileLock } from "../platform/files/file-lock.ts";
import { codeOf, explained, listed, readSmallOrThrow } from "../platform/files/state-files.ts";
import { watchPaths } from "../platform/files/watch.ts";
import { PRIORITIES, type Priority } from "../queue/task.ts";

const REMEDY = "set VIV_STATE (or --state) to a folder that may be written";

/**
 * `gate/` in the user's state folder, shared by all processes of the user on this machine:
 *   max                  how many may go in; no file: no limit
 *   tickets/w-ORDER-ID   somebody waits
 *   tickets/h-ORDER-ID   somebody is in, since the file's time; renamed from w- in one step
 *   .lock                flock(2) on it is held for each change
 */
export interface GateFiles {
  /** A file that cannot be used counts as no limit: `trouble`. */
  max(): { max: number | null; trouble?: string };
  /** All tickets. Without the lock, one that is just being moved may be missed, or seen twice. */
  tickets(): Ticket[];
  /** How many tickets there are of each kind: only names are looked at. */
  counts(): { waiting: number; holding: number };
  /** Is it in? One look at one file. */
  isHolding(id: string): boolean;
  isWaiting(id: string): boolean;
  /** Nobody else changes anything meanwhile. */
  locked<T>(act: (gate: LockedGate) => T): Promise<T>;
  /** Removes a ticket without the lock: to leave harms nobody. Never throws. */
  drop(id: string): void;
  /** Calls back when a ticket has come, moved or gone; it may miss one. Returns what ends that. */
  watch(onChange: () => void): () => void;
}

/** What may be done under the lock. */
export interface LockedGate {
  tickets(): Ticket[];
  add(ticket: NewTicket): Ticket;
  /** From waiting to holding, since then (ms since 1970). */
  hold(ticket: Ticket, at: number): void;
  remove(ticket: Ticket): void;
  writeMax(max: number | null): void;
}

export interface NewTicket {
  name: string;
  priority: Priority;
  /** Seconds since boot, when it came. */
  uptime: number;
  /** The same for people: ISO. */
  since: string;
  process: ProcessIdentity;
}

export interface Ticket extends NewTicket {
  id: string;
  /** In which order they came. */
  order: number;
  /** Since when it is in, ISO; null while it waits. */
  heldSince: string | null;
}

const MAX_BYTES = 1024 * 1024;
const FILE = /^([wh])-((\d{12})-[0-9a-f]{12})$/;

export function gateFilesIn(folder: string): GateFiles {
  const tickets = join(folder, "tickets");
  const maxPath = join(folder, "max");
  const pathOf = (kind: "w" | "h", id: string) => join(tickets, `${kind}-${id}`);
  const all = () => listed(tickets, REMEDY).flatMap((name) => readTicket(tickets, name) ?? []);
  const gate: LockedGate = {
    tickets: all,
    add: (ticket) => {
      const last = Math.max(0, ...listed(tickets, REMEDY).map(orderOf));
      const order = last + 1;
      const id = `${String(order).padStart(12, "0")}-${randomBytes(6).toString("hex")}`;
      const temporary = join(tickets, ".new"); // under the lock one process writes at a time
      replaceFileUnsynced(pathOf("w", id), `${JSON.stringify(ticket)}\n`, { temporary });
      return { ...ticket, id, order, heldSince: null };
    },
    hold: ({ id }, at) => {
      const waiting = pathOf("w", id);
      // The time first: nobody looks at that of one who waits, and the rename is the one step.
      try {
        utimesSync(waiting, at / 1000, at / 1000);
        renameSync(waiting, pathOf("h", id));
      } catch (error) {
        if (codeOf(error) !== "ENOENT") throw error; // it has just left: see `drop`
      }
    },
    remove: ({ id }) => {
      for (const kind of ["w", "h"] as const) rmSync(pathOf(kind, id), { force: true });
    },
    writeMax: (max) => {
      if (max === null) rmSync(maxPath, { force: true });
      else replaceFileUnsynced(maxPath, `${max}\n`, { temporary: join(folder, ".max.new") });
    },
  };
  return {
    max: () => readMax(maxPath),
    tickets: all,
    counts: () => {
      const names = listed(tickets, REMEDY).filter((name) => FILE.test(name));
      const holding = names.filter((name) => name.startsWith("h-")).length;
      return { holding, waiting: names.length - holding };
    },
    isHolding: (id) => existsSync(pathOf("h", id)),
    isWaiting: (id) => existsSync(pathOf("w", id)),
    locked: (act) =>
      tried(folder, async () => {
        mkdirSync(tickets, { recursive: true, mode: 0o700 });
        return withFileLock(join(folder, ".lock"), () => act(gate));
      }),
    drop: (id) => {
      // In this order: one that waits may just be let in, which renames w- to h-.
      for (const kind of ["w", "h"] as const) {
        try {
          rmSync(pathOf(kind, id), { force: true });
        } catch {
          // A disk that has become read-only: our end will give the slot back.
        }
      }
    },
    watch: (onChange) => watchPaths([tickets], onChange),
  };
}

/** What a crew says of its gate, and where it is asked to change it. */
export interface CrewGateFiles {
  /** gate.json; null when there is none. */
  read(): string | null;
  isThere(): boolean;
  /** A message for the crew. Returns its path. */
  ask(max: number): string;
}

export function crewGateFilesIn(state: string): CrewGateFiles {
  return {
    read: () => tried(state, () => readSmallOrThrow(join(state, "gate.json"), MAX_BYTES)),
    isThere: () => statSync(state, { throwIfNoEntry: false })?.isDirectory() === true,
    ask: (max) => {
      const inbox = join(state, "inbox");
      const name = `gate-max-${max}-${Date.now()}-${randomBytes(4).toString("hex")}`;
      return tried(inbox, () => {
        mkdirSync(inbox, { recursive: true, mode: 0o700 });
        const path = join(inbox, `${name}.json`);
        replaceFileUnsynced(path, `${JSON.stringify({ max })}\n`);
        return path;
      });
    },
  };
}

function orderOf(name: string): number {
  return Number(FILE.exec(name)?.[3] ?? 0);
}

function readMax(path: string): { max: number | null; trouble?: string } {
  try {
    const text = readSmallOrThrow(path, MAX_BYTES);
    if (text === null) return { max: null };
    const max = Number(text);
    if (Number.isSafeInteger(max) && max >= 1) return { max };
    throw new VivError("CORRUPT", "it is not a whole number from 1");
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const trouble = `${path} cannot be used (${why}), so there is no limit; to write it anew: viv gate --max 3`;
    return { max: null, trouble };
  }
}

/** Undefined for what is no ticket, and for one that has gone meanwhile. */
function readTicket(folder: string, file: string): Ticket | undefined {
  const [, kind, id = "", order] = FILE.exec(file) ?? [];
  if (kind === undefined) return undefined;
  const path = join(folder, file);
  const stats = lstatSync(path, { throwIfNoEntry: false });
  // What is no plain file is nobody's, too.
  const text = stats?.isFile() === true ? readSmallOrThrow(path, MAX_BYTES) : "";
  if (text === null || stats === undefined) return undefined;
  const heldSince = kind === "h" ? stats.mtime.toISOString() : null;
  return { ...parseTicket(text), id, order: Number(order), heldSince };
}

/** One that says nothing (a power cut) is nobody's: as of a process that is gone. */
const NOBODY: NewTicket = {
  ...{ name: "?", priority: "normal", uptime: 0, since: new Date(0).toISOString() },
  process: { host: "", boot: "", pid: 0, started: "" },
};

function parseTicket(text: string): NewTicket {
  try {
    const { name, priority, uptime, since, process } = JSON.parse(text) as NewTicket;
    const { host, boot, pid, started } = process;
    const texts = [name, since, host, boot, started];
    const isOne =
      texts.every((one) => typeof one === "string") &&
      PRIORITIES.includes(priority) &&
      [uptime, pid].every(Number.isFinite);
    return isOne
      ? { name, priority, uptime, since, process: { host, boot, pid, started } }
      : NOBODY;
  } catch {
    return NOBODY;
  }
}

function tried<T>(path: string, act: () => T): T {
  return explained(path, act, REMEDY);
}
