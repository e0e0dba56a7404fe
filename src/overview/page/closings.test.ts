import { expect, it } from "vitest";
import type { AccountState } from "../../engines/accounts/account.ts";
import type { LedgerLine } from "../../queue/ledger.ts";
import { Closings } from "./closings.ts";

const at = (minute: number) => Date.UTC(2026, 10, 18, 1, minute);
const iso = (minute: number) => new Date(at(minute)).toISOString();

function closings(...lines: [minute: number, line: Partial<LedgerLine>][]): Closings {
  const all = new Closings();
  for (const [minute, line] of lines) {
    all.add({ at: iso(minute), account: "main", ...line } as LedgerLine, at(minute));
  }
  return all;
}

const closed = (until: number | null, account = "main") => ({
  ...{ event: "account_closed" as const, account, until: until === null ? null : iso(until) },
});
const OPENED = { event: "account_opened" as const };
const none = { message: "", todo: "", by: null, failures: 1 };
const openSince = (minute: number): AccountState => ({
  ...{ account: "main", state: "open", reason: null, until: null, since: iso(minute), ...none },
});
const shown = (all: Closings, now: AccountState[] = [], start = 0) =>
  all.since(at(start), now).map(({ account, from, to }) => [account, from, to]);

it("has past closings: to their time, or until a run succeeded before it", () => {
  const all = closings([1, closed(5)], [10, closed(30)], [12, OPENED], [40, closed(50, "other")]);
  expect(shown(all)).toEqual([
    ["main", iso(1), iso(5)],
    ["main", iso(10), iso(12)],
    ["other", iso(40), iso(50)],
  ]);
  expect(shown(all, [], 11).map(([, from]) => from)).toEqual([iso(10), iso(40)]);
});

it("does not show a time twice that was closed again", () => {
  expect(shown(closings([1, closed(10)], [2, closed(20)]))).toEqual([
    ["main", iso(1), iso(2)],
    ["main", iso(2), iso(20)],
  ]);
});

it("takes what lasts from the account itself, once, also by another run or a person", () => {
  const now: AccountState = {
    ...{ account: "main", state: "closed", reason: "rate_limited", until: iso(59), since: iso(10) },
    ...none,
  };
  expect(shown(closings([1, closed(5)], [10, closed(30)]), [now])).toEqual([
    ["main", iso(1), iso(5)],
    ["main", iso(10), iso(59)],
  ]);
  expect(shown(closings(), [now])).toEqual([["main", iso(10), iso(59)]]);
});

it("ends the last one when a person opened it; a parked one lasts until then", () => {
  expect(shown(closings([1, closed(60)]), [openSince(7)])).toEqual([["main", iso(1), iso(7)]]);
  expect(shown(closings([1, closed(null)]), [openSince(7)])).toEqual([["main", iso(1), iso(7)]]);
  expect(shown(closings([1, closed(null)]))).toEqual([["main", iso(1), null]]);
  expect(shown(closings([1, closed(5)]), [openSince(7)])).toEqual([["main", iso(1), iso(5)]]);
});
