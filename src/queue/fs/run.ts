import { hostname } from "node:os";
import type { Machine } from "../../base/clock.ts";
import type { LedgerLine } from "../ledger.ts";
import type { Durability } from "../store.ts";
import { syncFolder } from "./files/atomic.ts";
import type { NoteFiles } from "./files/note-files.ts";
import type { Syncs } from "./files/syncs.ts";
import type { LaneReader } from "./lanes/lane-reader.ts";
import type { LaneWriter } from "./lanes/lanes.ts";
import type { LayoutHooks, Paths } from "./layout.ts";
import type { LedgerWriter } from "./record/ledger.ts";

/** An open run: what every transition needs, and the few things worth remembering between calls. */
export interface FsRun {
  readonly paths: Paths;
  readonly runId: string;
  readonly machine: Machine;
  readonly durability: Durability;
  /** Nothing may be made or repaired. */
  readonly readOnly: boolean;
  /** How it is kept from following links: a mode of files/beneath.ts. */
  readonly links: "strict" | "loose";
  /** What becomes of tasks whose dependency failed: they wait for a person, or fail too. */
  readonly onDependencyFailed: "wait" | "fail";
  readonly ledger: LedgerWriter;
  readonly lanes: LaneWriter;
  readonly notes: NoteFiles;
  readonly syncs: Syncs;
  readonly random: () => number;
  readonly newId: () => string;
  readonly memo: Memo;
  /** Rebuilds what is derived if it was lost: see recover.ts. */
  readonly recoverIfLost: () => boolean;
  readonly hooks: LayoutHooks | undefined;
}

export interface Memo {
  readers: Map<string, LaneReader>;
  workerFolders: Set<string>;
  /** Workers this process registered, with the time of their last heartbeat. */
  registered: Map<string, number>;
  /** What their files say, to be written again when they are lost. */
  workerFiles: Map<string, string>;
  /** What finishing needs to know about the claims this process made. */
  claims: Map<string, HeldClaim>;
  dueCheckedAt: number;
  adoptedAt: number;
  adoptCost: number;
  /** Something in pending/ was still being written when we last looked. */
  hasUnripe: boolean;
  /** Change time of pending/ when adopt last looked at all of it, for each reader. */
  pendingSeen: Map<LaneReader, string>;
  /** Tasks that adopt has put on a lane: what they were like, and when that was. */
  offered: Map<string, { changed: number; losses: number; at: number }>;
  /** When all of waiting/ was looked at last; notes that were lost make the next look due. */
  wokenAt: number;
  wokenCost: number;
  areNotesLost: boolean;
  /** When all histories were last compared with the ledger, and what that cost. */
  restoredAt: number;
  restoreCost: number;
  isRecovering: boolean;
  metAt: number;
  metCost: number;
  /** Change time of review/ when its tasks were counted, and how many those were. */
  reviewSeenAt: number;
  inReview: number;
  completedSeen: { key: string; ids: Set<string> } | null;
  /** When the oldest completion that is not carried over yet was made. */
  projectionDueSince: number;
  projectCost: number;
  projectionDue: boolean;
  /** The projection that is under way. */
  projecting: Promise<void> | null;
  temporaries: number;
  /** The ledger's file whose name is known to be on the disk. */
  syncedLedger: string;
}

export interface HeldClaim {
  worker: string;
  /** When it was claimed, by performance.now(). */
  at: number;
  token: string;
  attempt: number;
  review: boolean;
  /** Ending it went wrong halfway: whether its end is recorded must be looked up. */
  isUncertain: boolean;
}

/** Also for costs: the engine then knows the field as a fraction from the start, and compiles once. */
const NEVER = Number.NEGATIVE_INFINITY;

export function newMemo(): Memo {
  return {
    readers: new Map(),
    workerFolders: new Set(),
    registered: new Map(),
    workerFiles: new Map(),
    claims: new Map(),
    dueCheckedAt: NEVER,
    adoptedAt: NEVER,
    adoptCost: NEVER,
    hasUnripe: false,
    pendingSeen: new Map(),
    offered: new Map(),
    wokenAt: NEVER,
    wokenCost: NEVER,
    areNotesLost: false,
    restoredAt: NEVER,
    restoreCost: NEVER,
    isRecovering: false,
    metAt: NEVER,
    metCost: NEVER,
    reviewSeenAt: NEVER,
    inReview: 0,
    completedSeen: null,
    projectionDueSince: NEVER,
    projectCost: NEVER,
    projectionDue: false,
    projecting: null,
    temporaries: 0,
    syncedLedger: "",
  };
}

let isoMs = Number.NaN;
let iso = "";

/** The time now, ISO. A busy process asks thousands of times a millisecond. */
export function nowIso(run: FsRun): string {
  const now = run.machine.clock.now();
  if (now !== isoMs) {
    isoMs = now;
    iso = new Date(now).toISOString();
  }
  return iso;
}

export function record(run: FsRun, line: Omit<LedgerLine, "at">, sync = false): void {
  run.ledger.write({ at: nowIso(run), ...line } as LedgerLine, sync);
  if (sync && isNewLedger(run)) syncLedgerFolder(run);
}

/** Its file may be of today, and its name not on the disk yet: that is synced once by each process. */
export function isNewLedger(run: FsRun): boolean {
  return run.memo.syncedLedger !== run.ledger.path;
}

function syncLedgerFolder(run: FsRun): void {
  syncFolder(run.paths.ledger);
  run.memo.syncedLedger = run.ledger.path;
}

/** Steps come by the hundred and may be lost; what was spent may not. */
export function appendLine(run: FsRun, line: Omit<LedgerLine, "at">): void {
  if (line.event === "usage") record(run, line, run.durability === "safe");
  // Others read it at once; after a power cut no run spends.
  else if (line.event === "reserved") record(run, line);
  else run.ledger.writeSoon(nowIso(run), `",${JSON.stringify(line).slice(1)}`, false);
}

/** Several at once: one write, so all of them or, on a full disk, some. */
export function recordAll(run: FsRun, lines: readonly Omit<LedgerLine, "at">[]): void {
  const at = nowIso(run);
  if (lines.length > 0) run.ledger.writeAll(lines.map((line) => ({ at, ...line }) as LedgerLine));
}

/**
 * The two lines every task has, put together by hand because they are half the work of a claim:
 * the names in them are checked and need no escaping.
 */
export function recordClaim(
  run: FsRun,
  id: string,
  claim: { worker: string; token: string; attempt: number },
): void {
  const at = nowIso(run);
  const rest = `","event":"claimed","task":"${id}","worker":"${claim.worker}","token":"${claim.token}","attempt":${claim.attempt}}`;
  // After a reaping, a predecessor that was only asleep must be able to see that it is too late.
  run.ledger.writeSoon(at, rest, claim.attempt > 1);
}

export function recordDone(
  run: FsRun,
  id: string,
  claim: { worker: string; token: string; attempt: number },
  to: "done" | "review",
  sync: boolean,
): void {
  run.ledger.writeText(
    nowIso(run),
    `","event":"ended","task":"${id}","worker":"${claim.worker}","token":"${claim.token}","attempt":${claim.attempt},"outcome":"done","from":"claimed","to":"${to}"}`,
    sync,
  );
  if (sync && isNewLedger(run)) syncLedgerFolder(run);
}

const HOST = hostname().replace(/[^A-Za-z0-9-]/g, "_");

/**
 * A unique name for a file on its way to being published. The id comes first, so that
 * recovery knows what it was going to be; host and pid, so that it knows whether it still may be.
 */
export function temporaryPath(run: FsRun, id: string): string {
  return `${run.paths.tmp}/${id}~${ownName(run.memo, run.random)}`;
}

export function ownName(memo: Memo, random: () => number): string {
  const serial = (memo.temporaries++).toString(36);
  const salt = Math.floor(random() * 36 ** 6).toString(36);
  return `${HOST}.${process.pid}.${serial}.${salt}`;
}
