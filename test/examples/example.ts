import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished } from "vitest";
import { environment, json, quoted, type Said, VIV } from "../cli/support.ts";
import { until, within } from "../support/deadline.ts";
import { newFolder } from "../support/folders.ts";

export const EXAMPLES = fileURLToPath(new URL("../../examples", import.meta.url));

interface Shown {
  id: string;
  state: string;
  task: { parent?: string; depends_on: string[] };
  history: { attempt: number; outcome: string; to: string; note?: string }[];
  proof?: { exit: number | null; attempt: number; command: string; output: string };
}

/** Replaces text in a file that has it. */
export function edit(path: string, from: string | RegExp, to: string): void {
  const text = readFileSync(path, "utf8");
  const edited = text.replaceAll(from, () => to);
  if (edited === text) throw new Error(`${path} has no ${from}`);
  writeFileSync(path, edited);
}

/** A copy of one example, and `viv` in PATH as if it were installed. */
export class Example {
  /** The copy. */
  readonly folder: string;
  /** Where run.sh works. */
  readonly work: string;
  readonly #env: Record<string, string>;
  readonly #timeoutMs: number;

  constructor(name: string, timeoutMs = 50_000) {
    this.#timeoutMs = timeoutMs;
    const root = newFolder();
    this.folder = join(root, name);
    this.work = join(root, "with a space", "work");
    cpSync(join(EXAMPLES, name), this.folder, { recursive: true });
    const bin = join(root, "bin");
    mkdirSync(bin);
    writeFileSync(
      join(bin, "viv"),
      `#!/bin/sh\nexec ${quoted(process.execPath)} ${quoted(VIV)} "$@"\n`,
    );
    chmodSync(join(bin, "viv"), 0o755);
    const path = [bin, dirname(process.execPath), process.env.PATH].join(":");
    // HOME: nobody's git settings.
    this.#env = environment({ PATH: path, HOME: root });
  }

  /** As a reader would: ./run.sh FOLDER */
  run(): Said {
    return this.#start("./run.sh", [this.work]);
  }

  /** The block of the README that begins with `cd /tmp/…`, pasted into a shell after the run. */
  paste(): Said {
    const readme = readFileSync(join(this.folder, "README.md"), "utf8");
    const [, block = "exit 1"] = /^```sh\ncd \S+\n([\s\S]*?)^```$/m.exec(readme) ?? [];
    return this.#start("sh", ["-euc", `cd ${quoted(this.work)}\n${block}`]);
  }

  #start(program: string, args: readonly string[]): Said {
    const { status, stdout, stderr, error } = spawnSync(program, args, {
      cwd: this.folder,
      env: this.#env,
      encoding: "utf8",
      timeout: this.#timeoutMs,
      killSignal: "SIGKILL",
    });
    if (error) throw error;
    // A new run is named there.
    const rest = stderr.replace(/^viv: created run .*\n/gm, "");
    return { status: status ?? -1, stdout, stderr: rest };
  }

  /** ./run.sh, and Ctrl-C as soon as a file is there: it ends as one that was interrupted. */
  async interrupt(when: string, path: string): Promise<void> {
    const child = spawn(join(this.folder, "run.sh"), [this.work], {
      cwd: this.folder,
      env: this.#env,
      detached: true, // a group of its own, as a terminal gives it one
      stdio: "ignore",
    });
    const group = -(child.pid ?? Number.NaN);
    onTestFinished(() => {
      // Safe if it is gone: the whole group has ended then.
      if (child.exitCode === null) process.kill(group, "SIGKILL");
    });
    const ended = once(child, "exit");
    await until(when, () => existsSync(join(this.work, path)), 60);
    process.kill(group, "SIGINT");
    expect(await within("it ends", ended)).toEqual([130, null]);
  }

  /** Every process that has to do with it. */
  processes(): string[] {
    const all = execFileSync("ps", ["-A", "-ww", "-o", "pid=,args="], { encoding: "utf8" });
    return all.split("\n").filter((line) => line.includes(this.work));
  }

  text(path: string): string {
    return readFileSync(join(this.work, path), "utf8");
  }

  /** The prompt that the stand-in of claude.ts got for a task. */
  asked(task: string): string {
    return readFileSync(join(this.folder, `../asked-${task}`), "utf8");
  }

  /** What viv says about it, without a process for that. */
  json<T>(...args: string[]): Promise<T> {
    return json<T>(args, { cwd: this.work });
  }

  async counts(): Promise<Record<string, number>> {
    const { counts } = await this.json<{ counts: Record<string, number> }>("ls");
    return Object.fromEntries(Object.entries(counts).filter(([, n]) => n > 0));
  }

  show(id: string): Promise<Shown> {
    return this.json("show", id);
  }
}
