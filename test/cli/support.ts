import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type CliIo, runCli } from "../../src/app/cli.ts";
import { portsHere } from "../../src/app/ports.ts";
import type { Machine } from "../../src/base/clock.ts";
import type { Patience } from "../../src/board/commit.ts";
import type { Program } from "../../src/fleet/up-ports.ts";
import { openRun } from "../../src/main.ts";
import { unitFiles } from "../../src/platform/systemd/unit-files.ts";
import { until, within } from "../support/deadline.ts";
import { DIST } from "../support/processes.ts";

/** The command line, in this process with made-up surroundings, or as the program it is. */

export const VIV = join(DIST, "viv.cjs");

export interface Said {
  status: number;
  stdout: string;
  stderr: string;
}

export interface Surroundings {
  cwd?: string;
  env?: Record<string, string | undefined>;
  stdin?: string | Iterable<Uint8Array | string>;
  /** A terminal this wide on stdout and stderr; otherwise both are pipes. */
  columns?: number;
  machine?: Machine;
  signal?: AbortSignal;
  urgent?: AbortSignal;
  open?: CliIo["open"];
  program?: Partial<Program>;
  /** Called with everything that is written to stdout. */
  onStdout?: (text: string) => void;
  /** What a person at the terminal answers; without it there is no terminal to ask on. */
  answer?: string;
  /** With a lock in the way of a board's branch. */
  patience?: Patience;
}

/** Runs a command in this process: as good as a real one, but for what only processes have. */
export async function cli(args: readonly string[], around: Surroundings = {}): Promise<Said> {
  const said = { stdout: "", stderr: "" };
  const { machine } = around;
  const stream = (name: "stdout" | "stderr") => ({
    write(text: string) {
      said[name] += text;
      if (name === "stdout") around.onStdout?.(text);
    },
    ...(around.columns === undefined ? {} : { isTTY: true, columns: around.columns }),
  });
  const status = await runCli({
    argv: args,
    env: around.env ?? {},
    cwd: around.cwd ?? "/",
    stdout: stream("stdout"),
    stderr: stream("stderr"),
    stdin: bytes(around.stdin ?? ""),
    onStdinClosed: () => {},
    signal: around.signal ?? new AbortController().signal,
    urgent: around.urgent ?? new AbortController().signal,
    hearUrgent: () => {},
    provide: portsHere({
      env: around.env ?? {},
      cwd: around.cwd ?? "/",
      machine,
      patience: around.patience,
      ask: async (question) => {
        if (around.answer === undefined) return null;
        said.stderr += question;
        return around.answer;
      },
      program: {
        ...{ node: process.execPath, viv: VIV, unitFiles: async () => unitFiles },
        ...around.program,
      },
      notice: (sentence) => {
        said.stderr += `viv: ${sentence}\n`;
      },
    }),
    now: machine ? machine.clock.now : Date.now,
    open:
      around.open ??
      ((path, options) => openRun(path, { ...options, ...(machine ? { machine } : {}) })),
    demo: async () => 0,
  });
  return { status, ...said };
}

async function* bytes(text: string | Iterable<Uint8Array | string>) {
  if (typeof text === "string") yield Buffer.from(text);
  else yield* text;
}

/** As `cli`, but anything other than exit 0 and a silent stderr fails the test at once; a new run is named there. */
export async function ok(args: readonly string[], around: Surroundings = {}): Promise<string> {
  const { status, stdout, stderr: all } = await cli(args, around);
  const stderr = all.replace(/^viv: created run .*\n/, "");
  if (status !== 0 || stderr !== "") {
    throw new Error(`viv ${args.join(" ")} ended with ${status}: ${stderr}`);
  }
  return stdout;
}

/** The one JSON value that a command prints with --json. */
export async function json<T = Record<string, unknown>>(
  args: readonly string[],
  around: Surroundings = {},
): Promise<T> {
  const text = await ok([...args, "--json"], around);
  const lines = text.split("\n");
  if (lines.length !== 2 || lines[1] !== "") throw new Error(`not one line: ${text}`);
  return JSON.parse(text) as T;
}

interface ProcessOptions {
  cwd?: string;
  env?: Record<string, string>;
  input?: string;
}

/** Only what a program needs, so that the developer's VIV_RUN or NO_COLOR changes nothing. */
export function environment(more: Record<string, string> = {}): Record<string, string> {
  return {
    PATH: process.env.PATH ?? "",
    HOME: process.env.HOME ?? "/",
    XDG_STATE_HOME: join(tmpdir(), "viv-test-state"), // runs are noted there
    ...more,
  };
}

/** Runs the program to its end. */
export function viv(args: readonly string[], options: ProcessOptions = {}): Said {
  const { status, stdout, stderr, error } = spawnSync(process.execPath, [VIV, ...args], {
    cwd: options.cwd ?? "/",
    env: environment(options.env),
    input: options.input ?? "",
    encoding: "utf8",
    maxBuffer: 256 * 1024 * 1024,
    timeout: 50_000,
    killSignal: "SIGKILL", // viv itself lets the first SIGTERM pass while it is busy
  });
  if (error) throw error;
  return { status: status ?? -1, stdout, stderr };
}

/** A shell script in which `viv` is the program. */
export function shell(script: string, options: ProcessOptions = {}): Said {
  const { status, stdout, stderr, error } = spawnSync(
    "bash",
    ["-c", `${VIV_FUNCTION}\n${script}`],
    {
      cwd: options.cwd ?? "/",
      env: environment(options.env),
      input: options.input ?? "",
      encoding: "utf8",
      maxBuffer: 256 * 1024 * 1024,
      timeout: 50_000,
      killSignal: "SIGKILL", // viv itself lets the first SIGTERM pass while it is busy
    },
  );
  if (error) throw error;
  return { status: status ?? -1, stdout, stderr };
}
const VIV_FUNCTION = `viv() { ${quoted(process.execPath)} ${quoted(VIV)} "$@"; }`;

export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

export const SCRIPT = ["/usr/bin/script", "/bin/script"].find((path) => existsSync(path));
/** Why there is no pseudo-terminal here, or false when there is one. */
export const noTerminal = SCRIPT ? false : "no `script` (util-linux) on this machine";

/** A shell script on a pseudo-terminal of that width. Line ends come back as \n. */
export function terminal(script: string, columns: number, options: ProcessOptions = {}): string {
  const inside = `${VIV_FUNCTION}\nstty cols ${columns} rows 50\n${script}`;
  const { stdout, error } = spawnSync(SCRIPT as string, ["-qec", inside, "/dev/null"], {
    cwd: options.cwd ?? "/",
    env: environment({ TERM: "xterm-256color", SHELL: "/bin/bash", ...options.env }),
    input: options.input ?? "",
    encoding: "utf8",
    timeout: 50_000,
    killSignal: "SIGKILL", // viv itself lets the first SIGTERM pass while it is busy
  });
  if (error) throw error;
  // The end of our input may be echoed as ^D before the shell has begun.
  return stdout.replaceAll("\r\n", "\n").replaceAll("^D\b\b", "");
}

/** The program while it runs. */
export class Running {
  readonly child: ChildProcess;
  stdout = "";
  stderr = "";
  readonly #ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  #over = false;

  constructor(args: readonly string[], options: Omit<ProcessOptions, "input"> = {}) {
    this.child = spawn(process.execPath, [VIV, ...args], {
      cwd: options.cwd ?? "/",
      env: environment(options.env),
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.child.stdout?.setEncoding("utf8").on("data", (text) => {
      this.stdout += text;
    });
    this.child.stderr?.setEncoding("utf8").on("data", (text) => {
      this.stderr += text;
    });
    this.child.stdin?.on("error", () => {}); // it ended while we wrote to it
    this.#ended = new Promise((resolve, reject) => {
      this.child.on("error", reject);
      this.child.on("close", (code, signal) => {
        this.#over = true;
        resolve({ code, signal });
      });
    });
    onTestFinished(() => {
      this.child.kill("SIGKILL");
    });
  }

  get pid(): number {
    return this.child.pid ?? -1;
  }

  async says(text: string | RegExp): Promise<void> {
    const has = () =>
      typeof text === "string" ? this.stdout.includes(text) : text.test(this.stdout);
    await until(`viv says ${text}, so far: ${this.stdout}${this.stderr}`, () => {
      if (!has() && this.#over) throw new Error(`viv ended before it said ${text}: ${this.stderr}`);
      return has();
    });
  }

  async end(seconds = 30): Promise<Said & { signal: NodeJS.Signals | null }> {
    const { code, signal } = await within("viv ends", this.#ended, seconds);
    return { status: code ?? -1, signal, stdout: this.stdout, stderr: this.stderr };
  }
}

/** What people see: without the colours that we put there. */
export function stripColors(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control codes
  return text.replace(/\u001b\[[0-9;]*m/g, "");
}

/** Control characters in a text, other than line breaks, tabs and our own colours. */
export function controlCodes(text: string): string[] {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return stripColors(text).match(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g) ?? [];
}
