import { execFile } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";
import { machineErrorOf } from "../../base/errno.ts";
import { nameOf } from "../../platform/processes/end-processes.ts";
import { blind, pidsSince, readProcess, seenAs } from "../../platform/processes/proc-fs.ts";
import type { AskedPane, AskedPrograms, ProgramId, SeenProcess } from "../dance.ts";
import { type Agent, agentNamed } from "./agent-screen.ts";
import type { ForegroundProgram } from "./may-type.ts";

/**
 * The programs in the foreground of a pane: those that its keys go to, and that a question is put to.
 * A pane keeps its number when it gets another program, and a process its own when it becomes one
 * (exec). So all of it is compared before the first signal: only the asked, and what it has started,
 * may be ended.
 */

export interface RunningProgram extends ForegroundProgram {
  pid: number;
}

export function foregroundOf(pane: { pid: number; tty: string }): RunningProgram[] {
  const group = foregroundGroup(pane.pid);
  if (group <= 0) return [];
  const programs: RunningProgram[] = [];
  for (const pid of pidsSince(1, 0)) {
    const found = readProcess(pid);
    if (typeof found === "string" || found.isThread || found.isDead) continue;
    if (found.group !== group) continue;
    const argv = argvOf(pid);
    const comm = textOf(`/proc/${pid}/comm`).trim();
    if (comm !== "") programs.push({ pid, argv, comm, hasTerminal: reads(pid, pane.tty) });
  }
  return programs;
}

export function agentIn(foreground: readonly ForegroundProgram[]): Agent | null {
  const found = foreground
    .filter(({ hasTerminal }) => hasTerminal)
    .map(({ argv }) => agentNamed(argv))
    .filter((name) => name !== null);
  return found[0] ?? null;
}

/**
 * Programs that serve all sessions of their kind, whichever of them has started them: codex works in
 * such a daemon, and a tmux server has sessions that no warrant names. To end it would end the others.
 * So this throws when a process cannot be looked at.
 */
export function sharedDaemons(): number[] {
  return [...pidsSince(1, 0)].filter((pid) => {
    const comm = textOf(`/proc/${pid}/comm`, { isSure: true }).trim();
    if (/^(?:tmux: server|SCREEN|screen|zellij)$/.test(comm)) {
      // Field 7 of stat, its terminal: a daemon has none, a client has the one that it draws on.
      return Number(statOf(pid)[4] ?? 0) === 0;
    }
    const argv = textOf(`/proc/${pid}/cmdline`, { isSure: true }).split("\0");
    const isCodex = /(?:^|\/)codex[^/]*$/.test(argv[0] ?? "") || agentNamed(argv) === "codex";
    return isCodex && argv.slice(1).some((word) => /^(?:app-server|pid-update-loop)$/.test(word));
  });
}

/** Field 8 of /proc/<pid>/stat; -1 when it is gone. */
export function foregroundGroup(pid: number): number {
  return Number(statOf(pid)[5] ?? -1);
}

/** The fields after its name, from the third on; none when it is gone. */
function statOf(pid: number): string[] {
  const stat = textOf(`/proc/${pid}/stat`);
  return stat === "" ? [] : stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/** As it was started; one empty word when it is gone. */
export function argvOf(pid: number): string[] {
  return textOf(`/proc/${pid}/cmdline`).replace(/\0$/, "").split("\0");
}

function reads(pid: number, tty: string): boolean {
  try {
    const input = readlinkSync(`/proc/${pid}/fd/0`);
    return input === tty || input === "/dev/tty";
  } catch (error) {
    // Another user's process cannot be looked at: it may. One without any input does not.
    return (error as NodeJS.ErrnoException).code !== "ENOENT";
  }
}

/** "" when it is gone, or another user's. `isSure`: throws when no file can be opened at all. */
export function textOf(path: string, { isSure = false } = {}): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (isSure && machineErrorOf(error) === "EXHAUSTED") throw blind();
    return "";
  }
}

/** Null when it is gone, closed, or another user's. */
export function linkOf(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

/**
 * How a terminal is read: `lines` as they are typed and shown, `secret` without showing them (a
 * password), `keys` one by one, by a program that has a screen of its own.
 */
export function modeOf(tty: string): Promise<"lines" | "secret" | "keys" | "unknown"> {
  return new Promise((resolve) => {
    execFile("stty", ["-F", tty, "-a"], { timeout: 5_000 }, (error, stdout) => {
      if (error) return resolve("unknown");
      const has = (word: string) => new RegExp(`(^|\\s)${word}(?=\\s|;|$)`).test(stdout);
      if (!has("icanon")) return resolve("keys");
      resolve(has("echo") ? "lines" : "secret");
    });
  });
}

/** A process as the program that it is now; null when it has ended. Throws when it cannot look. */
export function programId(pid: number): ProgramId | null {
  const found = seenAs(pid);
  if (found === null || found.isDead) return null;
  // Fields 26 to 28 and 48: the kernel gives each exec, also of the same file, other addresses of code,
  // stack and arguments. A program that changes its title keeps them. "?": another user's.
  const fields = statOf(pid);
  const file = (linkOf(`/proc/${pid}/exe`) ?? "?").replace(/ \(deleted\)$/, "");
  const image = [file, ...fields.slice(23, 26), fields[45]].join(" ");
  return { pid, started: String(found.started), image };
}

const MOST_PROGRAMS = 100;

/** The identities of the programs in the foreground. `covers`: its later children were asked with it. */
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

/** Whether it was in a foreground then, or was started by an asked program. */
export function wasAsked(asked: AskedPrograms, pid: number): boolean {
  return isAsked(pid, stillThere(asked));
}

/** Processes that were started after the question, and not by an asked program. */
export function startedSince(asked: AskedPrograms, tree: readonly SeenProcess[]): SeenProcess[] {
  const there = stillThere(asked);
  return tree.filter(
    ({ pid, started }) => Number(started) > asked.at && !isAsked(pid, there) && !isOver(pid),
  );
}

/** The asked programs that are still the same. */
interface StillThere {
  all: ReadonlySet<string>;
  covering: ReadonlySet<string>;
}

function stillThere(asked: AskedPrograms): StillThere {
  const there = asked.panes
    .flatMap(({ programs }) => programs)
    .filter((one) => isSame(one, programId(one.pid)));
  const covering = there.filter(({ covers }) => covers === true);
  return { all: new Set(there.map(nameOf)), covering: new Set(covering.map(nameOf)) };
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

/** It was there itself, or was started by a program that covers its children. */
function isAsked(pid: number, { all, covering }: StillThere): boolean {
  for (let at = pid, steps = 0; at > 1 && steps < 1_000; steps++) {
    const found = readProcess(at);
    if (typeof found === "string") return false;
    if ((at === pid ? all : covering).has(nameOf(found))) return true;
    at = found.parent;
  }
  return false;
}

/** It ended while it was looked at. */
const isOver = (pid: number) => programId(pid) === null;

const isSame = (one: ProgramId, other: ProgramId | null) =>
  other !== null && one.started === other.started && one.image === other.image;
