import { accountOfRoute } from "../model/account.ts";
import type { Route } from "../model/config.ts";
import { isName } from "../model/names.ts";
import type { Accounts } from "./accounts.ts";

/** What a worker leaves alone for now, because the accounts it needs are closed. */
export interface ClosedTypes {
  /** Not these; empty when `only` says it. */
  types: readonly string[];
  /** Only these: the account of every type without a route of its own is closed. Null: not so. */
  only: readonly string[] | null;
  /** Nothing that this worker takes may be claimed. */
  all: boolean;
  /** In how long the next account opens by itself; null when none does. */
  nextOpenMs: number | null;
}

export interface ClosedTypesOptions {
  accounts: Accounts;
  /** By type; `default` is for every type that has none. */
  routes: ReadonlyMap<string, Route>;
  /** What the worker takes; null: any. */
  types: readonly string[] | null;
  now(): number;
  /** A file that cannot be used: said once. */
  onTrouble?: (message: string) => void;
}

/** How long what was read is believed: a file that is edited in its place does not show. */
const BELIEVED_MS = 5_000;
/** The file system's clock may stand still for so long: a second change would not show. */
const UNSETTLED_MS = 50;

/**
 * Asked before every claim, so it looks at the files only when one has changed or a time has come.
 * Undefined when no route uses an account.
 */
export function closedTypes(options: ClosedTypesOptions): (() => ClosedTypes) | undefined {
  const { accounts, now } = options;
  const groups = groupsOf(options);
  if (groups.every(({ account }) => account === null)) return undefined;
  const told = new Set<string>();
  let seen = Number.NaN;
  let validUntil = Number.NEGATIVE_INFINITY;
  let readAt = 0;
  let last: Reading = { types: [], only: null, all: false, nextOpen: null };
  return () => {
    const at = now();
    const changed = accounts.changedAt();
    if (changed !== seen || at >= validUntil || at < readAt) {
      last = read(groups, accounts, (message) => {
        if (told.has(message)) return;
        told.add(message);
        options.onTrouble?.(message);
      });
      seen = Math.abs(at - changed) < UNSETTLED_MS ? Number.NaN : changed;
      readAt = at;
      validUntil = Math.min(at + BELIEVED_MS, last.nextOpen ?? Number.POSITIVE_INFINITY);
    }
    const { nextOpen, ...rest } = last;
    return { ...rest, nextOpenMs: nextOpen === null ? null : Math.max(0, nextOpen - at) };
  };
}

interface Reading extends Omit<ClosedTypes, "nextOpenMs"> {
  nextOpen: number | null;
}

/** Types that share an account; null as the type stands for all that have no route of their own. */
interface Group {
  account: string | null;
  types: (string | null)[];
}

function groupsOf({ routes, types }: ClosedTypesOptions): Group[] {
  const named = types ?? [...routes.keys()].filter((type) => type !== "default");
  const groups = new Map<string | null, Group>();
  for (const type of types === null ? [...named, null] : named) {
    const own = type === null ? undefined : routes.get(type);
    const account = accountOfRoute(own ?? routes.get("default"));
    const key = isName(account) ? account : null;
    const group = groups.get(key) ?? { account: key, types: [] };
    group.types.push(type);
    groups.set(key, group);
  }
  return [...groups.values()];
}

function read(
  groups: readonly Group[],
  accounts: Accounts,
  onTrouble: (message: string) => void,
): Reading {
  const closed: (string | null)[] = [];
  const open: (string | null)[] = [];
  let nextOpen: number | null = null;
  for (const { account, types } of groups) {
    const state = account === null ? null : accounts.read(account);
    if (state?.trouble !== undefined) onTrouble(state.trouble);
    (state === null || state.state === "open" ? open : closed).push(...types);
    if (state?.state !== "closed") continue;
    nextOpen = Math.min(nextOpen ?? Number.POSITIVE_INFINITY, Date.parse(state.until));
  }
  const all = open.length === 0;
  const isRestClosed = closed.includes(null) && !all;
  return {
    all,
    types: isRestClosed ? [] : closed.filter((type) => type !== null),
    only: isRestClosed ? open.filter((type) => type !== null) : null,
    nextOpen,
  };
}
