import { spawnSync } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";
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

/** Field 8 of /proc/<pid>/stat. */
function foregroundGroup(pid: number): number {
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

/** A terminal that takes whole lines and does not show them: somebody is asked for a password. */
export function waitsForSecret(tty: string): boolean {
  const { status, stdout } = spawnSync("stty", ["-F", tty, "-a"], { encoding: "utf8" });
  if (status !== 0) return false; // it cannot be told: the program in the foreground decides
  return /(^|\s)icanon\b/.test(stdout) && /(^|\s)-echo\b/.test(stdout);
}
