import { machineErrorOf } from "../../base/errno.ts";
import { endProcesses, nameOf, type Seen } from "../../platform/processes/end-processes.ts";
import {
  blind,
  carries,
  type Process,
  pidsSince,
  seenAs,
} from "../../platform/processes/proc-fs.ts";
import type { ProcessEnd, SeenProcess } from "../dance.ts";
import { textOf } from "./foreground-programs.ts";
import type { Ended } from "./suspect.ts";

/**
 * The tree of a suspect, which the warden has not started: its roots, their descendants, the process
 * groups and sessions that those lead, processes with its mark in their environment, and processes
 * that were seen to belong to it before. It is looked at anew each time, because a tree grows while it
 * is being ended. A pid that was reused meanwhile is never signalled.
 */

/** The roots of a target's tree, and the marks of processes that have left it. */
export interface TreeOf {
  roots: readonly { pid: number; started: string }[];
  /** Sets of environment entries; a process that carries all of one set belongs to the tree. */
  marks: readonly (readonly string[])[];
  /** Killed before the others get SIGTERM: it would take their end for their own doing. */
  first?: readonly { pid: number; started: string }[];
  /** Not of the tree, whatever they carry (the server that holds the panes). */
  spare?: readonly number[];
  /** Nor these, and all that they have started: they serve others, too. */
  shared?: readonly number[];
}

/** May contain us and our ancestors: see `whyNotOurs`. */
export function seeTree(of: TreeOf, known: readonly SeenProcess[]): SeenProcess[] {
  return look(of, known).members.map(describe);
}

/** Why this tree must not be ended: it contains us, or an ancestor of ours. */
export function whyNotOurs(tree: readonly SeenProcess[]): string | null {
  const line = ourLine();
  const ours = tree.find(({ pid }) => line.includes(pid));
  if (ours === undefined) return null;
  if (ours.pid === process.pid) return "the warden itself belongs to it";
  return `the warden was started by it (process ${ours.pid}: ${ours.command})`;
}

/**
 * `why`, checked before the first signal. When no process can be looked at, that is a reason itself: an
 * error would be taken for the end of a warden that had signalled already.
 */
export function whyNotNow(why: () => string | null): string | null {
  try {
    return why();
  } catch (error) {
    if (machineErrorOf(error) !== "EXHAUSTED") throw error;
    return `${(error as Error).message}; nothing was ended`;
  }
}

/** SIGTERM, then SIGKILL, until no process is left or it gives up and names the survivors. */
export async function endTargetTree(
  of: () => TreeOf,
  known: readonly SeenProcess[],
  { killAfterMs }: { killAfterMs: number },
): Promise<Ended> {
  const ends = new Map<string, ProcessEnd>();
  let first: ReadonlySet<string> = new Set();
  const meet = ({ pid, started, parent, command }: SeenProcess) => {
    const end: ProcessEnd = { pid, started, parent, command, signal: "none", gone_at: null };
    ends.set(nameOf(end), end);
  };
  const lookNow = (): Seen => {
    const tree = of();
    first = new Set((tree.first ?? []).map(nameOf));
    const all = look(tree, [...ends.values()]);
    const ours = ourLine(); // callers refuse such trees; but one may still grow around us
    const members = all.members.filter(({ pid }) => !ours.includes(pid));
    const wholeGroups = all.wholeGroups.filter((group) =>
      all.members.every((each) => each.group !== group || !ours.includes(each.pid)),
    );
    for (const each of members) if (!ends.has(nameOf(each))) meet(describe(each));
    const living = new Set(members.map(nameOf));
    const at = new Date().toISOString();
    for (const [name, end] of ends) if (!living.has(name)) end.gone_at ??= at;
    return { members, wholeGroups, isUnsure: all.isUnsure };
  };
  for (const each of known) meet(each);
  const left = await endProcesses(
    {
      look: lookNow,
      isFirst: (one) => first.has(nameOf(one)),
      emptyLooks: 2, // a process was perhaps just becoming another program
      onSignal: (one, signal) => {
        const end = ends.get(nameOf(one));
        if (end !== undefined) end.signal = signal;
      },
    },
    killAfterMs,
  );
  return { exit: [...ends.values()], survivors: left.map(({ pid }) => pid) };
}

const UNSURE_LOOKS = 5;

/** Members: parents before their children, as far as the roots' own lines go. */
function look(of: TreeOf, known: readonly SeenProcess[]): Seen {
  for (let looks = 1; ; looks++) {
    const seen = lookOnce(of, known);
    if (!seen.isUnsure || looks === UNSURE_LOOKS) return seen;
  }
}

function lookOnce(of: TreeOf, known: readonly SeenProcess[]): Seen {
  const names = new Set(known.map(nameOf));
  const roots = new Set(of.roots.map(nameOf));
  const heads = new Set([...of.roots, ...known].map(({ pid }) => pid));
  let isUnsure = false;
  const isMarked = (found: Process) =>
    of.marks.some((entries) =>
      entries.every((entry) => {
        const answer = carries(found, entry);
        if (answer === "blind") throw blind();
        if (answer === "unsure") isUnsure = true;
        return answer === "yes";
      }),
    );
  const members: Process[] = [];
  let others: Process[] = [];
  /** Numbers of groups and sessions that are the tree's, because a member leads them. */
  const led = new Set<number>();
  const join = (found: Process) => {
    members.push(found);
    // Its leader may have ended; its number is not given out while this member is there.
    for (const id of [found.group, found.session]) {
      if (id === found.pid || heads.has(id)) led.add(id);
    }
  };
  const all = [...pidsSince(1, 0)].flatMap((pid) => seenAs(pid) ?? []);
  const shared = below(of.shared ?? [], all);
  for (const found of all) {
    const { pid } = found;
    if (found.isThread || pid <= 1) continue;
    if (roots.has(nameOf(found))) led.add(pid); // also when it is a zombie
    if (found.isDead || of.spare?.includes(pid) || shared.has(pid)) continue;
    const belongs = roots.has(nameOf(found)) || names.has(nameOf(found)) || isMarked(found);
    if (belongs) join(found);
    else others.push(found);
  }
  for (let count = -1; count !== others.length; ) {
    count = others.length;
    const parents = new Map(members.map((each) => [each.pid, each.started]));
    const belongs = (each: Process) =>
      led.has(each.group) ||
      led.has(each.session) ||
      (parents.get(each.parent) ?? Number.POSITIVE_INFINITY) <= each.started;
    const found = others.filter(belongs);
    others = others.filter((each) => !belongs(each));
    for (const each of found) join(each);
  }
  const isShared = ({ pid, isDead }: Process) => shared.has(pid) && !isDead;
  const strangers = new Set([...others, ...all.filter(isShared)].map(({ group }) => group));
  const groups = new Set(members.map(({ group }) => group));
  const wholeGroups = [...groups].filter((group) => group > 1 && !strangers.has(group));
  return { members, wholeGroups, isUnsure };
}

/** These, and their descendants. */
function below(heads: readonly number[], all: readonly Process[]): Set<number> {
  const found = new Set(heads);
  for (let count = -1; count !== found.size && heads.length > 0; ) {
    count = found.size;
    for (const { pid, parent } of all) if (found.has(parent)) found.add(pid);
  }
  return found;
}

/** Ourselves, our parent, its parent…, but not the first process of all. */
function ourLine(): number[] {
  const line: number[] = [];
  for (let pid = process.pid; pid > 1 && !line.includes(pid); ) {
    line.push(pid);
    const found = seenAs(pid);
    if (found === null) break;
    pid = found.parent;
  }
  return line;
}

const LONGEST_COMMAND = 200;

function describe({ pid, started, parent }: Process): SeenProcess {
  return { pid, started: String(started), parent, command: commandOf(pid) };
}

/** "" when it ended just now. */
function commandOf(pid: number): string {
  const line = textOf(`/proc/${pid}/cmdline`).replace(/\0+$/, "");
  const name = line === "" ? textOf(`/proc/${pid}/comm`).trim() : "";
  const text = name === "" ? line : `[${name}]`;
  const clean = text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ").trim();
  return clean.length > LONGEST_COMMAND ? `${clean.slice(0, LONGEST_COMMAND - 1)}…` : clean;
}
