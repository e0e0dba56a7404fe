import { isName } from "../../base/names.ts";
import type { Context } from "../../operation/operation.ts";
import { engineFor, routedEnginesSection } from "../config-engine.ts";
import { type AccountState, accountOfRoute } from "./account.ts";
import { accountsPort } from "./accounts.ts";

/** The accounts of the viv.toml that counts here. */
export interface AccountsInUse {
  /** The one that tasks of this type use; null when they use none. */
  of(type: string): AccountState | null;
  all: AccountState[];
}

const NONE: AccountsInUse = { of: () => null, all: [] };

/** Each is read once; without a route that names one, nothing is even loaded. */
export async function accountsInUse({ here, use }: Context): Promise<AccountsInUse> {
  const { config } = here;
  const routes = config?.section(routedEnginesSection).values() ?? [];
  const names = [...routes].map(accountOfRoute).filter(isName);
  if (config === undefined || names.length === 0) return NONE;
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
