import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { within } from "./deadline.ts";

/** VIV_DIST: another build than the one `npm test` makes. */
export const DIST = process.env.VIV_DIST ?? fileURLToPath(new URL("../../dist", import.meta.url));
const CRASH = fileURLToPath(new URL("../crash", import.meta.url));

/** A node script of test/crash/ as a process of its own; what it prints are JSON lines. */
export class Script {
  readonly child: ChildProcess;
  /** Every line it has printed so far. */
  readonly said: Record<string, unknown>[] = [];
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  #stderr = "";
  #news: (() => void)[] = [];
  #over = false;

  constructor(name: string, args: readonly (string | number)[]) {
    this.child = spawn(process.execPath, [join(CRASH, name), ...args.map(String)], {
      env: { ...process.env, VIV_DIST: DIST },
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.child.stderr?.on("data", (data) => {
      this.#stderr += data;
    });
    this.child.stdin?.on("error", () => {}); // it was killed while we wrote to it
    const lines = createInterface({ input: this.child.stdout as NodeJS.ReadableStream });
    lines.on("line", (line) => {
      this.said.push(JSON.parse(line) as Record<string, unknown>);
      this.#tell();
    });
    this.ended = new Promise((resolve, reject) => {
      this.child.on("error", reject);
      this.child.on("close", (code, signal) => {
        this.#over = true;
        this.#tell();
        resolve({ code, signal });
      });
    });
    onTestFinished(() => {
      this.child.kill("SIGKILL");
    });
  }

  get stderr(): string {
    return this.#stderr;
  }

  get isOver(): boolean {
    return this.#over;
  }

  get pid(): number {
    return this.child.pid ?? -1;
  }

  #tell(): void {
    for (const resolve of this.#news.splice(0)) resolve();
  }

  /** The first line that fits, whether it was printed already or comes later. */
  async says(
    what: string,
    fits: (line: Record<string, unknown>) => boolean,
    seconds = 60,
  ): Promise<Record<string, unknown>> {
    const look = async () => {
      for (;;) {
        const found = this.said.find(fits);
        if (found) return found;
        if (this.#over) throw new Error(`the process ended before: ${what}\n${this.#stderr}`);
        await new Promise<void>((resolve) => this.#news.push(resolve));
      }
    };
    return within(what, look(), seconds);
  }

  tell(line: unknown): void {
    this.child.stdin?.write(`${JSON.stringify(line)}\n`);
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  /** Waits for its end; a status other than 0 is an error with what it said on stderr. */
  async success(seconds = 60): Promise<void> {
    const { code, signal } = await within("the process ends", this.ended, seconds);
    if (code !== 0) throw new Error(`ended with ${code ?? signal}: ${this.#stderr}`);
  }
}

/**
 * Kills both, first the shell beside it that would end its handlers (src/platform/processes/keeper.ts): as if the
 * whole machine had forgotten it.
 */
export function killWithKeeper(child: ChildProcess): void {
  for (const pid of keepersOf(pidOf(child))) process.kill(pid, "SIGKILL");
  child.kill("SIGKILL");
}

/** For a signal: 0 would mean the group of the tests themselves. Throws for what has no process. */
export function pidOf(of: { pid?: number | null } | null | undefined): number {
  const pid = of?.pid ?? 0;
  if (pid <= 0) throw new Error("it has no process");
  return pid;
}

export function keepersOf(parent: number): number[] {
  const isKeeper = (pid: number) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
      const isChild = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]) === parent;
      return isChild && readFileSync(`/proc/${pid}/cmdline`, "latin1").includes("tail -n 2");
    } catch {
      return false; // it is gone
    }
  };
  return readdirSync("/proc").map(Number).filter(isKeeper);
}
