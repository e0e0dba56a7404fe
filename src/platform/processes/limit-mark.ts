import { accessSync, closeSync, constants, openSync, readSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { errno, machineErrorOf } from "../../base/errno.ts";
import { findProgram, isProgram } from "./programs.ts";

/**
 * A mark that a process does not lose when it daemonises: a resource limit of a unique size.
 *
 * Limits are handed on by fork, exec and setsid, and stay when a program cleans its environment,
 * closes its files and leaves its parent. The one for resident memory (RLIMIT_RSS) is without effect
 * since Linux 2.4.30, may be lowered by any process, and is shown in /proc/<pid>/limits. Its soft value
 * is made from the claim, so that it can be found from the claim; at two exabytes and more it
 * changes nothing for programs that ask for it (sort).
 *
 * `prlimit` sets it and becomes the program. A program that changes its own limits loses the mark.
 */

const SMALLEST = 1n << 61n;

/** The mark of a claim: 61 bits of its hash, so that no two on a machine are the same. */
export function limitMark(claim: string): string {
  const { createHash } = process.getBuiltinModule("node:crypto"); // slow to load
  const hash = createHash("sha256").update(claim).digest().readBigUInt64BE() >> 3n;
  return String(SMALLEST | hash);
}

const PLACES = "/usr/bin:/bin:/usr/local/bin";
const PROBE_MS = 10_000;

let probed: Promise<string | null> | undefined;
let prlimit: string | null = null;

/** Finds out, once, whether processes can be marked here. Null, or one sentence: why not. */
export function probeMarks(): Promise<string | null> {
  probed ??= probe();
  return probed;
}

async function probe(): Promise<string | null> {
  const what = "a handler's process that daemonises and cleans its environment is not found here";
  if (process.platform !== "linux") return `${what}: that needs Linux.`;
  const program = findProgram("prlimit", `${process.env.PATH ?? ""}:${PLACES}`);
  if (program === null)
    return `${what}: there is no prlimit; install util-linux, or use a sandbox.`;
  const mark = limitMark("probe");
  const { error, stdout } = await run(program, [`--rss=${mark}:`, "cat", "/proc/self/limits"]);
  if (stdout.includes(` ${mark} `)) {
    prlimit = program;
    return null;
  }
  if (machineErrorOf(error) !== undefined) probed = undefined; // it may pass: ask again
  return `${what}: prlimit cannot set a limit (${error?.message ?? "it has no effect"}).`;
}

function run(program: string, args: string[]): Promise<{ error: Error | null; stdout: string }> {
  const { execFile } = process.getBuiltinModule("node:child_process"); // slow to load
  return new Promise((done) => {
    try {
      execFile(program, args, { timeout: PROBE_MS }, (error, stdout) => done({ error, stdout }));
    } catch (error) {
      done({ error: error as Error, stdout: "" });
    }
  });
}

/**
 * The command that marks itself and becomes `argv`. Unchanged where that cannot be, and where `argv`
 * cannot be started: then the system itself says why.
 */
export function marked(
  argv: readonly string[],
  { cwd, env, claim }: { cwd: string; env: Readonly<Record<string, string>>; claim: string },
): readonly string[] {
  if (prlimit === null || !canStart(argv[0] ?? "", cwd, env.PATH)) return argv;
  return [prlimit, `--rss=${limitMark(claim)}:`, "--", ...argv];
}

function canStart(name: string, cwd: string, path: string | undefined): boolean {
  try {
    const program = name.includes("/") ? resolve(cwd, name) : findProgram(name, path);
    if (program === null || !statSync(cwd).isDirectory()) return false;
    accessSync(cwd, constants.X_OK);
    const interpreter = interpreterOf(program);
    return isProgram(program) && (interpreter === null || isProgram(interpreter));
  } catch (error) {
    if (errno(error) === undefined) throw error;
    return false;
  }
}

const LONGEST_LINE = 256;

/** What its #! line names. */
function interpreterOf(program: string): string | null {
  const fd = openSync(program, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const head = Buffer.alloc(LONGEST_LINE);
    const line = head.toString("latin1", 0, readSync(fd, head)).split("\n", 1)[0] ?? "";
    return line.startsWith("#!") ? (line.slice(2).trim().split(/\s/, 1)[0] ?? null) : null;
  } finally {
    closeSync(fd);
  }
}
