import { definePort } from "../../operation/operation.ts";
import { type AccountState, accountAt } from "./account.ts";
import type { AccountFiles } from "./account-files.ts";
import { afterClosing, afterOpening, afterSuccess, type Closing } from "./account-policy.ts";

/** The gates of accounts: closed by whoever learns of a limit, for every worker on the machine. */
export interface Accounts {
  /** As it is now. Never throws for what is on disk: what cannot be read is open, with `trouble`. */
  read(account: string): AccountState;
  /** Returns what came of it. Rejects when that cannot be written (DISK_FULL, READ_ONLY, LOCKED). */
  close(account: string, closing: Closing): Promise<AccountState>;
  /** A run that began then has ended well. Costs a look, and a write only after a closing. */
  succeeded(account: string, began: number): Promise<void>;
  /** By a person: whatever it was closed or parked for. */
  open(account: string, by: string): Promise<AccountState>;
  list(): AccountState[];
  /** Another number than before when any may have changed: cheap enough to ask before each claim. */
  changedAt(): number;
}

/** The gates of accounts on this machine, shared by all runs of this user. */
export const accountsPort = definePort<Accounts>("accounts");

export interface AccountsPorts {
  files: AccountFiles;
  now(): number;
  random(): number;
}

export function accountsOn({ files, now, random }: AccountsPorts): Accounts {
  const read = (account: string) => accountAt(files.read(account), now());
  /** What is written is the whole truth; what is asked is how things are at the moment. */
  const update = (account: string, change: (before: AccountState) => AccountState) =>
    files.update(account, (stored) => {
      const before = accountAt(stored, now());
      const after = change(before);
      return after === before ? stored : after;
    });
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
    open: (account, by) => update(account, (before) => afterOpening(before, by, now())),
    list: () => files.names().map(read),
    changedAt: () => files.changedAt(),
  };
}
