import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { type ErrorCode, VivError } from "../../base/errors.ts";
import { growingPause } from "../../base/growing-pause.ts";
import { quoted } from "../../base/text.ts";

/**
 * Runs git: with an argv, never a shell, never a prompt, and without git's variables of our own
 * environment (a git hook has GIT_DIR and the like). A task may have left files of its own in a
 * workspace, so nothing that git would run by itself is run: no hooks, no file watcher. The
 * repository of a workspace is passed explicitly, because the `.git` in it may lead to one that the
 * task made.
 */
export interface GitPlace {
  /** Where it runs. */
  cwd: string;
  /** The repository; without it, the one of `cwd`. */
  gitDir?: string;
  workTree?: string;
  /** Another index than the repository's own. */
  indexFile?: string;
}

export interface GitOptions extends GitPlace {
  env?: Readonly<Record<string, string>>;
  stdin?: string | Buffer;
  /** An open file that gets what git says, instead of us. */
  stdoutTo?: number;
  /** Ends git: for what may wait for a network. */
  signal?: AbortSignal;
  /**
   * In a session of its own, for what takes a lock for milliseconds: a Ctrl-C at our terminal does not reach
   * it. Git dies of one between the lock's creation and its handler, and leaves the lock (seen with 2.39).
   */
  isShielded?: boolean;
}

export interface GitAnswer {
  status: number | null;
  stdout: Buffer;
  stderr: string;
}

const SETTINGS = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "submodule.recurse=false",
  "maintenance.auto=false",
  "gc.auto=0",
].flatMap((setting) => ["-c", setting]);

/** Runs it once and takes any exit for an answer. */
export function askGit(args: readonly string[], options: GitOptions): Promise<GitAnswer> {
  return run("git", argvFor(args, options), options);
}

/**
 * A script of git commands in one shell: to start a program from node takes as long as most of git's
 * own work. `lines` gets a command as text, with the same settings as any other.
 */
export function askGitScript(
  lines: (git: (args: readonly string[]) => string) => string,
  options: GitOptions,
): Promise<GitAnswer> {
  const script = lines((args) => ["git", ...argvFor(args, options)].map(quoted).join(" "));
  return run("/bin/sh", ["-c", script], options);
}

async function run(
  program: string,
  argv: readonly string[],
  options: GitOptions,
): Promise<GitAnswer> {
  const child = spawn(program, argv, {
    cwd: options.cwd,
    env: environment(options),
    stdio: [options.stdin === undefined ? "ignore" : "pipe", options.stdoutTo ?? "pipe", "pipe"],
    signal: options.signal,
    detached: options.isShielded,
  });
  const stdout: Buffer[] = [];
  let stderr = "";
  child.stdout?.on("data", (data: Buffer) => stdout.push(data));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    stderr = (stderr + text).slice(-65_536);
  });
  child.stdin?.on("error", () => {}); // it ended before it read all; its exit says why
  child.stdin?.end(options.stdin);
  return new Promise((resolve, reject) => {
    child.on("error", (error) => reject(cannotRun(error, options.cwd)));
    child.on("close", (status) => resolve({ status, stdout: Buffer.concat(stdout), stderr }));
  });
}

function argvFor(args: readonly string[], { gitDir, workTree }: GitPlace): string[] {
  const where = [
    ...(gitDir === undefined ? [] : [`--git-dir=${gitDir}`]),
    ...(workTree === undefined ? [] : [`--work-tree=${workTree}`]),
  ];
  return ["--no-optional-locks", ...SETTINGS, ...where, ...args];
}

/** Runs it, again while another process holds a lock, and returns its output. */
export async function git(args: readonly string[], options: GitOptions): Promise<string> {
  return (await gitBytes(args, options)).toString("utf8").replace(/\n$/, "");
}

export function gitBytes(args: readonly string[], options: GitOptions): Promise<Buffer> {
  return untilFree(args, () => askGit(args, options));
}

/** The names that it lists with -z, each once. */
export async function gitNames(args: readonly string[], options: GitOptions): Promise<string[]> {
  const list = (await gitBytes(args, options)).toString("utf8");
  return [...new Set(list.split("\0"))].filter((name) => name !== "");
}

/** One after the other in one shell, up to the first that fails. */
export async function gitInTurn(
  commands: readonly (readonly string[])[],
  options: GitOptions,
): Promise<void> {
  const [first = []] = commands;
  const ask = () => askGitScript((git) => commands.map(git).join(" && "), options);
  await untilFree(first, ask);
}

async function untilFree(args: readonly string[], ask: () => Promise<GitAnswer>): Promise<Buffer> {
  for (let tries = 1; ; tries++) {
    const answer = await ask();
    if (answer.status === 0) return answer.stdout;
    if (tries === MOST_TRIES || !isBusy(answer.stderr)) throw gitError(args, answer);
    await wait(growingPause(tries, PAUSE_MS) * (0.5 + Math.random()));
  }
}

/** About a second in all: git holds its locks for milliseconds, so what lasts longer is stuck. */
const PAUSE_MS = { first: 5, longest: 640 };
const MOST_TRIES = 9;

const BUSY =
  /\.lock': File exists|unable to lock|could not lock|cannot lock ref|failed to read .*worktrees\//i;
/** These say "cannot lock" too, but waiting does not help. */
const HOPELESS = /cannot create|reference already exists|but expected|unable to resolve/i;

function isBusy(stderr: string): boolean {
  return BUSY.test(stderr) && !HOPELESS.test(stderr);
}

/** A machine error in git's words: it may pass. */
const TROUBLES: readonly [RegExp, ErrorCode][] = [
  [/no space left|disk quota/i, "DISK_FULL"],
  [/input\/output error/i, "DISK_FAULT"],
  [/read-only file system/i, "READ_ONLY"],
  [
    /too many open files|cannot allocate memory|out of memory|resource temporarily unavailable/i,
    "EXHAUSTED",
  ],
];

/** One sentence, with the line in which git says what is wrong. */
function gitError(args: readonly string[], answer: GitAnswer): VivError {
  const said = lastWord(answer.stderr) || `it ended with ${answer.status ?? "a signal"}`;
  const lock = answer.stderr.match(/'([^']*\.lock)': File exists/)?.[1];
  const details = { args: [...args], status: answer.status, stderr: answer.stderr };
  if (lock !== undefined) {
    return new VivError(
      "LOCKED",
      `git ${verbOf(args)} finds ${lock} in its way; if no git is running there any more, remove that file and try again.`,
      { ...details, lock },
    );
  }
  const code = TROUBLES.find(([pattern]) => pattern.test(answer.stderr))?.[1] ?? "INVALID";
  return new VivError(code, `git ${verbOf(args)} failed: ${said}.`, details);
}

function verbOf(args: readonly string[]): string | undefined {
  return args.find((arg, i) => arg !== "-c" && args[i - 1] !== "-c");
}

/** The last complaint; what comes after it is advice, over many lines. */
export function lastWord(stderr: string): string {
  const lines = stderr
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const complaint = lines.findLast((line) => /^(fatal|error):/.test(line)) ?? lines.at(-1) ?? "";
  return complaint.replace(/^(fatal|error): /, "").replace(/\.$/, "");
}

/** Of git's own variables only the author and committer, and where the user's settings are. */
const KEPT = /^GIT_(AUTHOR|COMMITTER)_(NAME|EMAIL|DATE)$|^GIT_CONFIG_(GLOBAL|SYSTEM|NOSYSTEM)$/;

function environment(options: GitOptions): Record<string, string | undefined> {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !name.startsWith("GIT_") || KEPT.test(name),
  );
  return {
    ...Object.fromEntries(inherited),
    LC_ALL: "C", // its messages are read above
    GIT_TERMINAL_PROMPT: "0",
    GIT_INDEX_FILE: options.indexFile,
    ...options.env,
  };
}

function cannotRun(error: Error, cwd: string): VivError {
  const isMissing = (error as NodeJS.ErrnoException).code === "ENOENT";
  const sentence = isMissing
    ? `git cannot be run in ${cwd}: the folder is gone, or git is not installed (apt install git).`
    : `git cannot be run: ${error.message}.`;
  return new VivError("UNSUPPORTED", sentence, {}, { cause: error });
}

/** False also when one of the two is no commit there. */
export async function isAncestor(
  ancestor: string,
  commit: string,
  place: GitPlace,
): Promise<boolean> {
  const { status } = await askGit(["merge-base", "--is-ancestor", ancestor, commit], place);
  return status === 0;
}

/** The top of the checkout that a folder is in: the nearest one with a `.git`. */
export function checkoutAbove(folder: string): string | null {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, ".git"))) return at;
    if (at === dirname(at)) return null;
  }
}

/** All settings that hold in a folder, their names in small letters, and the committer. */
export async function gitVariables(cwd: string): Promise<Map<string, string>> {
  const answer = await askGit(["var", "-l"], { cwd });
  if (answer.status !== 0) {
    throw new VivError("RUN_INVALID", `git var failed in ${cwd}: ${lastWord(answer.stderr)}.`);
  }
  const said = new Map<string, string>();
  for (const line of answer.stdout.toString("utf8").split("\n")) {
    const at = line.indexOf("=");
    if (at > 0) said.set(line.slice(0, at), line.slice(at + 1));
  }
  return said;
}
