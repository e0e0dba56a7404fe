import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";

interface Ended {
  /** Null: it hung, and was ended. */
  status: number | null;
  /** What it wrote, to stdout and stderr. */
  text: string;
}

export interface Command {
  args: readonly string[];
  cwd: string;
  env: Record<string, string | undefined>;
}

const PROGRAM = join(import.meta.dirname, "viv-loop.mjs");
const HANGS_AFTER_MS = 20_000;

/**
 * Commands of `viv` in a process other than the test's, where one may hang or crash, without a new
 * process for each. After such an end the next command gets a new process.
 */
export class VivLoop {
  #child: ChildProcess | null = null;

  run(command: Command): Promise<Ended> {
    this.#child ??= spawn(process.execPath, [PROGRAM], {
      stdio: ["ignore", "pipe", "pipe", "pipe", "pipe"],
    });
    const child = this.#child;
    const [, stdout, stderr, commands, ends] = child.stdio;
    return new Promise((resolve) => {
      let [crash, answer] = ["", ""];
      const hears = (more: Buffer) => {
        crash += more;
      };
      const isLate = setTimeout(() => child.kill("SIGKILL"), HANGS_AFTER_MS);
      const settle = (ended: Ended) => {
        clearTimeout(isLate);
        for (const stream of [stdout, stderr, ends]) stream?.removeAllListeners("data");
        child.removeAllListeners("close");
        resolve(ended);
      };
      child.on("close", (status) => {
        if (this.#child === child) this.#child = null;
        settle({ status, text: crash });
      });
      for (const stream of [stdout, stderr]) (stream as Readable).on("data", hears);
      (ends as Readable).on("data", (more: Buffer) => {
        answer += more.toString("latin1");
        if (!answer.endsWith("\n")) return;
        const ended = JSON.parse(Buffer.from(answer, "latin1").toString()) as Ended;
        settle({ ...ended, text: ended.text + crash });
      });
      (commands as Writable).write(`${JSON.stringify(command)}\n`);
    });
  }

  /** Also while a command hangs. */
  close(): void {
    this.#child?.kill("SIGKILL");
    this.#child = null;
  }
}
