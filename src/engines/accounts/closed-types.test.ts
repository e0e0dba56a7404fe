import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { holds } from "../../../test/support/property.ts";
import { type AccountState, openAccount, type RoutedEngine } from "./account.ts";
import type { Accounts } from "./accounts.ts";
import { closedTypes } from "./closed-types.ts";

const NOW = Date.parse("2026-11-15T12:00:00Z");

/** Routes by type, each with its account (null: none). */
function routesOf(accounts: Record<string, string | null>): Map<string, RoutedEngine> {
  return new Map(
    Object.entries(accounts).map(([type, account]) => [
      type,
      { type, engine: { account } } as unknown as RoutedEngine,
    ]),
  );
}

/** Accounts in memory, which count how often they are looked at. */
function gates() {
  const states = new Map<string, AccountState>();
  const count = { reads: 0, looks: 0 };
  let changed = 1;
  const accounts = {
    read: (account: string) => {
      count.reads++;
      return states.get(account) ?? openAccount(account);
    },
    changedAt: () => {
      count.looks++;
      return changed;
    },
  } as Accounts;
  const set = (account: string, until: number | null | "open", trouble?: string) => {
    changed++;
    const base = { account, since: "", message: "", todo: "", by: null, failures: 1 };
    if (until === "open") states.set(account, openAccount(account, trouble ? { trouble } : {}));
    else if (until === null) {
      states.set(account, { ...base, state: "parked", reason: "quota", until });
    } else {
      const iso = new Date(until).toISOString();
      states.set(account, { ...base, state: "closed", reason: "rate_limited", until: iso });
    }
  };
  return { accounts, set, count };
}

function ask(
  routes: Record<string, string | null>,
  closed: Record<string, number | null>,
  types: readonly string[] | null = null,
) {
  const { accounts, set } = gates();
  for (const [account, until] of Object.entries(closed)) set(account, until);
  return closedTypes({ accounts, routes: routesOf(routes), types, now: () => NOW })?.();
}

describe("which types are closed", () => {
  const ROUTES = { a: "x", b: "y", c: null, default: null };

  test("no account in any route: nothing to ask", () => {
    expect(ask({ a: null, default: null }, {})).toBeUndefined();
    expect(ask({}, {})).toBeUndefined();
    expect(ask({ a: "../x" }, {}, ["a"])).toBeUndefined();
    // Nor when this worker does not take what has one.
    expect(ask(ROUTES, { x: null }, ["c", "d"])).toBeUndefined();
  });

  test("types with a closed account, until the first opens", () => {
    expect(ask(ROUTES, {})).toMatchObject({ types: [], only: null, all: false, nextOpenMs: null });
    expect(ask(ROUTES, { x: NOW + 5, y: NOW + 3 })).toMatchObject({
      ...{ types: ["a", "b"], only: null, all: false },
      nextOpenMs: 3,
    });
    expect(ask(ROUTES, { x: null, z: NOW + 1 })).toMatchObject({ types: ["a"], nextOpenMs: null });
  });

  test("all that the worker takes", () => {
    expect(ask(ROUTES, { x: NOW + 5 }, ["a"])).toMatchObject({ all: true, nextOpenMs: 5 });
    expect(ask(ROUTES, { x: NOW + 5 }, ["a", "c"])).toMatchObject({ all: false, types: ["a"] });
    expect(ask({ default: "x" }, { x: null })).toMatchObject({ all: true, nextOpenMs: null });
    expect(ask({ a: "x", default: "y" }, { x: null, y: null })).toMatchObject({ all: true });
  });

  test("every type but some: then only those some", () => {
    const routes = { a: "x", b: "y", c: null, default: "x" };
    expect(ask(routes, { x: NOW + 9 })).toMatchObject({
      ...{ types: [], only: ["b", "c"], all: false },
      nextOpenMs: 9,
    });
    expect(ask(routes, { x: null }, ["b", "other"])).toMatchObject({
      types: ["other"],
      only: null,
    });
  });

  test("for each type by its own route, or else the default", () => {
    const account = fc.option(fc.constantFrom("x", "y"));
    const routes = fc.record({ a: account, b: account, default: account });
    const types = fc.option(fc.subarray(["a", "b", "c"], { minLength: 1 }));
    holds(
      fc.property(routes, fc.subarray(["x", "y"]), types, (given, closed, asked) => {
        const answer = ask(given, Object.fromEntries(closed.map((x) => [x, null])), asked);
        const isClosed = (type: string) => {
          const used = type === "a" || type === "b" ? given[type] : given.default;
          return used !== null && closed.includes(used);
        };
        for (const type of asked ?? ["a", "b", "c"]) {
          const { types: but = [], only = null, all = false } = answer ?? {};
          const isLeft = all || but.includes(type) || (only !== null && !only.includes(type));
          expect(isLeft).toBe(isClosed(type));
        }
      }),
    );
  });
});

describe("how often the files are read", () => {
  function scene(account = "x") {
    const { accounts, set, count } = gates();
    const clock = { now: NOW };
    const said: string[] = [];
    const closed = closedTypes({
      accounts,
      routes: routesOf({ a: account, default: null }),
      types: null,
      now: () => clock.now,
      onWarning: (message) => void said.push(message),
    });
    if (!closed) throw new Error("a route has an account");
    return { closed, set, count, clock, said };
  }

  test("only after a change, at a due time, or after a while", () => {
    const { closed, set, count, clock } = scene();
    for (let n = 0; n < 100; n++) closed();
    expect(count).toEqual({ reads: 1, looks: 100 });
    set("x", NOW + 1_000);
    expect(closed()).toMatchObject({ types: ["a"], nextOpenMs: 1_000 });
    clock.now += 400;
    expect(closed()).toMatchObject({ types: ["a"], nextOpenMs: 600 });
    expect(count.reads).toBe(2);
    clock.now += 600;
    closed();
    expect(count.reads).toBe(3);
    set("x", "open");
    expect(closed().types).toEqual([]);
    clock.now += 4_999;
    closed();
    expect(count.reads).toBe(4);
    clock.now += 1;
    closed();
    expect(count.reads).toBe(5);
    clock.now -= 3_600_000; // the clock was set back
    closed();
    expect(count.reads).toBe(6);
  });

  test("again soon after a change: the next one may have the same time", () => {
    const { closed, count, clock } = scene();
    clock.now = 20; // changedAt() says 1
    closed();
    closed();
    expect(count.reads).toBe(2);
    clock.now = 60;
    closed();
    closed();
    expect(count.reads).toBe(3);
  });

  test("a file that cannot be used gives one warning", () => {
    const { closed, set, said, clock } = scene();
    set("x", "open", "bad file");
    closed();
    clock.now += 10_000;
    expect(closed().all).toBe(false);
    expect(said).toEqual(["bad file"]);
  });
});

describe("a full gate", () => {
  const routes = routesOf({ model: null, limited: "acme" });
  routes.set("plain", { type: "plain" } as unknown as RoutedEngine);

  test("closes types with an engine until there is room, without a person", () => {
    const { accounts, set } = gates();
    let full: string | null = "full";
    const options = { accounts, routes, types: null, now: () => NOW, full: () => full };
    const closed = closedTypes(options);
    expect(closed?.()).toMatchObject({
      ...{ types: ["model", "limited"], only: null, all: false },
      ...{ nextOpenMs: 1_000, reasons: ["full"] },
    });
    const waits = (type: string) => [closed?.().waitsAtGate(type), closed?.().waitsForPeople(type)];
    expect(["model", "limited", "plain", "other"].map(waits)).toEqual([
      [true, false],
      [true, false],
      [false, false],
      [false, false],
    ]);
    // With its account closed it would not be claimed with a slot either.
    set("acme", null);
    expect(["model", "limited"].map(waits)).toEqual([
      [true, false],
      [false, true],
    ]);
    full = null;
    expect(closed?.()).toMatchObject({ types: ["limited"], nextOpenMs: null });
    expect(waits("model")).toEqual([false, false]);
  });

  test("is not asked where there is no engine", () => {
    const { accounts } = gates();
    const plain = new Map([["plain", { type: "plain" } as unknown as RoutedEngine]]);
    const options = { accounts, types: null, now: () => NOW, full: () => "full" };
    expect(closedTypes({ ...options, routes: plain })).toBeUndefined();
  });
});
