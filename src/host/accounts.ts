import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { type AccountState, openAccount, parseAccount } from "../model/account.ts";
import { isVivError, VivError } from "../model/errors.ts";
import { assertName, isName } from "../model/names.ts";

/**
 * `accounts/<name>.json` in the user's state folder: one for each account, shared by all runs and
 * workers of the user on this machine. An account without a file is open.
 */
export interface AccountFiles {
  /** As the file says, whatever time it is. A file that cannot be used counts as open: `trouble`. */
  read(account: string): AccountState;
  /** Replaces the file by what `change` makes of it; nobody else changes it meanwhile. */
  update(account: string, change: (before: AccountState) => AccountState): AccountState;
  /** All that have a file, by name. */
  names(): string[];
  /** Another number than before when any of them may have changed: one look, however many. */
  changedAt(): number;
}

type Env = Readonly<Record<string, string | undefined>>;

/** VIV_STATE, or `vivarium` where the user's programs keep their state. */
export function stateFolder(env: Env, cwd: string): string {
  if (env.VIV_STATE) return resolve(cwd, env.VIV_STATE);
  // The standard says that a relative one is to be ignored.
  const xdg = env.XDG_STATE_HOME;
  if (xdg && isAbsolute(xdg)) return join(xdg, "vivarium");
  return join(env.HOME || homedir(), ".local/state/vivarium");
}

const MAX_BYTES = 64 * 1024;

export function accountFilesIn(folder: string): AccountFiles {
  const pathOf = (account: string) => join(folder, `${assertName("account", account)}.json`);
  const read = (account: string) => readState(pathOf(account), account);
  return {
    read,
    update: (account, change) => {
      const path = pathOf(account);
      return explained(path, () => {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        return withLock(join(folder, `.${account}.lock`), () => {
          const before = read(account);
          const after = change(before);
          if (after !== before) replace(path, join(folder, `.${account}.new`), after);
          return after;
        });
      });
    },
    names: () =>
      namesIn(folder)
        .filter((name) => name.endsWith(".json"))
        .map((name) => name.slice(0, -".json".length))
        .filter(isName)
        .sort(),
    changedAt: () => {
      try {
        return statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0;
      } catch {
        return 0; // not to be seen is as good as not there: see `readState`
      }
    },
  };
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw failure(folder, error);
  }
}

function readState(path: string, account: string): AccountState {
  try {
    const text = readSmall(path);
    return text === null ? openAccount(account) : parseAccount(text, account);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const trouble = `${path} cannot be used (${why}), so it counts as open; to write it anew: viv accounts open ${account}`;
    return openAccount(account, { trouble });
  }
}

function readSmall(path: string): string | null {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  let fd: number;
  try {
    fd = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) throw new VivError("CORRUPT", "it is not a file");
    if (stats.size > MAX_BYTES) throw new VivError("CORRUPT", `it has ${stats.size} bytes`);
    return readFileSync(fd, "utf8");
  } finally {
    closeSync(fd);
  }
}

/** Whole or not at all. Who holds the lock is the only one to use that hidden name. */
function replace(path: string, hidden: string, { trouble: _, ...state }: AccountState): void {
  rmSync(hidden, { force: true }); // of one that died
  try {
    const fd = openSync(hidden, "wx", 0o600);
    try {
      writeFileSync(fd, `${JSON.stringify(state, null, 2)}\n`);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(hidden, path);
  } catch (error) {
    rmSync(hidden, { force: true });
    throw error;
  }
}

/** flock(1) takes the lock on our descriptor, so it is ours until we close it, or die. */
function withLock<T>(path: string, critical: () => T): T {
  const { O_WRONLY, O_CREAT, O_NOFOLLOW } = constants;
  const fd = openSync(path, O_WRONLY | O_CREAT | O_NOFOLLOW, 0o600);
  try {
    // Loaded when it is needed: to look at an account takes no lock.
    const { spawnSync } = process.getBuiltinModule("node:child_process");
    const { error, status } = spawnSync("flock", ["-x", "-w", "10", "3"], {
      stdio: ["ignore", "ignore", "ignore", fd],
    });
    if (error && codeOf(error) === "ENOENT") {
      throw new VivError("UNSUPPORTED", "the flock command is missing; install util-linux.");
    }
    if (error) throw error; // it could not be started: that says nothing about the lock
    if (status !== 0) {
      const message = `another process has held ${path} for 10 seconds; find it with: fuser ${path}`;
      throw new VivError("LOCKED", message);
    }
    return critical();
  } finally {
    closeSync(fd);
  }
}

function explained<T>(path: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw failure(path, error);
  }
}

function failure(path: string, cause: unknown): unknown {
  const code = codeOf(cause);
  if (isVivError(cause) || code === undefined) return cause;
  if (code === "ENOSPC" || code === "EDQUOT") {
    const message = `the disk is full, so ${path} could not be written; free some space.`;
    return new VivError("DISK_FULL", message, {}, { cause });
  }
  const { message } = cause as Error;
  if (code === "EACCES" || code === "EPERM" || code === "EROFS") {
    const todo = "set VIV_STATE to a folder that may be written";
    return new VivError("READ_ONLY", `${path} cannot be used: ${message}; ${todo}.`, {}, { cause });
  }
  return new VivError("CORRUPT", `${path} cannot be used: ${message}`, {}, { cause });
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | undefined)?.code;
}
