import { spawn } from "node:child_process";

/**
 * Runs tmux: with an argv, never a shell; against one server, named by its socket; and without what
 * tmux would take from a session that we may have been started in. It starts no server.
 */
export interface Tmux {
  readonly socket: string;
  /** What it printed. Throws `TmuxTrouble`. */
  run(args: readonly string[], stdin?: string | Buffer): Promise<string>;
}

/**
 * Nothing may be concluded from any of these but the first two. `lost-server`: the server went away
 * in the middle of a command. Only its process shows whether it has ended.
 */
export type TroubleKind =
  | "no-server"
  | "no-target"
  | "lost-server"
  | "no-answer"
  | "not-installed"
  | "other";

export class TmuxTrouble extends Error {
  readonly kind: TroubleKind;

  constructor(kind: TroubleKind, message: string) {
    super(message);
    this.name = "TmuxTrouble";
    this.kind = kind;
  }
}

export type Env = Readonly<Record<string, string | undefined>>;

export interface TmuxOptions {
  env?: Env;
  /** For each command. */
  limitMs?: number;
}

const LIMIT_MS = 5_000;
const MOST_OUTPUT = 4 * 1024 * 1024;
const NEEDED = { major: 3, minor: 2 };

export function tmuxAt(socket: string, options: TmuxOptions = {}): Tmux {
  const { TMUX: _, TMUX_PANE: __, ...env } = options.env ?? process.env;
  const limitMs = options.limitMs ?? LIMIT_MS;
  const place = ["-u", "-N", "-S", socket];
  return {
    socket,
    run: async (args, stdin) => {
      await assertVersion(env, limitMs);
      return run([...place, ...args], { env, limitMs, stdin });
    },
  };
}

/** Where tmux itself would look: the server of the session we are in, else the user's own. */
export function defaultSocket(env: Env = process.env): string {
  const [inside] = (env.TMUX ?? "").split(",");
  if (inside) return inside;
  const folder = env.TMUX_TMPDIR || "/tmp";
  return `${folder.replace(/\/+$/, "")}/tmux-${process.getuid?.() ?? 0}/default`;
}

/** By the PATH that it is found in; only good news is kept. */
const goodVersions = new Set<string | undefined>();

async function assertVersion(env: Env, limitMs: number): Promise<void> {
  if (goodVersions.has(env.PATH)) return;
  const said = (await run(["-V"], { env, limitMs })).trim();
  const [, major = "0", minor = "0"] = /(\d+)\.(\d+)/.exec(said) ?? [];
  const isOld =
    Number(major) < NEEDED.major ||
    (Number(major) === NEEDED.major && Number(minor) < NEEDED.minor);
  if (isOld && !/master|openbsd/.test(said)) {
    throw new TmuxTrouble("not-installed", `${said} is too old: tmux 3.2 or newer is needed`);
  }
  goodVersions.add(env.PATH);
}

/** In words; null: it is here, as far as can be seen. */
export async function whyNoTmux(env: Env): Promise<string | null> {
  try {
    await assertVersion(env, LIMIT_MS);
  } catch (error) {
    if (error instanceof TmuxTrouble && error.kind === "not-installed") return error.message;
  }
  return null;
}

interface RunOptions {
  env: Env;
  limitMs: number;
  stdin?: string | Buffer;
}

async function run(args: readonly string[], options: RunOptions): Promise<string> {
  // In a group of its own: a Ctrl-C at our terminal is for us, and ends no question half asked.
  const child = spawn("tmux", args, {
    ...{ env: options.env, detached: true },
    stdio: ["pipe", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  // Without a free file descriptor there are no streams, and "error" follows.
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    if (stdout.length < MOST_OUTPUT) stdout += text;
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    stderr = (stderr + text).slice(-4096);
  });
  child.stdin?.on("error", () => {}); // it ended before it read all; its exit says why
  child.stdin?.end(options.stdin ?? "");
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      child.kill("SIGKILL"); // our own client, not the server
      const seconds = options.limitMs / 1000;
      reject(new TmuxTrouble("no-answer", `tmux did not answer within ${seconds} s`));
    }, options.limitMs);
    child.on("error", (error: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      reject(cannotRun(error));
    });
    child.on("close", (status) => {
      clearTimeout(timer);
      if (status === 0) resolve(stdout);
      else reject(troubleFrom(stderr.trim(), status));
    });
  });
}

function cannotRun(error: NodeJS.ErrnoException): TmuxTrouble {
  if (error.code !== "ENOENT") return new TmuxTrouble("other", `tmux: ${error.message}`);
  return new TmuxTrouble("not-installed", "tmux is not installed: `apt install tmux`");
}

/** A client's messages when its server ends (client.c): during a command, or while connecting. */
const LOST =
  /^(\[?(lost server|(server )?exited|server exited unexpectedly)\]?|error connecting to .*\((Connection reset by peer|Broken pipe)\))$/;

/** In tmux's own words, which have not changed in ten years. */
function troubleFrom(words: string, status: number | null): TmuxTrouble {
  const isNoServer =
    /^no server running on /.test(words) ||
    /^error connecting to .*\((No such file or directory|Connection refused)\)$/.test(words);
  if (isNoServer) return new TmuxTrouble("no-server", words);
  if (/^can't find (session|window|pane)/.test(words)) return new TmuxTrouble("no-target", words);
  if (LOST.test(words)) return new TmuxTrouble("lost-server", `tmux: ${words}`);
  return new TmuxTrouble("other", `tmux: ${words || `ended with status ${status}`}`);
}
