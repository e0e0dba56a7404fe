import { hostname } from "node:os";
import { basename, relative } from "node:path";
import type { Machine } from "../../base/clock.ts";
import type { LedgerWriter } from "../../ledger/writer.ts";
import type { LedgerLine } from "../ledger.ts";
import type { Durability } from "../store.ts";
import { moveAside, quarantineNote } from "./files/aside.ts";
import { syncFolder, translate } from "./files/atomic.ts";
import type { NoteFiles } from "./files/note-files.ts";
import type { Syncs } from "./files/syncs.ts";
import type { LaneReader } from "./lanes/lane-reader.ts";
import type { LaneWriter } from "./lanes/lanes.ts";
import { idOfLink, type LayoutHooks, type Paths } from "./layout.ts";

/** An open run: the state and services of every transition. */
export interface FsRun {
  readonly paths: Paths;
  readonly runId: string;
  readonly machine: Machine;
  readonly durability: Durability;
  /** Nothing may be created or repaired. */
  readonly readOnly: boolean;
  /** The mode in which platform/files/beneath.ts guards it. */
  readonly links: "strict" | "loose";
  /** Tasks with a failed dependency wait for a person, or fail too. */
  readonly onDependencyFailed: "wait" | "fail";
  readonly ledger: LedgerWriter;
  readonly lanes: LaneWriter;
  readonly notes: NoteFiles;
  readonly syncs: Syncs;
  readonly random: () => number;
  readonly newId: () => string;
  readonly memo: Memo;
  /** Rebuilds the derived files if they were lost: see recover.ts. */
  readonly recoverIfLost: () => boolean;
  readonly hooks: LayoutHooks | undefined;
}

/** Also for costs: the engine then knows the field as a fraction from the start, and compiles once. */
const NEVER = Number.NEGATIVE_INFINITY;

export type Memo = ReturnType<typeof newMemo>;

export function newMemo() {
  return {
    readers: new Map<string, LaneReader>(),
    workerFolders: new Set<string>(),
    /** Workers this process registered, with the time of their last heartbeat. */
    registered: new Map<string, number>(),
    /** The texts of their files, to be written again when they are lost. */
    workerFiles: new Map<string, string>(),
    /** Claims of this process. */
    claims: new Map<string, HeldClaim>(),
    dueCheckedAt: NEVER,
    adoptedAt: NEVER,
    adoptCost: NEVER,
    /** A file in pending/ was still being written at the last look. */
    hasUnripe: false,
    /** Change time of pending/ when adopt last looked at all of it, for each reader. */
    pendingSeen: new Map<LaneReader, string>(),
    /** Tasks that adopt has put on a lane, as they were then. */
    offered: new Map<string, { changed: number; losses: number; at: number }>(),
    /** The last look at all of waiting/; lost notes make the next one due. */
    wokenAt: NEVER,
    wokenCost: NEVER,
    areNotesLost: false,
    /** The last comparison of all histories with the ledger. */
    restoredAt: NEVER,
    restoreCost: NEVER,
    isRecovering: false,
    metAt: NEVER,
    metCost: NEVER,
    /** Change time of review/ when its tasks were counted, and their number. */
    reviewSeenAt: NEVER,
    inReview: 0,
    completedSeen: null as { key: string; ids: Set<string> } | null,
    /** The time of the oldest completion that is not carried over yet. */
    projectionDueSince: NEVER,
    projectCost: NEVER,
    projectionDue: false,
    /** The projection that is under way. */
    projecting: null as Promise<void> | null,
    /** The ledger's file with a synced name. */
    syncedLedger: "",
  };
}

export interface HeldClaim {
  worker: string;
  /** When it was claimed, by performance.now(). */
  at: number;
  token: string;
  attempt: number;
  review: boolean;
  /** It has a done_when. */
  asksProof: boolean;
  /** Its end failed halfway: the ledger has to show whether it is recorded. */
  isUncertain: boolean;
}

let isoMs = Number.NaN;
let iso = "";

/** The time now, ISO; cached, because a busy process needs it thousands of times a millisecond. */
export function nowIso(run: FsRun): string {
  const now = run.machine.clock.now();
  if (now !== isoMs) {
    isoMs = now;
    iso = new Date(now).toISOString();
  }
  return iso;
}

type NewLine = Omit<LedgerLine, "at">;

export function record(run: FsRun, line: NewLine, sync = false): void {
  const at = nowIso(run);
  append(run, at, JSON.stringify({ at, ...line }), sync);
}

function append(run: FsRun, at: string, line: string, sync: boolean): void {
  run.ledger.append(at, line, sync);
  if (!sync || !isNewLedger(run)) return;
  syncFolder(run.paths.ledger);
  run.memo.syncedLedger = run.ledger.path;
}

/** The file of a new day has a name that may not be on the disk: each process syncs that once. */
export function isNewLedger(run: FsRun): boolean {
  return run.memo.syncedLedger !== run.ledger.path;
}

/** There are hundreds of steps, and they may be lost; usage and landings may not. */
export function recordTold(run: FsRun, line: NewLine): void {
  const at = nowIso(run);
  if (line.event === "step") run.ledger.appendSoon(at, JSON.stringify({ at, ...line }), false);
  // Others read it at once; after a power cut no run spends.
  else if (line.event === "reserved") record(run, line);
  else record(run, line, run.durability === "safe");
}

/** One write for all: on a full disk, some of them. */
export function recordAll(run: FsRun, lines: readonly NewLine[]): void {
  const at = nowIso(run);
  const texts = lines.map((line) => JSON.stringify({ at, ...line }));
  if (texts.length > 0) run.ledger.append(at, texts.join("\n"), false);
}

interface ClaimIdentity {
  worker: string;
  token: string;
  attempt: number;
}

/**
 * The two lines every task has are written by hand, because they are half the work of a claim: the
 * names in them are checked and need no escaping.
 */
function claimFields(id: string, { worker, token, attempt }: ClaimIdentity): string {
  return `"task":"${id}","worker":"${worker}","token":"${token}","attempt":${attempt}`;
}

export function recordClaim(run: FsRun, id: string, claim: ClaimIdentity): void {
  const at = nowIso(run);
  const line = `{"at":"${at}","event":"claimed",${claimFields(id, claim)}}`;
  // After a reaping, a predecessor that was only asleep must be able to see that it is too late. In
  // a pit, a claim without its line counts as made by hand.
  run.ledger.appendSoon(at, line, claim.attempt > 1 || run.paths.layout.isFlat);
}

export function recordDone(
  run: FsRun,
  id: string,
  claim: ClaimIdentity,
  { to, proof, commit, unproven }: Pick<LedgerLine, "to" | "proof" | "commit" | "unproven">,
  sync: boolean,
): void {
  const at = nowIso(run);
  const marks =
    proof || unproven ? `,${JSON.stringify({ proof, commit, unproven }).slice(1, -1)}` : "";
  const end = `"outcome":"done","from":"claimed","to":"${to}"${marks}`;
  append(run, at, `{"at":"${at}","event":"ended",${claimFields(id, claim)},${end}}`, sync);
}

/**
 * Moves an unusable file to quarantine/, whole, with the reason beside it: nothing is deleted or
 * skipped in silence. False when it is not there, or when `inode` names the file and another has
 * taken its place: then that one is put back.
 */
export function quarantine(run: FsRun, path: string, reason: string, inode?: number): boolean {
  const from = relative(run.paths.root, path);
  try {
    const note = quarantineNote(nowIso(run), from, reason);
    if (!moveAside(run.paths.quarantine, path, note, inode)) return false;
  } catch (error) {
    throw translate(error, `moving ${from} to quarantine`);
  }
  const id = idOfLink(run.paths, basename(path)) ?? undefined;
  record(run, { event: "quarantined", task: id, path: from, note: reason });
  return true;
}

const HOST = hostname().replace(/[^A-Za-z0-9-]/g, "_");
let names = 0;

/**
 * A unique path for a file before it is published. The id comes first: recovery then knows which
 * task it would become.
 */
export function temporaryPath(run: FsRun, id: string): string {
  return `${run.paths.tmp}/${id}~${uniqueName()}`;
}

export function uniqueName(): string {
  const serial = (names++).toString(36);
  const salt = Math.floor(Math.random() * 36 ** 6).toString(36);
  return `${HOST}.${process.pid}.${serial}.${salt}`;
}
