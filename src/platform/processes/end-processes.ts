import { setTimeout as delay } from "node:timers/promises";
import { machineErrorOf } from "../../base/errno.ts";
import { growingPause } from "../../base/growing-pause.ts";
import { hasProcFs, type Process, readProcess } from "./proc-fs.ts";

/**
 * Ends a tree of processes; `look` defines the tree. It looks again each time, because a tree grows
 * while it is being ended. Each process gets SIGTERM once (and SIGCONT if it is stopped), then
 * SIGKILL. A pid that may belong to another process by now is never signalled; `look` must leave out
 * this process and others that must survive.
 */
export interface EndedTree {
  /** Throws EXHAUSTED while it cannot look. */
  look(): Seen;
  /** Rejects then, instead of waiting until it can look. */
  rejectsBlind?: boolean;
  /** Killed before the others are asked to end. */
  isFirst?(one: Process): boolean;
  /** Sends SIGTERM to a whole group in one call, if no member got it before. */
  asksWholeGroups?: boolean;
  /** The tree is gone after this many empty looks in a row; default 1. */
  emptyLooks?: number;
  onSignal?(one: Process, signal: "SIGTERM" | "SIGKILL"): void;
}

export interface Seen {
  /** Living processes; no threads, and no zombies, which nothing can end but their parent. */
  members: readonly Process[];
  /** Groups that have only members in them, and not us. */
  wholeGroups: readonly number[];
  /** Something was becoming another program while we looked. */
  isUnsure: boolean;
}

const PAUSE_MS = { first: 5, longest: 100, factor: 1.5 };
const KILLED_IS_GONE_WITHIN_MS = 5_000;
/** A program takes a moment to start, and is not recognised meanwhile; this is far more. */
const STARTED_WITHIN_MS = 1_000;
/** Of a fork bomb; then it is given the next pause. */
const MOST_ROUNDS = 50;

/** Asks, kills after that time, and returns what is still there 5 s later: mostly nothing. */
export async function endProcesses(tree: EndedTree, killAfterMs: number): Promise<Process[]> {
  const asked = new Set<string>();
  const sureAt = performance.now() + STARTED_WITHIN_MS;
  const killAt = performance.now() + killAfterMs;
  let giveUpAt = Number.POSITIVE_INFINITY; // counted from the first kill: we may have been suspended
  let emptyLooks = 0;
  for (let looks = 1; ; looks++) {
    const now = performance.now();
    const seen = ifPossible(tree, () => (now < killAt ? ask(tree, asked) : kill(tree)));
    if (seen !== null) {
      if (now >= killAt) giveUpAt = Math.min(giveUpAt, now + KILLED_IS_GONE_WITHIN_MS);
      emptyLooks = isOver(seen, now > sureAt) ? emptyLooks + 1 : 0;
      if (emptyLooks >= (tree.emptyLooks ?? 1)) return [];
      if (now > giveUpAt) return [...seen.members];
    }
    const pause = growingPause(looks, PAUSE_MS);
    await delay(now < killAt ? Math.min(pause, killAt - now) : pause);
  }
}

function isOver({ members, isUnsure }: Seen, isSure: boolean): boolean {
  return members.length === 0 && (!isUnsure || isSure);
}

function ifPossible({ rejectsBlind }: EndedTree, look: () => Seen): Seen | null {
  try {
    return look();
  } catch (error) {
    if (rejectsBlind || machineErrorOf(error) !== "EXHAUSTED") throw error;
    return null;
  }
}

/** SIGTERM, once for each: a second one means "at once" to many programs. */
function ask(tree: EndedTree, asked: Set<string>): Seen {
  const seen = tree.look();
  const isNew = (one: Process) => !asked.has(nameOf(one));
  const note = (one: Process, signal: "SIGTERM" | "SIGKILL") => {
    asked.add(nameOf(one));
    tree.onSignal?.(one, signal);
  };
  for (const one of seen.members.filter(isNew)) {
    if (tree.isFirst?.(one) && send(one, "SIGKILL")) note(one, "SIGKILL");
  }
  for (const group of tree.asksWholeGroups ? seen.wholeGroups : []) {
    const members = seen.members.filter((one) => one.group === group);
    // Newcomers to a group that has been asked already are asked one by one.
    if (!members.every(isNew) || !sendToGroup(group, members, "SIGTERM")) continue;
    sendToGroup(group, members, "SIGCONT"); // one that is stopped could not die of it
    // One that left the group (setsid) after the look did not get it, and is asked by itself.
    for (const one of members.filter((member) => !hasLeft(member, group))) note(one, "SIGTERM");
  }
  for (const one of seen.members.filter(isNew)) {
    if (!send(one, "SIGTERM")) continue;
    note(one, "SIGTERM");
    send(one, "SIGCONT");
  }
  return seen;
}

/** SIGKILL, again while the next look shows new processes: a fork may be quicker than any poll. */
function kill(tree: EndedTree): Seen {
  const struck = new Set<string>();
  for (let round = 0; ; round++) {
    const seen = tree.look();
    const fresh = seen.members.filter((one) => !struck.has(nameOf(one)));
    if (fresh.length === 0 || round === MOST_ROUNDS) return seen;
    const living = fresh.filter(isStill);
    for (const one of living) tree.onSignal?.(one, "SIGKILL");
    // A whole group in one call, so that no fork slips through.
    for (const group of seen.wholeGroups) {
      const members = living.filter((one) => one.group === group);
      if (members.length > 0) sendToGroup(group, members, "SIGKILL");
    }
    for (const one of fresh) {
      send(one, "SIGKILL");
      struck.add(nameOf(one));
    }
  }
}

/** One living member proves that the number is still that group's. */
function sendToGroup(group: number, members: readonly Process[], name: NodeJS.Signals): boolean {
  return group > 1 && members.some(isStill) && signal(-group, name);
}

/** Only if it is still the same process. */
function send(to: Process, name: NodeJS.Signals): boolean {
  return isStill(to) && signal(to.pid, name);
}

function isStill(one: Process): boolean {
  if (!hasProcFs()) return true; // then `look` could not tell either
  const found = readProcess(one.pid);
  return typeof found !== "string" && found.started === one.started && !found.isDead;
}

function hasLeft({ pid, started }: Process, group: number): boolean {
  const found = readProcess(pid);
  return typeof found !== "string" && found.started === started && found.group !== group;
}

/** False: gone, or not ours to signal; then the next look still shows it. */
export function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

/** Distinguishes a process from a later one with the same pid. */
export function nameOf({ pid, started }: { pid: number; started: number | string }): string {
  return `${pid} ${started}`;
}

const never = new Int32Array(new SharedArrayBuffer(4));

export function block(ms: number): void {
  Atomics.wait(never, 0, 0, ms);
}
