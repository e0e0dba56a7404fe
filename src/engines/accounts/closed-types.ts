import { isName } from "../../base/names.ts";
import { accountOfRoute, describeAccount, type RoutedEngine } from "./account.ts";
import type { Accounts } from "./accounts.ts";

/**
 * What a worker leaves alone for now: its account is closed, the money for models is spent, or the
 * machine's gate is full.
 */
export interface ClosedTypes {
  /** Not these; empty when `only` says it. */
  types: readonly string[];
  /** Only these: the account of every type without a route of its own is closed. Null: not so. */
  only: readonly string[] | null;
  /** Nothing that this worker takes may be claimed. */
  all: boolean;
  /** In how long the next account opens by itself; null when none does. */
  nextOpenMs: number | null;
  /** Does it open only when a person does something about it? */
  waitsForPeople(type: string): boolean;
  /** Does only the gate keep it from being claimed? */
  waitsAtGate(type: string): boolean;
  /** Why, for people: a sentence for each account and budget, and for the gate. */
  reasons: readonly string[];
}

export interface ClosedTypesOptions {
  accounts: Accounts;
  /** By type; `default` is for every type that has none. */
  routes: ReadonlyMap<string, RoutedEngine>;
  /** What the worker takes; null: any. */
  types: readonly string[] | null;
  now(): number;
  /**
   * The budget of the run or of the day is used up, or reserved, for this type (null: for all that have no
   * route of their own); `until`, if it comes back by itself.
   */
  spent?: (type: string | null) => Broke | null;
  /** The machine's gate has no slot for an engine: in words. */
  full?: () => string | null;
  /** A file that cannot be used: said once. */
  onTrouble?: (message: string) => void;
}

/** How long what was read is believed: a file that is edited in its place does not show. */
const BELIEVED_MS = 5_000;
/** Slots come back when somebody leaves, and nobody knows when. */
const GATE_LOOK_MS = 1_000;
/** The file system's clock may stand still for so long: a second change would not show. */
const UNSETTLED_MS = 50;

/**
 * Asked before every claim, so it looks at the files only when one has changed or a time has come.
 * Undefined when no route uses an account, and none is limited by a budget or a gate.
 */
export function closedTypes(options: ClosedTypesOptions): (() => ClosedTypes) | undefined {
  const { accounts, now } = options;
  const groups = groupsOf(options);
  const usesModels = groups.some((group) => group.usesModels);
  const spent = usesModels ? options.spent : undefined;
  const full = usesModels ? options.full : undefined;
  if (!spent && !full && groups.every(({ account }) => account === null)) return undefined;
  const told = new Set<string>();
  let seen = Number.NaN;
  let validUntil = Number.NEGATIVE_INFINITY;
  let readAt = 0;
  let wasHeld = "";
  let last: Reading = NOTHING_CLOSED;
  return () => {
    const at = now();
    const changed = accounts.changedAt();
    const broke = groups.map((one) => (one.usesModels && spent?.(one.types[0] ?? null)) || null);
    const gate = full?.() ?? null;
    const held = `${broke.map((one) => one?.text)} ${gate !== null}`;
    if (changed !== seen || at >= validUntil || at < readAt || wasHeld !== held) {
      wasHeld = held;
      last = read(groups, accounts, { broke, gate }, at, (message) => {
        if (told.has(message)) return;
        told.add(message);
        options.onTrouble?.(message);
      });
      seen = Math.abs(at - changed) < UNSETTLED_MS ? Number.NaN : changed;
      readAt = at;
      validUntil = Math.min(at + BELIEVED_MS, last.nextOpen ?? Number.POSITIVE_INFINITY);
    }
    const { nextOpen, ...rest } = last;
    const openMs = nextOpen === null ? null : Math.max(0, nextOpen - at);
    const nextOpenMs = gate === null ? openMs : Math.min(openMs ?? GATE_LOOK_MS, GATE_LOOK_MS);
    return { ...rest, nextOpenMs };
  };
}

const NOTHING_CLOSED: Reading = {
  ...{ types: [], only: null, all: false, nextOpen: null, reasons: [] },
  waitsForPeople: () => false,
  waitsAtGate: () => false,
};

interface Reading extends Omit<ClosedTypes, "nextOpenMs"> {
  nextOpen: number | null;
}

/** Types that share an account; null as the type stands for all that have no route of their own. */
interface Group {
  account: string | null;
  usesModels: boolean;
  types: (string | null)[];
}

function groupsOf({ routes, types }: ClosedTypesOptions): Group[] {
  const ours = types ?? [...routes.keys()].filter((type) => type !== "default");
  const groups = new Map<string, Group>();
  for (const type of types === null ? [...ours, null] : ours) {
    const own = type === null ? undefined : routes.get(type);
    const route = own ?? routes.get("default");
    const named = accountOfRoute(route);
    const account = isName(named) ? named : null;
    const usesModels = route?.engine !== undefined;
    // Steps of one type may cost more than those of another.
    const key = usesModels ? `model ${type}` : `${account}`;
    const group = groups.get(key) ?? { account, usesModels, types: [] };
    group.types.push(type);
    groups.set(key, group);
  }
  return [...groups.values()];
}

interface Broke {
  until: number | null;
  text: string;
}

function read(
  groups: readonly Group[],
  accounts: Accounts,
  { broke: all, gate }: { broke: readonly (Broke | null)[]; gate: string | null },
  now: number,
  onTrouble: (message: string) => void,
): Reading {
  const closed: (string | null)[] = [];
  const open: (string | null)[] = [];
  const reasons = all.flatMap((broke) => (broke ? [broke.text] : []));
  if (gate !== null) reasons.push(gate);
  /** Of each type that has a route of its own, and of the rest. */
  const forPeople = new Map<string | null, boolean>();
  const atGate = new Map<string | null, boolean>();
  let nextOpen: number | null = null;
  for (const [i, { account, usesModels, types }] of groups.entries()) {
    const broke = all[i];
    const state = account === null ? null : accounts.read(account);
    if (state?.trouble !== undefined) onTrouble(state.trouble);
    const isUsable = (state === null || state.state === "open") && !(usesModels && broke);
    const isOpen = isUsable && !(usesModels && gate !== null);
    (isOpen ? open : closed).push(...types);
    if (state && state.state !== "open") {
      reasons.push(`account ${account} ${describeAccount(state, now)}`);
    }
    const times = [state?.state === "closed" ? Date.parse(state.until) : null, broke?.until];
    const isTimed = times.some((time) => typeof time === "number");
    for (const type of types) {
      forPeople.set(type, !isUsable && !isTimed);
      atGate.set(type, isUsable && !isOpen);
    }
    for (const time of isUsable ? [] : times) {
      if (typeof time === "number") nextOpen = Math.min(nextOpen ?? time, time);
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
