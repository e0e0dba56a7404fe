import { readFileSync } from "node:fs";
import { troubleOf } from "../../base/errno.ts";
import { endProcesses, nameOf, type Seen } from "../../platform/processes/end-processes.ts";
import {
  blind,
  carries,
  type Process,
  pidsSince,
  seenAs,
} from "../../platform/processes/proc-fs.ts";
import type { ProcessEnd, SeenProcess } from "../dance.ts";

/**
 * The tree of a suspect, which nobody of us has started: its roots, their descendants, the process
 * groups and sessions that those lead, whoever carries a mark of it in the environment, and whoever
 * was seen to belong to it before. It is looked at anew each time, because a tree grows while it is
 * being ended. A number that was given to somebody else meanwhile is never signalled.
 */

/** Where a target's tree begins, and how those can be known that have run away from it. */
export interface TreeOf {
  roots: readonly { pid: number; started: string }[];
  /** Entries of an environment; whoever carries all of one of these sets belongs to the tree. */
  marks: readonly (readonly string[])[];
  /** Killed before the others are asked to end: it would take that for their own doing. */
  first?: readonly { pid: number; started: string }[];
  /** Whatever they carry or have started: not of the tree (the server that holds the panes). */
  spare?: readonly number[];
  /** Nor these, and all that they have started: they serve others, too. */
  shared?: readonly number[];
}

export interface TreeEnd {
  exit: ProcessEnd[];
  survivors: number[];
}

/** Us and our ancestors among them: see `whyNotOurs`. */
export function seeTree(of: TreeOf, known: readonly SeenProcess[]): SeenProcess[] {
  return look(of, known).members.map(describe);
}

/** Why this tree must not be ended: it has us, or an ancestor of ours, in it. */
export function whyNotOurs(tree: readonly SeenProcess[]): string | null {
  const line = ourLine();
  const ours = tree.find(({ pid }) => line.includes(pid));
  if (ours === undefined) return null;
  if (ours.pid === process.pid) return "the warden itself belongs to it";
  return `the warden was started by it (process ${ours.pid}: ${ours.command})`;
}

/**
 * `why`, asked before the first signal. When no process can be looked at, that is a reason itself: an error
 * would be taken for the end of a warden that had signalled already.
 */
export function whyNotNow(why: () => string | null): string | null {
  try {
    return why();
  } catch (error) {
    if (troubleOf(error) !== "EXHAUSTED") throw error;
    return `${(error as Error).message}; nothing was ended`;
  }
}

/** Asks (SIGTERM), kills, and looks until nobody is left, or it gives up and names who is. */
export async function endTargetTree(
  of: () => TreeOf,
  known: readonly SeenProcess[],
  options: { killAfterMs: number; now?: () => number },
): Promise<TreeEnd> {
  const record = new EndRecord(of, known, options.now ?? Date.now);
  const left = await endProcesses(
    {
      look: () => record.look(),
      isFirst: (one) => record.isFirst(one),
      emptyLooks: 2, // somebody was perhaps just becoming another program
      onSignal: (one, signal) => record.note(one, signal),
    },
    options.killAfterMs,
  );
  return { exit: record.ends, survivors: left.map(({ pid }) => pid) };
}

/** Which processes were seen, and what was done to each. */
class EndRecord {
  readonly #of: () => TreeOf;
  readonly #now: () => number;
  readonly #ends = new Map<string, ProcessEnd>();
  #first: ReadonlySet<string> = new Set();

  constructor(of: () => TreeOf, known: readonly SeenProcess[], now: () => number) {
    this.#of = of;
    this.#now = now;
    for (const each of known) this.#meet(each);
  }

  get ends(): ProcessEnd[] {
    return [...this.#ends.values()];
  }

  note(one: Process, signal: ProcessEnd["signal"]): void {
    const end = this.#ends.get(nameOf(one));
    if (end !== undefined) end.signal = signal;
  }

  isFirst(one: Process): boolean {
    return this.#first.has(nameOf(one));
  }

  look(): Seen {
    const of = this.#of();
    this.#first = new Set((of.first ?? []).map(nameOf));
    const all = look(of, this.ends);
    const ours = ourLine(); // callers refuse such trees; but one may still grow around us
    const members = all.members.filter(({ pid }) => !ours.includes(pid));
    const wholeGroups = all.wholeGroups.filter((group) =>
      all.members.every((each) => each.group !== group || !ours.includes(each.pid)),
    );
    for (const each of members) if (!this.#ends.has(nameOf(each))) this.#meet(describe(each));
    const living = new Set(members.map(nameOf));
    const at = new Date(this.#now()).toISOString();
    for (const [name, end] of this.#ends) if (!living.has(name)) end.gone_at ??= at;
    return { members, wholeGroups, isUnsure: all.isUnsure };
  }

  #meet(seen: SeenProcess): void {
    const { pid, started, parent, command } = seen;
    const end: ProcessEnd = { pid, started, parent, command, signal: "none", gone_at: null };
    this.#ends.set(`${pid} ${started}`, end);
  }
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
  const names = new Set(known.map(({ pid, started }) => `${pid} ${started}`));
  const roots = new Set(of.roots.map(({ pid, started }) => `${pid} ${started}`));
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
    // Its leader may have ended; it had that number, and nobody gets it while this one is there.
    for (const id of [found.group, found.session]) {
      if (id === found.pid || heads.has(id)) led.add(id);
    }
  };
  const all = [...pidsSince(1, 0)].flatMap((pid) => seenAs(pid) ?? []);
  const shared = below(of.shared ?? [], all);
  for (const found of all) {
    const { pid } = found;
    if (found.isThread || pid <= 1) continue;
    if (roots.has(nameOf(found))) led.add(pid); // also when it is dead, but nobody has taken its exit
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

function commandOf(pid: number): string {
  let text = "";
  try {
    text = readFileSync(`/proc/${pid}/cmdline`, "utf8").replace(/\0+$/, "");
    if (text === "") text = `[${readFileSync(`/proc/${pid}/comm`, "utf8").trim()}]`;
  } catch {
    // it ended just now: then nobody can tell any more
  }
  const clean = text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ").trim();
  return clean.length > LONGEST_COMMAND ? `${clean.slice(0, LONGEST_COMMAND - 1)}…` : clean;
}
