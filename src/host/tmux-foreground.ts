import { execFile } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";
import { type Agent, agentNamed } from "./agent-screen.ts";
import type { ForegroundProgram } from "./may-type.ts";
import { pidsSince, readProcess } from "./proc-fs.ts";

/** The programs in the foreground of a pane's terminal: those that its keys go to. */
export function foregroundOf(pane: { pid: number; tty: string }): ForegroundProgram[] {
  const group = foregroundGroup(pane.pid);
  if (group <= 0) return [];
  const programs: ForegroundProgram[] = [];
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
 * such a daemon. Ending it would break the others.
 */
export function sharedDaemons(): number[] {
  return [...pidsSince(1, 0)].filter((pid) => {
    const argv = textOf(`/proc/${pid}/cmdline`).split("\0");
    const isCodex = /(?:^|\/)codex[^/]*$/.test(argv[0] ?? "") || agentNamed(argv) === "codex";
    return isCodex && argv.slice(1).some((word) => /^(?:app-server|pid-update-loop)$/.test(word));
  });
}

/** Field 8 of /proc/<pid>/stat. */
export function foregroundGroup(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[5]);
  } catch {
    return -1; // gone: then it cannot be told
  }
}

function programOf(pid: number, tty: string): ForegroundProgram | null {
  const argv = textOf(`/proc/${pid}/cmdline`).replace(/\0$/, "").split("\0");
  const comm = textOf(`/proc/${pid}/comm`).trim();
  return comm === "" ? null : { argv, comm, hasTerminal: reads(pid, tty) };
}

function reads(pid: number, tty: string): boolean {
  try {
    const input = readlinkSync(`/proc/${pid}/fd/0`);
    return input === tty || input === "/dev/tty";
  } catch (error) {
    // Somebody else's cannot be looked at: it may. One without any input does not.
    return (error as NodeJS.ErrnoException).code !== "ENOENT";
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // gone meanwhile
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
