import { judgeWorker, type VitalSigns } from "../../liveness.ts";
import type { FsRun } from "../fs-run.ts";
import { linesSinceClaims } from "../record/claim-lines.ts";
import { type ClaimFile, claimsOf } from "./claimed.ts";
import { isClaimed, readNote } from "./process-notes.ts";
import { readWorkerFile, shellSigns, staleAfterSeconds, vitalSigns } from "./vital-signs.ts";

/**
 * The claims under one name, by their maker. Where claims lie in one folder, a person or an agent
 * with a shell may use a name that a worker of ours has or had: a claim made with `mv` is judged by
 * its own age, whatever the process or the heartbeat of that name says.
 */
export interface Holding {
  claims: ClaimFile[];
  signs: VitalSigns;
  byHand: boolean;
}

export function holdingsOf(run: FsRun, worker: string): Holding[] {
  const claims = claimsOf(run, worker);
  const signs = vitalSigns(run, worker, claims);
  if (!run.paths.layout.isFlat || claims.length === 0) return [{ claims, signs, byHand: false }];
  // A young claim of a live worker changes nothing, whoever made it: the look at the ledger is saved.
  const youngMs = run.paths.layout.staleAfterSeconds * 1000;
  const { alive } = judgeWorker(signs, { staleAfterMs: staleAfterSeconds(run, signs) * 1000 });
  const hasOnlyShell = signs.process === "none" && signs.heartbeatAge === null;
  const isOpen = ({ claimedAt }: ClaimFile) =>
    !alive || hasOnlyShell || run.machine.clock.now() - claimedAt >= youngMs;
  const hand = new Set(madeByHand(run, worker, claims.filter(isOpen)));
  if (hand.size === 0) return [{ claims, signs, byHand: false }];
  const own = claims.filter((claim) => !hand.has(claim));
  return [
    { claims: own, signs: vitalSigns(run, worker, own), byHand: false },
    { claims: [...hand], signs: shellSigns(run, worker, [...hand]), byHand: true },
  ];
}

export function isByHand(run: FsRun, worker: string, id: string): boolean {
  if (readWorkerFile(run, worker) === null) return true;
  const claim = claimsOf(run, worker).find((one) => one.id === id);
  return claim !== undefined && madeByHand(run, worker, [claim]).length > 0;
}

/** Found once per claim; only for one whose line is surely written by now. */
const found = new WeakMap<FsRun, Map<string, boolean>>();
const WRITTEN_AFTER_MS = 2_000;
const MAX_FOUND = 10_000;

function madeByHand(run: FsRun, worker: string, claims: readonly ClaimFile[]): ClaimFile[] {
  const known = found.get(run) ?? new Map<string, boolean>();
  found.set(run, known);
  const keyOf = ({ id, token }: ClaimFile) => `${token} ${worker}.${id}`;
  const open = claims.filter((claim) => !known.has(keyOf(claim)) && !isNoted(run, worker, claim));
  for (const claim of open) {
    const isOurs = isRecorded(run, worker, claim);
    if (known.size >= MAX_FOUND) known.clear();
    known.set(keyOf(claim), !isOurs);
  }
  const hand = claims.filter((claim) => known.get(keyOf(claim)) === true);
  for (const claim of open) {
    if (Math.abs(Date.now() - claim.claimedAt) < WRITTEN_AFTER_MS) known.delete(keyOf(claim));
  }
  return hand;
}

/** A handler runs for it, or this process holds it. */
function isNoted(run: FsRun, worker: string, { id }: ClaimFile): boolean {
  if (run.memo.claims.get(id)?.worker === worker) return true;
  const note = readNote(run, id);
  return note !== null && note.worker === worker && isClaimed(run, id, note);
}

/**
 * The ledger has this claim; or, because its file may have been touched since, a claim by this name
 * as the last one of the task, without an end.
 */
function isRecorded(run: FsRun, worker: string, { id, token }: ClaimFile): boolean {
  const isClaim = (line: { event: string; token?: string }) =>
    line.event === "claimed" && line.token === token;
  if (linesSinceClaims(run, [{ id, token }]).get(id)?.some(isClaim)) return true;
  const lines = linesSinceClaims(run, [{ id, token: "0" }]).get(id) ?? [];
  const last = lines.findLast((line) => line.event === "claimed");
  if (last?.worker !== worker) return false;
  const ends = lines.filter((line) => line.token === last.token);
  const count = (event: string) => ends.filter((line) => line.event === event).length;
  return count("ended") <= count("void");
}
