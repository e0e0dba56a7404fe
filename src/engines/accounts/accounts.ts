import { isName } from "../../base/names.ts";
import { type Context, definePort } from "../../operation/operation.ts";
import { type AccountState, accountOfRoute } from "./account.ts";
import type { Closing } from "./account-policy.ts";

/** The gates of accounts: closed by the worker that meets a limit, for every worker on the machine. */
export interface Accounts {
  /** As it is now. Never throws for a file: an unreadable one counts as open, with `trouble`. */
  read(account: string): AccountState;
  /** Returns the state after it. Rejects when that cannot be written (DISK_FULL, READ_ONLY, LOCKED). */
  close(account: string, closing: Closing): Promise<AccountState>;
  /** A run that began then has succeeded. Writes only after a closing. */
  succeeded(account: string, began: number): Promise<void>;
  /** By a person, after any closing. */
  open(account: string, by: string): Promise<AccountState>;
  list(): AccountState[];
  /** Another number than before when any may have changed: cheap enough for each claim. */
  changedAt(): number;
}

/** The gates of accounts on this machine, shared by all runs of this user. */
export const accountsPort = definePort<Accounts>("accounts");

/** The accounts of the viv.toml that counts here. */
export interface AccountsInUse {
  /** Of tasks of this type; null when they use none. */
  of(type: string): AccountState | null;
  all: AccountState[];
}

/** Each is read once; without a route that names one, nothing is loaded. */
export async function accountsInUse({ here, use }: Context): Promise<AccountsInUse> {
  const { config } = here;
  if (config === undefined) return { of: () => null, all: [] };
  const { engineFor, routedEnginesSection } = await import("../config-engine.ts");
  const names = [...config.section(routedEnginesSection).values()]
    .map(accountOfRoute)
    .filter(isName);
  if (names.length === 0) return { of: () => null, all: [] };
  const gates = await use(accountsPort);
  const states = new Map([...new Set(names)].map((name) => [name, gates.read(name)]));
  return {
    of: (type) => states.get(engineFor(config, type)?.account ?? "") ?? null,
    all: [...states.values()],
  };
}

/** For outputs that mention accounts only when one is closed. */
export function closedAccounts({ all }: AccountsInUse): { closed_accounts?: AccountState[] } {
  const closed = all.filter(({ state }) => state !== "open");
  return closed.length === 0 ? {} : { closed_accounts: closed };
}
