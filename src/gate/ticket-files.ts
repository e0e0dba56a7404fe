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
import * as z from "zod/mini";
import { messageOf, VivError } from "../base/errors.ts";
import { PRIORITIES } from "../base/priority.ts";
import { replaceFileUnsynced } from "../platform/files/atomic-write.ts";
import { withFileLock } from "../platform/files/file-lock.ts";
import { codeOf, explained, listed, readSmallOrThrow } from "../platform/files/state-files.ts";
import { watchPaths } from "../platform/files/watch.ts";

const REMEDY = "set VIV_STATE (or --state-dir) to a folder that may be written";
const MAX_BYTES = 1024 * 1024;
const FILE = /^([wh])-((\d{12})-[0-9a-f]{12})$/;
const KINDS = ["w", "h"] as const;

const newTicket = z.object({
  name: z.string(),
  priority: z.enum(PRIORITIES),
  /** Its arrival in seconds since boot. */
  uptime: z.number(),
  /** The same for people: ISO. */
  since: z.string(),
  process: z.object({ host: z.string(), boot: z.string(), pid: z.number(), started: z.string() }),
});
export type NewTicket = z.output<typeof newTicket>;

export interface Ticket extends NewTicket {
  id: string;
  /** Of arrival. */
  order: number;
  /** ISO; null while it waits. */
  heldSince: string | null;
}

export type GateFiles = ReturnType<typeof gateFilesIn>;
export type LockedGate = ReturnType<typeof lockedGate>;

/**
 * `gate/` in the user's state folder, shared by all processes of the user on this machine:
 *   max                  how many may go in; no file: no limit
 *   tickets/w-ORDER-ID   a waiter
 *   tickets/h-ORDER-ID   a holder, since the file's time; renamed from w- in one step
 *   .lock                flock(2) on it is held for each change
 */
export function gateFilesIn(folder: string) {
  const tickets = join(folder, "tickets");
  const gate = lockedGate(folder);
  return {
    /** An unusable file counts as no limit; `trouble` is the reason. */
    max: () => readMax(join(folder, "max")),
    /** Without the lock, a ticket that is being moved may be missed, or seen twice. */
    tickets: gate.tickets,
    /** By the names of the files only. */
    counts: () => {
      const names = listed(tickets, REMEDY).filter((name) => FILE.test(name));
      const holding = names.filter((name) => name.startsWith("h-")).length;
      return { holding, waiting: names.length - holding };
    },
    isHolding: (id: string) => existsSync(join(tickets, `h-${id}`)),
    isWaiting: (id: string) => existsSync(join(tickets, `w-${id}`)),
    /** No other process changes anything meanwhile. */
    locked: <T>(act: (gate: LockedGate) => T): Promise<T> => {
      const run = async () => {
        mkdirSync(tickets, { recursive: true, mode: 0o700 });
        return withFileLock(join(folder, ".lock"), () => act(gate));
      };
      return explained(folder, run, REMEDY);
    },
    /** Removes a ticket without the lock, which leaving does not need. Never throws. */
    drop: (id: string) => {
      // In this order: a waiter may be let in meanwhile, which renames w- to h-.
      for (const kind of KINDS) {
        try {
          rmSync(join(tickets, `${kind}-${id}`), { force: true });
        } catch {
          // The disk became read-only: the end of this process frees the slot.
        }
      }
    },
    /** Calls back when a ticket was added, moved or removed; may miss one. Returns the unsubscribe. */
    watch: (onChange: () => void) => watchPaths([tickets], onChange),
  };
}

/** Operations under the lock. */
function lockedGate(folder: string) {
  const tickets = join(folder, "tickets");
  const maxPath = join(folder, "max");
  return {
    tickets: () => listed(tickets, REMEDY).flatMap((name) => readTicket(tickets, name) ?? []),
    add: (ticket: NewTicket): Ticket => {
      const orders = listed(tickets, REMEDY).map((name) => Number(FILE.exec(name)?.[3] ?? 0));
      const order = Math.max(0, ...orders) + 1;
      const id = `${String(order).padStart(12, "0")}-${randomBytes(6).toString("hex")}`;
      const temporary = join(tickets, ".new"); // under the lock one process writes at a time
      const text = `${JSON.stringify(ticket)}\n`;
      replaceFileUnsynced(join(tickets, `w-${id}`), text, { temporary });
      return { ...ticket, id, order, heldSince: null };
    },
    /** From waiting to holding, since then (ms since 1970). */
    hold: ({ id }: Ticket, at: number) => {
      const waiting = join(tickets, `w-${id}`);
      // The time first: a waiter's time is not read, and the rename is the one step.
      try {
        utimesSync(waiting, at / 1000, at / 1000);
        renameSync(waiting, join(tickets, `h-${id}`));
      } catch (error) {
        if (codeOf(error) !== "ENOENT") throw error; // removed without the lock, by `drop`
      }
    },
    remove: ({ id }: Ticket) => {
      for (const kind of KINDS) rmSync(join(tickets, `${kind}-${id}`), { force: true });
    },
    writeMax: (max: number | null) => {
      if (max === null) rmSync(maxPath, { force: true });
      else replaceFileUnsynced(maxPath, `${max}\n`, { temporary: join(folder, ".max.new") });
    },
  };
}

export type CrewGateFiles = ReturnType<typeof crewGateFilesIn>;

/** The gate of a crew. */
export function crewGateFilesIn(state: string) {
  return {
    /** gate.json; null when there is none. */
    read: () => {
      return explained(state, () => readSmallOrThrow(join(state, "gate.json"), MAX_BYTES), REMEDY);
    },
    isThere: () => statSync(state, { throwIfNoEntry: false })?.isDirectory() === true,
    /** Leaves a request in the crew's inbox. Returns its path. */
    ask: (max: number) => {
      const inbox = join(state, "inbox");
      const name = `gate-max-${max}-${Date.now()}-${randomBytes(4).toString("hex")}.json`;
      const write = () => {
        mkdirSync(inbox, { recursive: true, mode: 0o700 });
        replaceFileUnsynced(join(inbox, name), `${JSON.stringify({ max })}\n`);
      };
      explained(inbox, write, REMEDY);
      return join(inbox, name);
    },
  };
}

function readMax(path: string): { max: number | null; trouble?: string } {
  try {
    const text = readSmallOrThrow(path, MAX_BYTES);
    if (text === null) return { max: null };
    const max = Number(text);
    if (Number.isSafeInteger(max) && max >= 1) return { max };
    throw new VivError("CORRUPT", "it is not a whole number from 1");
  } catch (error) {
    const why = messageOf(error);
    const trouble = `${path} cannot be used (${why}), so there is no limit; to write it anew: viv gate --max 3`;
    return { max: null, trouble };
  }
}

/** An unreadable ticket (after a power cut) counts as a dead process's. */
const DEAD: NewTicket = {
  ...{ name: "?", priority: "normal", uptime: 0, since: new Date(0).toISOString() },
  process: { host: "", boot: "", pid: 0, started: "" },
};

/** Undefined for other files, and for a ticket that was removed meanwhile. */
function readTicket(folder: string, file: string): Ticket | undefined {
  const [, kind, id = "", order] = FILE.exec(file) ?? [];
  if (kind === undefined) return undefined;
  const path = join(folder, file);
  const stats = lstatSync(path, { throwIfNoEntry: false });
  // Anything but a plain file is unreadable.
  const text = stats?.isFile() === true ? readSmallOrThrow(path, MAX_BYTES) : "";
  if (text === null || stats === undefined) return undefined;
  const heldSince = kind === "h" ? stats.mtime.toISOString() : null;
  return { ...parseTicket(text), id, order: Number(order), heldSince };
}

function parseTicket(text: string): NewTicket {
  try {
    return newTicket.parse(JSON.parse(text));
  } catch {
    return DEAD;
  }
}
