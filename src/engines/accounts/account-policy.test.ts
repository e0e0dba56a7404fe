import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { holds } from "../../../test/support/property.ts";
import {
  ACCOUNT_TRANSITIONS,
  type AccountState,
  accountAt,
  CLOSING_REASONS,
  openAccount,
  PARKING_REASONS,
} from "./account.ts";
import {
  afterClosing,
  afterOpening,
  afterSuccess,
  type Closing,
  isPlausible,
  pauseMs,
} from "./account-policy.ts";

const NOW = Date.parse("2026-11-15T12:00:00Z");
const MINUTE = 60_000;
const DAY = 86_400_000;
const iso = (ms: number) => new Date(ms).toISOString();

function closing(more: Partial<Closing> = {}): Closing {
  const by = { run: "r", worker: "w", task: "t" };
  const said = { message: "429", todo: "", by };
  return { reason: "rate_limited", until: null, ...said, began: NOW - MINUTE, ...more };
}

const untilOf = ({ until }: AccountState) => (until === null ? null : Date.parse(until) - NOW);
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const FRESH = openAccount("a");

/** Histories of an account: its events, with time in between. */
const event = fc.record({
  kind: fc.constantFrom("close" as const, "succeed" as const, "open" as const),
  reason: fc.constantFrom(...CLOSING_REASONS, ...PARKING_REASONS),
  ahead: fc.option(fc.integer({ min: -2 * DAY, max: 20 * DAY })),
  /** How long ago the run began that says so. */
  ago: fc.integer({ min: 0, max: 3 * 60 * MINUTE }),
  wait: fc.integer({ min: 0, max: 2 * 60 * MINUTE }),
  dice: random,
});
type Event = typeof event extends fc.Arbitrary<infer T> ? T : never;

function apply(stored: AccountState, e: Event, now: number): AccountState {
  const before = accountAt(stored, now);
  const began = now - e.ago;
  if (e.kind === "succeed") return afterSuccess(before, began, now);
  if (e.kind === "open") return afterOpening(before, "pia", now);
  const until = e.ahead === null ? null : iso(now + e.ahead);
  return afterClosing(before, closing({ reason: e.reason, until, began }), now, e.dice);
}

/** Each step of a history, with the state before and after it. */
function* steps(events: readonly Event[]) {
  let state: AccountState = FRESH;
  let now = NOW;
  for (const e of events) {
    now += e.wait;
    const before = accountAt(state, now);
    state = apply(state, e, now);
    yield { e, before, after: state, now };
  }
}

const histories = fc.array(event, { minLength: 1, maxLength: 12 });

describe("the pause without a reset time", () => {
  test("one minute, doubled for each in a row, at most an hour; a random half to whole of it", () => {
    const fulls = [1, 2, 4, 8, 16, 32, 60, 60, 60].map((minutes) => minutes * MINUTE);
    fulls.forEach((full, n) => {
      expect([pauseMs(n + 1, 0), pauseMs(n + 1, 1)]).toEqual([full / 2, full]);
    });
    holds(
      fc.property(fc.integer({ min: 1, max: 1e9 }), random, (failures, dice) => {
        const pause = pauseMs(failures, dice);
        expect(pause).toBeGreaterThanOrEqual(MINUTE / 2);
        expect(pause).toBeLessThanOrEqual(60 * MINUTE);
      }),
    );
  });

  test("grows with each closing by a run that began after the one before", () => {
    let state: AccountState = FRESH;
    let now = NOW;
    const pauses: number[] = [];
    for (let n = 0; n < 8; n++) {
      state = afterClosing(accountAt(state, now), closing({ began: now }), now, 1);
      pauses.push(Date.parse(state.until ?? "") - now);
      now = Date.parse(state.until ?? "") + 1;
    }
    expect(pauses.map((ms) => ms / MINUTE)).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
    state = afterSuccess(accountAt(state, now), now, now);
    expect(state).toMatchObject({ state: "open", failures: 0 });
    expect(untilOf(afterClosing(state, closing(), NOW, 1))).toBe(MINUTE);
  });

  test("ten that run into one limit are one failure, and its pause is not made longer", () => {
    let state: AccountState = FRESH;
    for (let n = 0; n < 10; n++) {
      state = afterClosing(state, closing({ began: NOW - MINUTE }), NOW + 1 + n, 0.5);
    }
    expect(state).toMatchObject({ failures: 1, until: iso(NOW + 1 + 0.75 * MINUTE) });
  });

  test("a run that began long ago and meets a limit later closes it too", () => {
    const first = afterClosing(FRESH, closing(), NOW, 1);
    const later = NOW + 30 * MINUTE;
    const second = afterClosing(accountAt(first, later), closing(), later, 1);
    expect(second).toMatchObject({ state: "closed", failures: 1, until: iso(later + MINUTE) });
  });
});

describe("a time that the vendor names", () => {
  test("counts, if it is ahead and at most eight days away", () => {
    expect(untilOf(afterClosing(FRESH, closing({ until: iso(NOW + 1) }), NOW, 1))).toBe(1);
    const far = afterClosing(FRESH, closing({ until: iso(NOW + 8 * DAY) }), NOW, 1);
    expect(untilOf(far)).toBe(8 * DAY);
    expect(far).toMatchObject({ message: "429", failures: 1 });
    const elsewhere = closing({ until: "2026-11-15T14:00:00+01:00" });
    expect(afterClosing(FRESH, elsewhere, NOW, 1).until).toBe("2026-11-15T13:00:00.000Z");
  });

  test.each([
    ["now", iso(NOW)],
    ["past", iso(NOW - DAY)],
    ["too far away", iso(NOW + 8 * DAY + 1)],
    ["no time", "tomorrow\nmorning"],
  ])("is ignored when it is %s: a pause instead, named in the message", (_, until) => {
    const state = afterClosing(FRESH, closing({ until }), NOW, 1);
    expect(untilOf(state)).toBe(MINUTE);
    expect(state.message).toContain("not plausible");
    expect(state.message).toContain(until.replace("\n", " "));
    expect(state.message).not.toContain("\n");
  });

  test("a person may name any time", () => {
    const asked = closing({ reason: "by_hand", until: iso(NOW + 30 * DAY) });
    expect(untilOf(afterClosing(FRESH, asked, NOW, 0))).toBe(30 * DAY);
  });
});

describe("closings in any order", () => {
  test("a time is plausible within eight days", () => {
    holds(
      fc.property(fc.integer({ min: -20 * DAY, max: 20 * DAY }), (ahead) => {
        expect(isPlausible(iso(NOW + ahead), NOW)).toBe(ahead > 0 && ahead <= 8 * DAY);
      }),
    );
  });

  test("two at once: the later time wins, in either order", () => {
    const ahead = fc.integer({ min: 1, max: 8 * DAY });
    holds(
      fc.property(ahead, ahead, (a, b) => {
        const one = closing({ until: iso(NOW + a) });
        const other = closing({ until: iso(NOW + b) });
        const either = afterClosing(afterClosing(FRESH, one, NOW, 0), other, NOW, 0);
        const turned = afterClosing(afterClosing(FRESH, other, NOW, 0), one, NOW, 0);
        expect([untilOf(either), untilOf(turned)]).toEqual([Math.max(a, b), Math.max(a, b)]);
      }),
    );
  });

  test("parked stays parked until a person opens it", () => {
    holds(
      fc.property(histories, (events) => {
        for (const { e, before, after } of steps(events)) {
          if (before.state !== "parked") continue;
          if (e.kind === "open") expect(after.state).toBe("open");
          else expect(after).toBe(before);
        }
      }),
    );
  });

  test("no closing opens it, and none makes it shorter", () => {
    holds(
      fc.property(histories, (events) => {
        for (const { e, before, after } of steps(events)) {
          if (e.kind !== "close" || before.state !== "closed") continue;
          expect(after.state).not.toBe("open");
          if (after.state !== "closed") continue;
          expect(Date.parse(after.until)).toBeGreaterThanOrEqual(Date.parse(before.until));
        }
      }),
    );
  });

  test("a success opens nothing that was closed after its run began, or by hand", () => {
    holds(
      fc.property(histories, (events) => {
        for (const { e, before, after, now } of steps(events)) {
          if (e.kind !== "succeed" || before.state === "open") continue;
          const isLater = now - e.ago < Date.parse(before.since);
          const stays = isLater || !["rate_limited", "unavailable"].includes(before.reason);
          expect(after.state).toBe(stays ? before.state : "open");
        }
      }),
    );
  });

  test("every step is one of the table's, and a limit never lasts longer than eight days", () => {
    const events = { close: ["limited", "refused", "closed_by_hand"], succeed: ["succeeded"] };
    holds(
      fc.property(histories, (history) => {
        for (const { e, before, after, now } of steps(history)) {
          const kinds = e.kind === "open" ? ["opened"] : events[e.kind];
          const allowed = kinds.map(
            (kind) => ACCOUNT_TRANSITIONS[before.state][kind as "limited" | "refused"],
          );
          expect([before.state, ...allowed]).toContain(after.state);
          if (after.reason !== "rate_limited") continue;
          expect(Date.parse(after.until) - now).toBeLessThanOrEqual(8 * DAY);
        }
      }),
    );
  });
});

test("a run from before a person opened it changes nothing", () => {
  const parked = afterClosing(FRESH, closing({ reason: "unauthorized" }), NOW, 0);
  expect(parked).toMatchObject({ state: "parked", until: null });
  const opened = afterOpening(parked, "pia", NOW + 5);
  const late = closing({ reason: "unauthorized", began: NOW + 4 });
  expect(afterClosing(opened, late, NOW + 6, 0)).toBe(opened);
  const next = { ...late, began: NOW + 5 };
  expect(afterClosing(opened, next, NOW + 6, 0).state).toBe("parked");
});

test("a message of any size and shape becomes a short line", () => {
  const state = afterClosing(FRESH, closing({ message: `a\n\n b${"x".repeat(9000)}` }), NOW, 0);
  expect(state.message).toMatch(/^a bx+$/);
  expect(state.message.length).toBe(500);
});
