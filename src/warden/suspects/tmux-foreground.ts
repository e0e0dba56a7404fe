import { execFile } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";
import { troubleOf } from "../../base/errno.ts";
import { blind, pidsSince, readProcess } from "../../platform/processes/proc-fs.ts";
import { type Agent, agentNamed } from "./agent-screen.ts";
import type { ForegroundProgram } from "./may-type.ts";

export interface RunningProgram extends ForegroundProgram {
  pid: number;
}

/** The programs in the foreground of a pane's terminal: those that its keys go to. */
export function foregroundOf(pane: { pid: number; tty: string }): RunningProgram[] {
  const group = foregroundGroup(pane.pid);
  if (group <= 0) return [];
  const programs: RunningProgram[] = [];
  for (const pid of pidsSince(1, 0)) {
    const found = readProcess(pid);
    if (typeof found === "string" || found.isThread || found.isDead) continue;
    const program = found.group === group ? programOf(pid, pane.tty) : null;
    if (program !== null) programs.push(program);
  }
  return programs;
}

/** The known agent among these, if it reads the terminal and nothing that takes commands does. */
export function agentIn(foreground: readonly ForegroundProgram[]): Agent | null {
  const found = foreground
    .filter(({ hasTerminal }) => hasTerminal)
    .map(({ argv }) => agentNamed(argv))
    .filter((name) => name !== null);
  return found[0] ?? null;
}

/**
 * Programs that serve all sessions of their kind, whichever of them has started them: codex works in
 * such a daemon, and a tmux server has sessions that no warrant names. Ending it would end the others. So
 * this throws when a process cannot be looked at.
 */
export function sharedDaemons(): number[] {
  return [...pidsSince(1, 0)].filter((pid) => {
    if (/^(?:tmux: server|SCREEN|screen|zellij)$/.test(surely(`/proc/${pid}/comm`).trim())) {
      return isDaemon(pid);
    }
    const argv = surely(`/proc/${pid}/cmdline`).split("\0");
    const isCodex = /(?:^|\/)codex[^/]*$/.test(argv[0] ?? "") || agentNamed(argv) === "codex";
    return isCodex && argv.slice(1).some((word) => /^(?:app-server|pid-update-loop)$/.test(word));
  });
}

/** It has no terminal of its own: a client has the one that it shows its session on. */
function isDaemon(pid: number): boolean {
  return ttyOf(pid) === 0;
}

/** Field 7 of /proc/<pid>/stat: the device of its terminal; 0 without one, or when it is gone. */
function ttyOf(pid: number): number {
  return Number(statOf(pid)[4] ?? 0);
}

/** Field 8 of /proc/<pid>/stat. */
export function foregroundGroup(pid: number): number {
  return Number(statOf(pid)[5] ?? -1); // gone: then it cannot be told
}

/** The fields after its name, from the third on; none when it is gone. */
export function statOf(pid: number): string[] {
  const stat = textOf(`/proc/${pid}/stat`, "latin1");
  return stat === "" ? [] : stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/** As it was started; one empty word when it is gone. */
export function argvOf(pid: number): string[] {
  return textOf(`/proc/${pid}/cmdline`).replace(/\0$/, "").split("\0");
}

function programOf(pid: number, tty: string): RunningProgram | null {
  const argv = argvOf(pid);
  const comm = textOf(`/proc/${pid}/comm`).trim();
  return comm === "" ? null : { pid, argv, comm, hasTerminal: reads(pid, tty) };
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

/** "" when it is gone, or another user's. */
export function textOf(path: string, encoding: "utf8" | "latin1" = "utf8"): string {
  try {
    return readFileSync(path, encoding);
  } catch {
    return "";
  }
}

/** The same; throws when we cannot look: that says nothing of it. */
function surely(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (troubleOf(error) === "EXHAUSTED") throw blind();
    return "";
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
