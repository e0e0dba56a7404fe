import { spawn } from "node:child_process";
import { findProgram, isProgram } from "../processes/programs.ts";

/** Finding the program that makes sandboxes, and finding out whether it can make one here. */

export const INSTALL_BUBBLEWRAP =
  "a sandbox needs bubblewrap, which is not installed; install it with: apt install bubblewrap.";

/** The `bwrap` in a PATH. Relative folders do not count: a task could put one of its own there. */
export function findBubblewrap(path: string | undefined): string | null {
  return findProgram("bwrap", path);
}

const BASE = [
  // It ends with its parent, and with its first process. The kernel watches the
  // thread that started it, so a worker must start handlers from its main thread.
  "--die-with-parent",
  "--unshare-pid",
  "--new-session", // else it could type into the terminal of the worker (TIOCSTI)
  "--unshare-ipc",
  "--unshare-uts",
  "--unshare-cgroup-try",
  // Root without capabilities is still the owner of most files. It must not get capabilities back
  // in a user namespace of its own: with them it could mount control groups and kill from there.
  "--unshare-user",
  "--disable-userns",
  ...["--cap-drop", "ALL"],
  ...["--ro-bind", "/", "/"],
  ...["--dev", "/dev"],
  ...["--remount-ro", "/dev"],
  // Read-only, because root owns /proc/sys: core_pattern there would run a program outside.
  ...["--proc", "/proc"],
  ...["--remount-ro", "/proc"],
];

/**
 * The signals that ask a program to end. bubblewrap itself would die of them, and with it all
 * inside, at once: so it gets none of them, and the program inside has its time to clean up.
 */
const POLITE = "TERM,INT,HUP";

/** A command around `argv`. `options` come after all others. */
export function bubblewrap(
  bwrap: string,
  options: readonly string[],
  argv: readonly string[],
): string[] {
  const inner = withEnv(`--default-signal=${POLITE}`, argv);
  return withEnv(`--ignore-signal=${POLITE}`, [bwrap, ...BASE, ...options, "--", ...inner]);
}

/** `env` changes what signals do, and then becomes the command; but it takes `a=b` for a variable. */
function withEnv(option: string, argv: readonly string[]): string[] {
  const exec = argv[0]?.includes("=") ? ["/bin/sh", "-c", 'exec "$@"', "sh"] : [];
  return ["/usr/bin/env", option, ...exec, ...argv];
}

const PROBE_MS = 20_000;

/** Makes a sandbox once. Null, or one sentence: why that does not work here, and what to do. */
export async function probeBubblewrap(bwrap: string): Promise<string | null> {
  if (!isProgram(bwrap)) return INSTALL_BUBBLEWRAP;
  const [file = "", ...args] = bubblewrap(bwrap, ["--unshare-net"], ["true"]);
  const child = spawn(file, args, { stdio: ["ignore", "ignore", "pipe"] });
  const timer = setTimeout(() => child.kill("SIGKILL"), PROBE_MS);
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  return new Promise((resolve) => {
    child.on("error", (error) => {
      clearTimeout(timer);
      resolve(explain(error.message));
    });
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      resolve(code === 0 ? null : explain(said.trim() || `it ended with ${code ?? signal}`));
    });
  });
}

/** What bubblewrap says when it fails, and what a person can do about it. */
const REMEDIES: readonly [RegExp, string][] = [
  [/unknown option/i, "it is too old; install 0.8 or newer"],
  [
    /(unrecognized|invalid|illegal) option/i,
    "the env program is too old; install GNU coreutils 8.31 or newer",
  ],
  [
    /max_user_namespaces|no space left on device/i,
    "no user namespaces are left; raise them with: sysctl -w user.max_user_namespaces=10000",
  ],
  [
    /mount proc/i,
    "a container hides parts of /proc; start it with --security-opt systempaths=unconfined",
  ],
  [
    /namespace|uid map|gid map|loopback/i,
    "user namespaces are switched off; allow them with: sysctl -w kernel.unprivileged_userns_clone=1 (on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0)",
  ],
];

function explain(said: string): string {
  const line = said.split("\n").at(-1)?.trim() ?? "";
  const remedy = REMEDIES.find(([pattern]) => pattern.test(said))?.[1];
  const todo = remedy ?? "run viv where it does, or set sandbox to off";
  return `bubblewrap cannot make a sandbox here (${line}): ${todo}.`;
}
