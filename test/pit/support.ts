import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { LedgerLine } from "../../src/queue/ledger.ts";
import {
  cli,
  environment,
  json,
  quoted,
  type Said,
  type Surroundings,
  VIV,
} from "../cli/support.ts";
import { newFolder } from "../support/folders.ts";

/** A pit of one test, and what a snake or a person does to it with a shell. */
export class Pit {
  /** Beside the pit: scripts, and what they write down about themselves. */
  readonly home = newFolder("viv-pit-");
  readonly dir = join(this.home, "pit");

  static async make(): Promise<Pit> {
    const pit = new Pit();
    await pit.ok("pit", "init", pit.dir);
    return pit;
  }

  path(...parts: string[]): string {
    return join(this.dir, ...parts);
  }

  names(folder: string): string[] {
    return existsSync(this.path(folder)) ? readdirSync(this.path(folder)).sort() : [];
  }

  has(path: string): boolean {
    return existsSync(this.path(path));
  }

  read(path: string): string {
    return readFileSync(this.path(path), "utf8");
  }

  /** As a person writes a file; `age` in seconds makes it old. */
  write(path: string, text: string | Buffer, age?: number): void {
    mkdirSync(join(this.path(path), ".."), { recursive: true });
    writeFileSync(this.path(path), text);
    if (age !== undefined) this.age(path, age);
  }

  age(path: string, seconds: number): void {
    const then = Date.now() / 1000 - seconds;
    utimesSync(this.path(path), then, then);
  }

  /** Food that a person wrote, older than what may still be being written. */
  food(id: string, text = `- **task:** ${id}\n`): void {
    this.write(`food/${id}.md`, text, 60);
  }

  /** A result that a snake wrote with its shell a while ago. */
  result(id: string, text = "I did it.\n"): void {
    this.write(`done/${id}.result.md`, text, 60);
  }

  /** An executable; in it `$H` is the folder beside the pit, and `viv` is the program. */
  script(name: string, text: string): string {
    const path = join(this.home, name);
    const head = `#!/bin/sh\nH=${quoted(this.home)}\nviv() { ${quoted(process.execPath)} ${quoted(VIV)} "$@"; }\n`;
    writeFileSync(path, `${head}${text}\n`);
    chmodSync(path, 0o755);
    return path;
  }

  /** Lines of a file beside the pit. */
  lines(name: string): string[] {
    const path = join(this.home, name);
    return existsSync(path) ? readFileSync(path, "utf8").split("\n").filter(Boolean) : [];
  }

  cli(args: readonly string[], around: Surroundings = {}): Promise<Said> {
    return cli([...args, "--run", this.dir], around);
  }

  async ok(...args: string[]): Promise<string> {
    const { status, stdout, stderr } = await cli(args, { env: { VIV_RUN: this.dir } });
    if (status !== 0) throw new Error(`viv ${args.join(" ")} ended with ${status}: ${stderr}`);
    return stdout;
  }

  json<T = Record<string, unknown>>(...args: string[]): Promise<T> {
    return json<T>(args, { env: { VIV_RUN: this.dir } });
  }

  async toss(words: string, ...flags: string[]): Promise<string> {
    return (await this.json<{ id: string }>("pit", "toss", words, ...flags)).id;
  }

  sweep(...flags: string[]): Promise<Sweep> {
    return this.json<Sweep>("pit", "sweep", ...flags);
  }

  async stateOf(id: string): Promise<string | undefined> {
    const { status, stdout } = await this.cli(["show", id, "--json"]);
    return status === 0 ? (JSON.parse(stdout) as { state: string }).state : undefined;
  }

  /** All findings of doctor, except for files put there on purpose. */
  async findings(...but: string[]): Promise<string[]> {
    const { stdout } = await this.cli(["doctor", "--json"]);
    const { findings } = JSON.parse(stdout) as {
      findings: { code: string; path: string; message: string }[];
    };
    return findings
      .filter(({ code }) => !but.includes(code))
      .map(({ code, path, message }) => `${code} ${path}: ${message}`);
  }

  ledger(): LedgerLine[] {
    return this.names("record/ledger")
      .flatMap((name) => this.read(`record/ledger/${name}`).split("\n"))
      .filter(Boolean)
      .map((line) => JSON.parse(line) as LedgerLine);
  }

  /** A program beside the pit, in the pit's folder; killed when the test has finished. */
  start(argv: readonly string[]): ChildProcess {
    const [program = "", ...args] = argv;
    const child = spawn(program, args, {
      cwd: this.dir,
      env: environment({ VIV_RUN: this.dir }),
      stdio: ["ignore", "ignore", "inherit"],
    });
    onTestFinished(() => {
      child.kill("SIGKILL");
    });
    return child;
  }

  viv(...args: string[]): ChildProcess {
    return this.start([process.execPath, VIV, ...args]);
  }

  /** `viv work` as a process. */
  work(handler: string, ...flags: string[]): ChildProcess {
    return this.viv("work", "--handler", handler, "--poll-interval", "0.2", ...flags);
  }
}

export interface Sweep {
  reclaimed: { food: string; snake: string; to: string }[];
  proven: string[];
  eaten: string[];
  review: string[];
  results: { food: string; snake: string | null; how: string }[];
  unproven: { food: string; result: string | null; note: string }[];
  adopted: number;
  pruned: string[];
  kept: string[];
  trouble?: string;
}

export async function ended(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return child.exitCode;
}

/** SIGKILL, and gone. */
export async function killed(child: ChildProcess): Promise<void> {
  child.kill("SIGKILL");
  await ended(child);
}

/** The food's name in a state folder, result or claim. */
export const RESULT = /^(.*)\.result\.md$/;
