import { block, endProcesses, nameOf, type Seen, signal } from "./end-processes.ts";
import { limitMark } from "./limit-mark.ts";
import {
  blind,
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
 * while it is being ended. A pid that may belong to another process by now is never signalled.
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
  return pidsOf(seenIn(ref, new KnownMembers()).members);
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
  /** From the leader's parent, which has just reaped it: its age at most. */
  reapedAtAgeMs?: number;
  /** Rejects while processes cannot be seen (no free descriptor), instead of waiting for it. */
  rejectsBlind?: boolean;
  /** Leaders of other trees: they need not be looked at. */
  others?: ReadonlySet<number>;
}

/** Asks, then kills. Returns what is still there: nothing, unless it could not be killed. */
export async function endTree(ref: TreeRef, options: EndOptions): Promise<number[]> {
  const known = new KnownMembers(reapedAt(ref, options.reapedAtAgeMs), options.others);
  const { rejectsBlind } = options;
  const tree = { look: () => seenIn(ref, known), rejectsBlind, asksWholeGroups: true };
  return pidsOf(await endProcesses(tree, options.killAfterMs));
}

/** Kills at once, for callers that hold a lock meanwhile. Returns what is still there. */
export function killTree(ref: TreeRef): Promise<number[]> {
  return endTree(ref, { killAfterMs: 0, rejectsBlind: true });
}

function seenIn(ref: TreeRef, known: KnownMembers): Seen {
  const { group, strays, mayBeSignalledAsOne, isUnsure } = see(ref, known);
  const isWhole = mayBeSignalledAsOne && group.length > 0;
  return { members: [...group, ...strays], wholeGroups: isWhole ? [ref.pid] : [], isUnsure };
}

interface TreeView {
  group: Process[];
  strays: Process[];
  /** Not when we are in the group ourselves. */
  mayBeSignalledAsOne: boolean;
  /** Something was becoming another program while we looked. */
  isUnsure: boolean;
}

const pidsOf = (members: readonly Process[]) => members.map(({ pid }) => pid);

/** Looks again while it is not sure; mostly that is over in a fraction of a millisecond. */
function see(ref: TreeRef, known: KnownMembers): TreeView {
  let view = look(ref, known);
  for (let pause = 0; view.isUnsure && pause < 2; pause = Math.max(0.1, pause * 2)) {
    if (pause > 0) block(pause);
    view = look(ref, known);
  }
  return view;
}

function look(ref: TreeRef, known: KnownMembers): TreeView {
  const view: TreeView = { group: [], strays: [], mayBeSignalledAsOne: true, isUnsure: false };
  const born = Number(ref.started);
  if (!hasProcFs()) return lookWithoutProcFs(ref, view);
  const limit = ref.claim === "" ? "" : limitMark(ref.claim);
  const isMarked = (found: Process) => {
    if (limit !== "" && hasMark(found, limit)) return true;
    const answer = ref.claim === "" ? "no" : carries(found, `VIV_CLAIM=${ref.claim}`);
    if (answer === "blind") throw blind();
    if (answer === "unsure") view.isUnsure = true;
    return answer === "yes";
  };
  let leader: "gone" | "ours" | "foreign" = "gone";
  const others: Process[] = [];
  for (const pid of pidsSince(ref.pid, born)) {
    if (known.others?.has(pid)) continue;
    const found = lookAt(pid);
    if (found === "blind") throw blind();
    // Without the last pid, a process that vanished may have left a child that is not listed.
    if (found === "gone" && !tellsLastPid()) view.isUnsure = true;
    if (typeof found === "string" || found.started < born) continue; // no child is older
    if (pid === ref.pid) leader = found.started === born ? "ours" : "foreign"; // even if dead
    const isInGroup = found.group === ref.pid && ref.pid > 1;
    if (pid === process.pid) view.mayBeSignalledAsOne = !isInGroup;
    else if (found.isDead || found.isThread) continue;
    else if (isInGroup) view.group.push(found);
    else if (known.has(found) || isMarked(found)) view.strays.push(found);
    else others.push(found);
  }
  const isProof = (member: Process) =>
    known.has(member) || known.isOlderThanEnd(member) || isMarked(member);
  if (leader === "foreign" || (leader === "gone" && !view.group.some(isProof))) {
    view.strays.push(...view.group.filter(isMarked));
    view.group = [];
  }
  view.strays.push(...descendants([...view.group, ...view.strays], others));
  known.remember(view);
  return view;
}

/** Not one that runs as another user now (sudo): it is not ours to end. */
function hasMark({ pid }: Process, limit: string): boolean {
  const answer = hasLimit(pid, limit);
  if (answer === "blind") throw blind();
  return answer && signal(pid, 0);
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

function lookWithoutProcFs(ref: TreeRef, view: TreeView): TreeView {
  view.mayBeSignalledAsOne = process.env.VIV_CLAIM !== ref.claim; // else we would end ourselves
  if (ref.pid > 1 && signal(-ref.pid, 0)) {
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
    view.group.push({ pid, group: pid, session: pid, ...known });
  }
  return view;
}

/**
 * Kept from one look to the next. A process that was in the tree once stays in it: also while it
 * dies and can no longer be inspected, and after it cleaned its environment.
 *
 * When the leader is gone, is the group of that number still its group? It keeps the number as long
 * as it has a member. So one member that is known to be ours proves it for all.
 */
class KnownMembers {
  readonly others: ReadonlySet<number> | undefined;
  readonly #reapedAt: number;
  readonly #names = new Set<string>();

  constructor(reapedAt = -1, others?: ReadonlySet<number>) {
    this.#reapedAt = reapedAt;
    this.others = others;
  }

  has(found: Process): boolean {
    return this.#names.size > 0 && this.#names.has(nameOf(found));
  }

  /** Then its number can only be from the leader we knew. */
  isOlderThanEnd(member: Process): boolean {
    return member.session === member.group && member.started <= this.#reapedAt;
  }

  remember(view: TreeView): void {
    for (const each of view.group) this.#names.add(nameOf(each));
    for (const each of view.strays) this.#names.add(nameOf(each));
  }
}

function reapedAt(ref: TreeRef, ageMs: number | undefined): number | undefined {
  if (ageMs === undefined) return undefined;
  // Starts are cut off to whole ticks, so the true one may lie one tick later.
  return Number(ref.started) + 1 + (ageMs / 1000) * TICKS_PER_SECOND;
}
