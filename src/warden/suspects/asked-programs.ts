import { readFileSync, readlinkSync } from "node:fs";
import { pidsSince, readProcess, seenAs } from "../../platform/processes/proc-fs.ts";
import type { AskedPane, AskedPrograms, ProgramId, SeenProcess } from "../dance.ts";
import { foregroundGroup, statOf } from "./tmux-foreground.ts";

/**
 * The programs that a question was put to: those in the foregrounds of the panes. A pane keeps its
 * number when it gets another program, and a process its own when it becomes one (exec). So before
 * the first signal all of it is compared: only what was asked may be ended, with what it has started.
 */

/** A process, as the program that it is now; null when it has ended. Throws when we cannot look. */
export function programId(pid: number): ProgramId | null {
  const found = seenAs(pid);
  if (found === null || found.isDead) return null;
  return { pid, started: String(found.started), image: imageOf(pid) };
}

/**
 * Another one after each exec, also of the same file: the kernel gives the new program other
 * addresses. A program that changes its title keeps it.
 */
function imageOf(pid: number): string {
  const fields = statOf(pid);
  // Fields 26 to 28 and 48: where its code and its stack begin, and its arguments.
  return [fileOf(pid), ...fields.slice(23, 26), fields[45]].join(" ");
}

function fileOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/exe`).replace(/ \(deleted\)$/, "");
  } catch {
    return "?"; // another user's
  }
}

/** Enough for any pipeline. */
const MOST_PROGRAMS = 100;

/** The programs in the foreground of a pane's terminal. `covers`: what it starts later was asked with it. */
export function foregroundPrograms(
  pane: { id: string; pid: number },
  is: AskedPane["is"],
  covers: (pid: number) => boolean,
): AskedPane | null {
  const root = programId(pane.pid);
  if (root === null) return null;
  const group = foregroundGroup(pane.pid);
  const programs: ProgramId[] = [];
  for (const pid of group > 0 ? pidsSince(1, 0) : []) {
    const found = seenAs(pid);
    if (found === null || found.isThread || found.group !== group) continue;
    const program = programId(pid);
    if (program === null || programs.length === MOST_PROGRAMS) continue;
    programs.push(covers(pid) ? { ...program, covers: true } : program);
  }
  return { pane: pane.id, is, root, programs };
}

/** Ticks since boot, as processes' starts are counted. */
export function ticksNow(): number {
  const [uptime = "0"] = readFileSync("/proc/uptime", "latin1").split(" ");
  return Math.floor(Number(uptime) * 100);
}

/**
 * Why not all of this was asked: in words, or null. `panes` are those that are there now, `tree` all
 * that would be ended.
 */
export function whyNotAllAsked(
  asked: AskedPrograms,
  panes: readonly { id: string; pid: number }[],
  tree: readonly SeenProcess[],
): string | null {
  const there = stillThere(asked);
  for (const pane of panes) {
    const then = asked.panes.find((one) => one.pane === pane.id);
    const why = then === undefined ? "was opened after it was asked" : whyOther(then, there);
    if (why !== null) return `pane ${pane.id} ${why}`;
  }
  const [young] = startedSince(asked, tree);
  if (young === undefined) return null;
  return `process ${young.pid} (${young.command}) was started after it was asked, and not by what was asked`;
}

/** Whether it was in a foreground then, or was started by what was asked. */
export function wasAsked(asked: AskedPrograms, pid: number): boolean {
  return isAsked(pid, stillThere(asked));
}

/** Those that are still the same. */
function stillThere(asked: AskedPrograms): StillThere {
  const there = asked.panes
    .flatMap(({ programs }) => programs)
    .filter((one) => isSame(one, programId(one.pid)));
  const covering = there.filter(({ covers }) => covers === true);
  return { all: new Set(there.map(key)), covering: new Set(covering.map(key)) };
}

/** Those that were started after the question, and not by what was asked. */
export function startedSince(asked: AskedPrograms, tree: readonly SeenProcess[]): SeenProcess[] {
  const there = stillThere(asked);
  return tree.filter(
    ({ pid, started }) => Number(started) > asked.at && !isAsked(pid, there) && !isOver(pid),
  );
}

interface StillThere {
  all: ReadonlySet<string>;
  covering: ReadonlySet<string>;
}

function whyOther(then: AskedPane, there: StillThere): string | null {
  const root = programId(then.root.pid);
  if (root === null || root.started !== then.root.started) {
    return "was given another program after it was asked";
  }
  if (!isSame(then.root, root)) return "became another program after it was asked";
  const now = foregroundPrograms({ id: then.pane, pid: root.pid }, then.is, () => false);
  const other = now?.programs.find(({ pid }) => !isAsked(pid, there) && !isOver(pid));
  if (other === undefined) return null;
  return `has another program in its foreground than when it was asked (process ${other.pid})`;
}

/** It was there itself, or was started by a program that stands for what it starts. */
function isAsked(pid: number, { all, covering }: StillThere): boolean {
  for (let at = pid, steps = 0; at > 1 && steps < 1_000; steps++) {
    const found = readProcess(at);
    if (typeof found === "string") return false;
    if ((at === pid ? all : covering).has(key(found))) return true;
    at = found.parent;
  }
  return false;
}

/** It ended while it was looked at. */
const isOver = (pid: number) => programId(pid) === null;

const isSame = (one: ProgramId, other: ProgramId | null) =>
  other !== null && one.started === other.started && one.image === other.image;
const key = ({ pid, started }: { pid: number; started: string | number }) => `${pid} ${started}`;
