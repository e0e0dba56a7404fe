import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../../base/errors.ts";
import { assertName, isName } from "../../base/names.ts";
import { replaceFileSynced } from "../../platform/files/atomic-write.ts";
import { withFileLock } from "../../platform/files/file-lock.ts";
import { explained, listed, readSmallOrThrow } from "../../platform/files/state-files.ts";
import { type AccountState, accountAt, openAccount, parseAccount } from "./account.ts";
import { afterClosing, afterOpening, afterSuccess } from "./account-policy.ts";
import type { Accounts } from "./accounts.ts";

const REMEDY = "set VIV_STATE to a folder that may be written";
const MAX_BYTES = 64 * 1024;

/**
 * `accounts/<name>.json` in the user's state folder: one for each account, shared by all runs and
 * workers of the user on this machine. An account without a file is open.
 */
export function accountsIn(
  folder: string,
  { now, random }: { now(): number; random(): number },
): Accounts {
  const pathOf = (account: string) => join(folder, `${assertName("account", account)}.json`);
  const read = (account: string) => accountAt(readFile(pathOf(account), account), now());
  /** Under the lock: no other process changes the file meanwhile. */
  const update = (account: string, change: (before: AccountState) => AccountState) => {
    const path = pathOf(account);
    const act = async () => {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      return withFileLock(join(folder, `.${account}.lock`), () => {
        const before = read(account);
        const after = change(before);
        if (after !== before) {
          const temporary = join(folder, `.${account}.new`); // only under the lock
          replaceFileSynced(path, `${JSON.stringify(after, null, 2)}\n`, { temporary });
        }
        return after;
      });
    };
    return explained(path, act, REMEDY);
  };
  return {
    read,
    close: async (account, closing) => {
      const change = (before: AccountState) => afterClosing(before, closing, now(), random());
      return accountAt(await update(account, change), now());
    },
    succeeded: async (account, began) => {
      const before = read(account);
      if (afterSuccess(before, began, now()) === before) return;
      await update(account, (current) => afterSuccess(current, began, now()));
    },
    open: async (account, by) => update(account, (before) => afterOpening(before, by, now())),
    list: () =>
      listed(folder, REMEDY)
        .filter((name) => name.endsWith(".json"))
        .map((name) => name.slice(0, -".json".length))
        .filter(isName)
        .sort()
        .map(read),
    changedAt: () => {
      try {
        return statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0;
      } catch {
        return 0; // an unreadable folder counts as missing: see `readFile`
      }
    },
  };
}

function readFile(path: string, account: string): AccountState {
  try {
    const text = readSmallOrThrow(path, MAX_BYTES);
    return text === null ? openAccount(account) : parseAccount(text, account);
  } catch (error) {
    const why = messageOf(error);
    const trouble = `${path} cannot be used (${why}), so it counts as open; to write it anew: viv accounts open ${account}`;
    return openAccount(account, { trouble });
  }
}
