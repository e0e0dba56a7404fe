import { setTimeout as delay } from "node:timers/promises";
import { troubleOf } from "../../base/errno.ts";
import { limitMark } from "./limit-mark.ts";
import {
  carries,
  hasLimit,
  hasProcFs,
  lookAt,
  type Process,
  pidsSince,
  readProcess,
  TICKS_PER_SECOND,
  tellsLastPid,
} from "./proc-fs.ts";

/**
 * The tree of a handler: the process group it leads, and whatever has left that group (`setsid`)
 * but still carries its claim in the environment, or the mark made from it in its limits (see
 * limit-mark.ts), or is a child of one that is known. Looked at anew each time, because a tree grows
 * while it is being ended. A number that may have been given to somebody else is never signalled.
 *
 * Without /proc (macOS) only the group is seen.
 */

export interface TreeRef {
  /** Of the leader, and so of its process group and its session. */
  pid: number;
  /** The leader's start as `ProcessIdentity` has it; "?" when it is not known. */
  started: string;
  /** The value of VIV_CLAIM. */
  claim: string;
}

/** Of a handler that we have started (detached) just now: it is not reaped before we return. */
export function treeOf(pid: number, claim: string): TreeRef {
  const leader = readProcess(pid);
  return { pid, started: typeof leader === "string" ? "?" : String(leader.started), claim };
}

/** Every living process of the tree but ourselves. */
export function findTree(ref: TreeRef): number[] {
  return pidsIn(see(ref, new Tracks()));
}

/** CPU time of the tree so far, in ticks. */
export function ticksOfTree(pid: number, claim: string): number {
  return findTree(treeOf(pid, claim)).reduce((sum, member) => {
    const found = readProcess(member);
    return sum + (typeof found === "string" ? 0 : found.ticks);
  }, 0);
}

export interface EndOptions {
  /** From asking (SIGTERM) to killing. */
  killAfterMs: number;
  /** Given by the leader's parent, who has just taken its exit: how old it was, at most. */
  reapedAtAgeMs?: number;
  /** Leaders of other trees: they need not be looked at. */
  others?: ReadonlySet<number>;
}

const SHORTEST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 100;
const KILLED_IS_GONE_WITHIN_MS = 5_000;
const KILLED_NOW_IS_GONE_WITHIN_MS = 2_000;
/** A program takes a moment to start, and is not recognised meanwhile; this is far more. */
const STARTED_WITHIN_MS = 1_000;

/** Asks, then kills. Returns what is still there: nothing, unless it could not be killed. */
export async function endTree(ref: TreeRef, options: EndOptions): Promise<number[]> {
  const tracks = new Tracks(reapedAt(ref, options.reapedAtAgeMs), options.others);
  const asked = new Set<number>();
  const sureAt = performance.now() + STARTED_WITHIN_MS;
  const killAt = performance.now() + options.killAfterMs;
  const giveUpAt = killAt + KILLED_IS_GONE_WITHIN_MS;
  for (let pause = SHORTEST_PAUSE_MS; ; pause = Math.min(pause * 1.5, LONGEST_PAUSE_MS)) {
    const now = performance.now();
    const sight = ifSeen(() => (now < killAt ? see(ref, tracks) : kill(ref, tracks)));
    if (sight !== null) {
      if (isEmpty(sight) && (!sight.isUnsure || now > sureAt)) return [];
      if (now > giveUpAt) return pidsIn(sight);
      if (now < killAt) ask(ref, sight, asked);
    }
    await delay(now < killAt ? Math.min(pause, killAt - now) : pause);
  }
}

/** Null while we cannot look: what is not seen is not gone, so that is waited for. */
function ifSeen(look: () => Sight): Sight | null {
  try {
    return look();
  } catch (error) {
    if (troubleOf(error) !== "EXHAUSTED") throw error;
    return null;
  }
}

/** Kills at once, and blocks until the tree is gone: for callers that cannot wait otherwise. */
export function endTreeNow(ref: TreeRef): number[] {
  const tracks = new Tracks();
  const sureAt = performance.now() + STARTED_WITHIN_MS;
  const giveUpAt = performance.now() + KILLED_NOW_IS_GONE_WITHIN_MS;
  for (let pause = 1; ; pause = Math.min(pause * 1.5, LONGEST_PAUSE_MS)) {
    const sight = kill(ref, tracks);
    const now = performance.now();
    if (isEmpty(sight) && (!sight.isUnsure || now > sureAt)) return [];
    if (now > giveUpAt) return pidsIn(sight);
    block(pause);
  }
}

/** SIGTERM, once for each: a second one means "at once" to many programs. */
function ask(ref: TreeRef, sight: Sight, asked: Set<number>): void {
  const isNew = ({ pid }: Process) => !asked.has(pid);
  const fresh = { ...sight, group: sight.group.filter(isNew), strays: sight.strays.filter(isNew) };
  // Newcomers to a group that has been asked already are asked one by one.
  fresh.mayBeSignalledAsOne &&= fresh.group.length === sight.group.length;
  signal(ref, fresh, "SIGTERM");
  signal(ref, fresh, "SIGCONT"); // one that is stopped could not die of it
  for (const pid of pidsIn(fresh)) asked.add(pid);
}

/** SIGKILL, again while the next look shows somebody new: a fork may be quicker than any poll. */
function kill(ref: TreeRef, tracks: Tracks): Sight {
  const struck = new Set<number>();
  for (let round = 0; ; round++) {
    const sight = see(ref, tracks);
    const pids = pidsIn(sight);
    if (round === 50 || pids.every((pid) => struck.has(pid))) return sight;
    signal(ref, sight, "SIGKILL");
    for (const pid of pids) struck.add(pid);
  }
}

/** The group in one call, so that no fork slips through; strays one by one. */
function signal(ref: TreeRef, sight: Sight, name: NodeJS.Signals): void {
  const asOne = sight.mayBeSignalledAsOne && sight.group.length > 0;
  if (asOne) send(-ref.pid, name);
  for (const { pid } of asOne ? sight.strays : [...sight.group, ...sight.strays]) send(pid, name);
}

function send(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false; // gone, or not ours to signal: then the next look still shows it
  }
}

interface Sight {
  group: Process[];
  strays: Process[];
  /** Not when we are in the group ourselves. */
  mayBeSignalledAsOne: boolean;
  /** Something was becoming another program while we looked. */
  isUnsure: boolean;
}

const pidsIn = (sight: Sight) => [...sight.group, ...sight.strays].map(({ pid }) => pid);
const isEmpty = (sight: Sight) => sight.group.length + sight.strays.length === 0;

/** Looks again while it is not sure; mostly that is over in a fraction of a millisecond. */
function see(ref: TreeRef, tracks: Tracks): Sight {
  let sight = look(ref, tracks);
  for (let pause = 0; sight.isUnsure && pause < 2; pause = Math.max(0.1, pause * 2)) {
    if (pause > 0) block(pause);
    sight = look(ref, tracks);
  }
  return sight;
}

function look(ref: TreeRef, tracks: Tracks): Sight {
  const sight: Sight = { group: [], strays: [], mayBeSignalledAsOne: true, isUnsure: false };
  const born = Number(ref.started);
  if (!hasProcFs()) return lookWithoutProcFs(ref, sight);
  const limit = ref.claim === "" ? "" : limitMark(ref.claim);
  const isMarked = (found: Process) => {
    if (limit !== "" && hasMark(found, limit)) return true;
    const answer = ref.claim === "" ? "no" : carries(found, `VIV_CLAIM=${ref.claim}`);
    if (answer === "blind") throw blind();
    if (answer === "unsure") sight.isUnsure = true;
    return answer === "yes";
  };
  let leader: "gone" | "ours" | "foreign" = "gone";
  const others: Process[] = [];
  for (const pid of pidsSince(ref.pid, born)) {
    if (tracks.others?.has(pid)) continue;
    const found = lookAt(pid);
    if (found === "blind") throw blind();
    // Where the kernel does not tell, one that vanished may have left a child that we do not see.
    if (found === "gone" && !tellsLastPid()) sight.isUnsure = true;
    if (typeof found === "string" || found.started < born) continue; // no child is older
    if (pid === ref.pid) leader = found.started === born ? "ours" : "foreign"; // even if dead
    const isInGroup = found.group === ref.pid && ref.pid > 1;
    if (pid === process.pid) sight.mayBeSignalledAsOne = !isInGroup;
    else if (found.isDead || found.isThread) continue;
    else if (isInGroup) sight.group.push(found);
    else if (tracks.know(found) || isMarked(found)) sight.strays.push(found);
    else others.push(found);
  }
  const isProof = (member: Process) =>
    tracks.know(member) || tracks.isOlderThanEnd(member) || isMarked(member);
  if (leader === "foreign" || (leader === "gone" && !sight.group.some(isProof))) {
    sight.strays.push(...sight.group.filter(isMarked));
    sight.group = [];
  }
  sight.strays.push(...descendants([...sight.group, ...sight.strays], others));
  tracks.remember(sight);
  return sight;
}

/** Not one that has become somebody else's (sudo): it is not ours to end. */
function hasMark({ pid }: Process, limit: string): boolean {
  const answer = hasLimit(pid, limit);
  if (answer === "blind") throw blind();
  return answer && send(pid, 0);
}

function blind(): Error {
  const message = "processes cannot be looked at: no file descriptor is free";
  return Object.assign(new Error(message), { code: "EMFILE" });
}

/** Children that have left the group and their environment, too, as long as their parents live. */
function descendants(known: readonly Process[], others: readonly Process[]): Process[] {
  const found: Process[] = [];
  let parents = new Set(known.map(({ pid }) => pid));
  for (let rest = others; parents.size > 0 && rest.length > 0; ) {
    const children = rest.filter(({ parent }) => parents.has(parent));
    rest = rest.filter(({ parent }) => !parents.has(parent));
    parents = new Set(children.map(({ pid }) => pid));
    found.push(...children);
  }
  return found;
}

function lookWithoutProcFs(ref: TreeRef, sight: Sight): Sight {
  sight.mayBeSignalledAsOne = process.env.VIV_CLAIM !== ref.claim; // else we would end ourselves
  if (ref.pid > 1 && send(-ref.pid, 0)) {
    const { pid } = ref;
    const known = {
      isDead: false,
      isThread: false,
      parent: 0,
      started: 0,
      ticks: 0,
      hasMemory: true,
      hasEnvironment: true,
    };
    sight.group.push({ pid, group: pid, session: pid, ...known });
  }
  return sight;
}

/**
 * What is known from one look to the next. Who was of the tree once stays it: also while it is
 * dying and can no longer be asked, and when it has cleaned its environment.
 *
 * When the leader is gone, is the group of that number still its group? It keeps the number as long
 * as it has a member. So one member that is known to be ours proves it for all.
 */
class Tracks {
  readonly others: ReadonlySet<number> | undefined;
  readonly #reapedAt: number;
  readonly #names = new Set<string>();

  constructor(reapedAt = -1, others?: ReadonlySet<number>) {
    this.#reapedAt = reapedAt;
    this.others = others;
  }

  know(found: Process): boolean {
    return this.#names.size > 0 && this.#names.has(nameOf(found));
  }

  /** Then its number can only be from the leader we knew. */
  isOlderThanEnd(member: Process): boolean {
    return member.session === member.group && member.started <= this.#reapedAt;
  }

  remember(sight: Sight): void {
    for (const each of sight.group) this.#names.add(nameOf(each));
    for (const each of sight.strays) this.#names.add(nameOf(each));
  }
}

const nameOf = ({ pid, started }: Process) => `${pid} ${started}`;

function reapedAt(ref: TreeRef, ageMs: number | undefined): number | undefined {
  if (ageMs === undefined) return undefined;
  // Starts are cut off to whole ticks, so the true one may lie one tick later.
  return Number(ref.started) + 1 + (ageMs / 1000) * TICKS_PER_SECOND;
}

const nobody = new Int32Array(new SharedArrayBuffer(4));

function block(ms: number): void {
  Atomics.wait(nobody, 0, 0, ms);
}
