import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { SeenProcess } from "../../src/warden/dance.ts";
import { type Question, questionOf } from "../../src/warden/question.ts";
import type { Ended, Suspect } from "../../src/warden/suspects/suspect.ts";
import type { Warrant } from "../../src/warden/warrant.ts";
import { until } from "./deadline.ts";

/** A tmux server of its own, with nobody's settings; it is ended with the test. */
export class TmuxServer {
  readonly folder: string;
  readonly socket: string;

  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), "viv-tmux-"));
    this.socket = join(this.folder, "s");
    const folder = this.folder;
    onTestFinished(() => {
      this.#tell(["kill-server"]);
      rmSync(folder, { recursive: true, force: true });
    });
  }

  #tell(args: readonly string[]): { status: number | null; stdout: string; stderr: string } {
    const { TMUX: _, TMUX_PANE: __, ...env } = process.env;
    return spawnSync("tmux", ["-u", "-f", "/dev/null", "-S", this.socket, ...args], {
      env,
      cwd: this.folder,
      encoding: "utf8",
      timeout: 20_000,
    });
  }

  /** What it printed, without the last line end. */
  run(...args: string[]): string {
    const { status, stdout, stderr } = this.#tell(args);
    if (status !== 0) throw new Error(`tmux ${args.join(" ")}: ${stderr}`);
    return stdout.replace(/\n$/, "");
  }

  /** A detached session that runs this (an argv, no shell); returns its id. */
  session(name: string, ...argv: string[]): string {
    const size = ["-x", "100", "-y", "30"];
    return this.run("new-session", "-d", "-P", "-F", "#{session_id}", "-s", name, ...size, ...argv);
  }

  get pid(): number {
    return Number(this.run("display-message", "-p", "#{pid}"));
  }

  show(target: string, format: string): string {
    return this.run("display-message", "-p", "-t", target, format);
  }

  screen(target: string): string {
    return this.run("capture-pane", "-p", "-J", "-S", "-1000", "-t", target);
  }

  async shows(target: string, text: string): Promise<void> {
    await until(`${target} shows ${text}`, () => this.screen(target).includes(text));
  }

  has(session: string): boolean {
    return this.#tell(["has-session", "-t", session]).status === 0;
  }
}

let warrants = 0;

export function warrantFor(given: Partial<Warrant>): Warrant {
  return {
    id: `w${process.pid}-${++warrants}`,
    target: "a",
    reason: "no_progress",
    requester: "a test",
    filed_at: new Date().toISOString(),
    kind: "tmux",
    bound: null,
    watch: [],
    shell: false,
    socket: null,
    home: null,
    ...given,
  };
}

let nonces = 0;

export function newQuestion(given: { nonce?: string; reason?: string } = {}): Question {
  const { nonce = `n${process.pid}x${++nonces}`, reason = "no_progress" } = given;
  const warrant = { target: "a", reason, requester: "a test" };
  return questionOf({ warrant }, { number: 1, nonce, timeout_ms: 60_000 }, 3);
}

/** As after a question that was put to what is there now. */
export async function endNow(
  suspect: Suspect,
  known: readonly SeenProcess[],
  killAfterMs: number,
): Promise<Ended> {
  const asked = await suspect.programs?.();
  return suspect.end(known, { killAfterMs, asked, isResumed: false });
}

export function isAlive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return !["Z", "X"].includes(stat.charAt(stat.lastIndexOf(")") + 2));
  } catch {
    return false;
  }
}

export function textIn(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // not yet
  }
}

/** The numbers in a file, one in each line, as soon as there are so many. */
export async function pidsIn(path: string, count: number): Promise<number[]> {
  const read = () => textIn(path).split("\n").filter(Boolean).map(Number);
  await until(`${count} numbers in ${path}`, () => read().length >= count);
  return read();
}
