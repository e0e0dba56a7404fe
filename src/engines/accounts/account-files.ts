import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { VivError } from "../../base/errors.ts";
import { assertName, isName } from "../../base/names.ts";
import { withFileLock } from "../../platform/files/file-lock.ts";
import { codeOf, explained, listed } from "../../platform/files/state-files.ts";
import { type AccountState, openAccount, parseAccount } from "./account.ts";

const REMEDY = "set VIV_STATE to a folder that may be written";

/**
 * `accounts/<name>.json` in the user's state folder: one for each account, shared by all runs and
 * workers of the user on this machine. An account without a file is open.
 */
export interface AccountFiles {
  /** As the file says, whatever time it is. A file that cannot be used counts as open: `trouble`. */
  read(account: string): AccountState;
  /** Replaces the file by what `change` makes of it; nobody else changes it meanwhile. */
  update(account: string, change: (before: AccountState) => AccountState): Promise<AccountState>;
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
  return join(env.HOME || homeOf(), ".local/state/vivarium");
}

/** Of a user without an entry in passwd (a container) the system knows none. */
function homeOf(): string {
  try {
    return homedir();
  } catch (cause) {
    const message = `you have no home folder; set HOME, or VIV_STATE to a folder of your own.`;
    throw new VivError("UNSUPPORTED", message, {}, { cause });
  }
}

const MAX_BYTES = 64 * 1024;

export function accountFilesIn(folder: string): AccountFiles {
  const pathOf = (account: string) => join(folder, `${assertName("account", account)}.json`);
  const read = (account: string) => readState(pathOf(account), account);
  return {
    read,
    update: async (account, change) => {
      const path = pathOf(account);
      return tried(path, async () => {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        return withFileLock(join(folder, `.${account}.lock`), () => {
          const before = read(account);
          const after = change(before);
          if (after !== before) replace(path, join(folder, `.${account}.new`), after);
          return after;
        });
      });
    },
    names: () =>
      listed(folder, REMEDY)
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

function tried<T>(path: string, act: () => T): T {
  return explained(path, act, REMEDY);
}
