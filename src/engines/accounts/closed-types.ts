import { isName } from "../../base/names.ts";
import { accountOfRoute, describeAccount, type RoutedEngine } from "./account.ts";
import type { Accounts } from "./accounts.ts";

/**
 * Types that a worker does not claim for now: their account is closed, the budget is used up, or the
 * machine's gate is full.
 */
export interface ClosedTypes {
  /** Not these; empty with `only`. */
  types: readonly string[];
  /** Only these, when every type without a route of its own is closed. */
  only: readonly string[] | null;
  /** Nothing that this worker takes may be claimed. */
  all: boolean;
  /** In how long the next account opens by itself; null when none does. */
  nextOpenMs: number | null;
  /** Must a person open it? */
  waitsForPeople(type: string): boolean;
  /** Is the gate the only reason? */
  waitsAtGate(type: string): boolean;
  /** For people: a sentence for each account and budget, and for the gate. */
  reasons: readonly string[];
}

interface ClosedTypesOptions {
  accounts: Accounts;
  /** By type; `default` is for every type that has none. */
  routes: ReadonlyMap<string, RoutedEngine>;
  /** The types that the worker takes; null: any. */
  types: readonly string[] | null;
  now(): number;
  /**
   * The budget of the run or of the day is used up, or reserved, for this type (null: for all that have no
   * route of their own).
   */
  spent?: (type: string | null) => UsedUp | null;
  /** Why no task of this type is claimed, with or without a model: a person can help. */
  held?: (type: string | null) => Omit<UsedUp, "isForPeople"> | null;
  /** Why the machine's gate has no slot for an engine. */
  full?: () => string | null;
  /** Once for each file that cannot be used. */
  onWarning?: (message: string) => void;
}

/** A file that was edited in place does not show as changed: it is read again after so long. */
const VALID_MS = 5_000;
/** Slots come back without notice. */
const GATE_LOOK_MS = 1_000;
/** The file system's clock may stand still for so long: a second change would not show. */
const UNSETTLED_MS = 50;

/**
 * Called before every claim, so it reads the files only when one has changed or a time has come.
 * Undefined when no route uses an account, and none is limited by a budget or a gate.
 */
export function closedTypes(options: ClosedTypesOptions): (() => ClosedTypes) | undefined {
  const { accounts, now } = options;
  const types = typesOf(options);
  const usesModels = types.some((one) => one.usesModel);
  const spent = usesModels ? options.spent : undefined;
  const full = usesModels ? options.full : undefined;
  const { held } = options;
  const hasAccounts = types.some(({ account }) => account !== null);
  if (!spent && !full && !held && !hasAccounts) return undefined;
  const warned = new Set<string>();
  const warn = (message: string) => {
    if (!warned.has(message)) options.onWarning?.(message);
    warned.add(message);
  };
  let seen = Number.NaN;
  let validUntil = Number.NEGATIVE_INFINITY;
  let readAt = 0;
  let wasHeld = "";
  let last: Reading | undefined;
  return () => {
    const at = now();
    const changed = hasAccounts ? accounts.changedAt() : 0;
    const usedUp = types.map(({ name, usesModel }) => {
      const one = held?.(name);
      if (one) return { ...one, isForPeople: true };
      return (usesModel && spent?.(name)) || null;
    });
    const gate = full?.() ?? null;
    const state = `${usedUp.map((one) => one?.text)} ${gate !== null}`;
    if (!last || changed !== seen || at >= validUntil || at < readAt || wasHeld !== state) {
      wasHeld = state;
      last = read(types, accounts, { usedUp, gate }, at, warn);
      seen = Math.abs(at - changed) < UNSETTLED_MS ? Number.NaN : changed;
      readAt = at;
      validUntil = Math.min(at + VALID_MS, last.nextOpen ?? Number.POSITIVE_INFINITY);
    }
    const { nextOpen, ...rest } = last;
    const openMs = nextOpen === null ? null : Math.max(0, nextOpen - at);
    const nextOpenMs = gate === null ? openMs : Math.min(openMs ?? GATE_LOOK_MS, GATE_LOOK_MS);
    return { ...rest, nextOpenMs };
  };
}

type Reading = Omit<ClosedTypes, "nextOpenMs"> & { nextOpen: number | null };

interface Type {
  /** Null: all types without a route of their own. */
  name: string | null;
  usesModel: boolean;
  account: string | null;
}

function typesOf({ routes, types }: ClosedTypesOptions): Type[] {
  const routed = [...routes.keys()].filter((type) => type !== "default");
  return (types ?? [...routed, null]).map((name) => {
    const route = routes.get(name ?? "default") ?? routes.get("default");
    const account = accountOfRoute(route);
    return { name, usesModel: !!route?.engine, account: isName(account) ? account : null };
  });
}

interface UsedUp {
  /** When it comes back by itself. */
  until: number | null;
  text: string;
  /** Although it is looked at again by itself. */
  isForPeople?: boolean;
}

function read(
  types: readonly Type[],
  accounts: Accounts,
  { usedUp, gate }: { usedUp: readonly (UsedUp | null)[]; gate: string | null },
  now: number,
  onWarning: (message: string) => void,
): Reading {
  const closed: (string | null)[] = [];
  const open: (string | null)[] = [];
  const reasons = usedUp.flatMap((one) => (one ? [one.text] : []));
  if (gate !== null) reasons.push(gate);
  const forPeople = new Map<string | null, boolean>();
  const atGate = new Map<string | null, boolean>();
  let nextOpen: number | null = null;
  for (const [i, { name, usesModel, account }] of types.entries()) {
    const budget = usedUp[i];
    const state = account === null ? null : accounts.read(account);
    if (state?.trouble !== undefined) onWarning(state.trouble);
    if (state && state.state !== "open") {
      reasons.push(`account ${account} ${describeAccount(state, now)}`);
    }
    const isUsable = (state === null || state.state === "open") && !budget;
    const isOpen = isUsable && !(usesModel && gate !== null);
    (isOpen ? open : closed).push(name);
    const until = state?.state === "closed" ? Date.parse(state.until) : null;
    const times = [until, budget?.until].filter((time) => typeof time === "number");
    const needsPerson = times.length === 0 || budget?.isForPeople === true;
    forPeople.set(name, !isUsable && needsPerson);
    atGate.set(name, isUsable && !isOpen);
    if (!isUsable && times.length > 0) {
      nextOpen = Math.min(nextOpen ?? Number.POSITIVE_INFINITY, ...times);
    }
  }
  const isAll = open.length === 0;
  const isRestClosed = closed.includes(null) && !isAll;
  return {
    all: isAll,
    types: isRestClosed ? [] : closed.filter((type) => type !== null),
    only: isRestClosed ? open.filter((type) => type !== null) : null,
    nextOpen,
    waitsForPeople: (type) => forPeople.get(type) ?? forPeople.get(null) ?? false,
    waitsAtGate: (type) => atGate.get(type) ?? atGate.get(null) ?? false,
    reasons: [...new Set(reasons)],
  };
}
