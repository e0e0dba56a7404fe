import { mkdirSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { VivError } from "../../base/errors.ts";
import { assertName, isName } from "../../base/names.ts";
import { replaceFileSynced } from "../../platform/files/atomic-write.ts";
import { withFileLock } from "../../platform/files/file-lock.ts";
import { explained, listed, readSmallOrThrow } from "../../platform/files/state-files.ts";
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
          if (after !== before) {
            const { trouble: _, ...state } = after;
            const temporary = join(folder, `.${account}.new`); // only under the lock
            replaceFileSynced(path, `${JSON.stringify(state, null, 2)}\n`, { temporary });
          }
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
    const text = readSmallOrThrow(path, MAX_BYTES);
    return text === null ? openAccount(account) : parseAccount(text, account);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const trouble = `${path} cannot be used (${why}), so it counts as open; to write it anew: viv accounts open ${account}`;
    return openAccount(account, { trouble });
  }
}

function tried<T>(path: string, act: () => T): T {
  return explained(path, act, REMEDY);
}
