import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { holds } from "../../test/support/property.ts";
import type { Target } from "./config.ts";
import { type Message, newMessage } from "./message.ts";
import { afterTry, MOST_REQUESTS, MOST_TRIES, type Pace, planned, WITHIN_MS } from "./plan.ts";

const NOW = Date.parse("2026-11-16T12:00:00.000Z");
const iso = (ms: number) => new Date(ms).toISOString();
const target = (more: Partial<Target> = {}): Target => ({
  ...{ name: "t", on: ["review"], way: { kind: "desktop" }, ...more },
});
const message = (id: string, more: Partial<Message> = {}): Message => ({
  ...newMessage({ id, target: "t", place: "run", entered: iso(NOW) }, [
    { fact: id, event: "review", at: iso(NOW), text: id },
  ]),
  ...more,
});
const many = (n: number) => Array.from({ length: n }, (_, i) => message(`m${i}`));
const plan = (messages: Message[], one = target(), pace: Pace = { requests: [] }, now = NOW) => {
  const { batches, next } = planned(messages, [one], () => pace, now);
  return { batches: batches.map((b) => b.messages.map(({ id }) => id)), next };
};

describe("what is sent now", () => {
  it("is each message by itself, up to five a minute, and else all in one", () => {
    expect(plan(many(2))).toEqual({ batches: [["m0"], ["m1"]], next: null });
    expect(plan(many(5)).batches).toHaveLength(5);
    expect(plan(many(6)).batches).toEqual([["m0", "m1", "m2", "m3", "m4", "m5"]]);
    const two = [NOW - 40_000, NOW - 10_000, NOW - 5_000, NOW - 4_000, NOW - 3_000];
    expect(plan(many(2), target(), { requests: two })).toEqual({ batches: [], next: NOW + 20_000 });
    expect(plan(many(2), target(), { requests: two.slice(1) }).batches).toEqual([["m0", "m1"]]);
  });

  it("waits for the end of quiet hours, of a digest, and of what the server asked for", () => {
    const local = new Date(NOW);
    const minute = local.getHours() * 60 + local.getMinutes();
    const quiet = { from: minute, to: (minute + 30) % 1440 };
    expect(plan(many(1), target({ quiet }))).toEqual({ batches: [], next: NOW + 30 * 60_000 });
    const digest = target({ digestMs: 60_000 });
    expect(plan(many(2), digest)).toEqual({ batches: [], next: NOW + 60_000 });
    expect(plan(many(2), digest, undefined, NOW + 60_000).batches).toEqual([["m0", "m1"]]);
    expect(planned(many(2), [digest], () => ({ requests: [] }), NOW, true).batches).toHaveLength(1);
    const pace = { requests: [], until: NOW + 5 };
    expect(plan(many(1), target(), pace)).toEqual({ batches: [], next: NOW + 5 });
    expect(plan([message("a", { due: iso(NOW + 9) }), message("b")])).toEqual({
      ...{ batches: [["b"]], next: NOW + 9 },
    });
  });

  it("leaves messages to targets that are gone", () => {
    expect(plan([message("a", { target: "other" })])).toEqual({ batches: [], next: null });
  });

  it("is never more than five requests within a minute, and never forgets a message", () => {
    const gaps = fc.array(
      fc.tuple(fc.integer({ min: 0, max: 90_000 }), fc.integer({ min: 0, max: 12 })),
    );
    holds(
      fc.property(gaps, (steps) => {
        let [now, made] = [NOW, 0];
        let waiting: Message[] = [];
        const requests: number[] = [];
        const sent = new Set<string>();
        const pass = () => {
          for (;;) {
            const { batches, next } = planned(waiting, [target()], () => ({ requests }), now);
            const [batch] = batches;
            if (batch === undefined) return next;
            requests.push(now);
            const ids = new Set(batch.messages.map(({ id }) => id));
            for (const id of ids) sent.add(id);
            waiting = waiting.filter(({ id }) => !ids.has(id));
          }
        };
        for (const [gap, count] of steps) {
          now += gap;
          for (let i = 0; i < count; i++) waiting.push(message(`m${made++}`));
          pass();
        }
        for (let next = pass(); next !== null; next = pass()) now = next;
        expect(sent.size).toBe(made);
        for (const at of requests) {
          const within = requests.filter((one) => one >= at && one < at + WITHIN_MS);
          expect(within.length).toBeLessThanOrEqual(MOST_REQUESTS);
        }
      }),
    );
  });
});

describe("a try that failed and may succeed", () => {
  const again = { kind: "again" as const, reason: "status 500" };

  it("is repeated with growing pauses, at least as long as the server asks, then given up", () => {
    let one = message("a");
    const pauses: number[] = [];
    for (let n = 1; n < MOST_TRIES; n++) {
      const { message: after, until = 0 } = afterTry(one, again, NOW, 1);
      expect(after).toMatchObject({ tries: n, reason: "status 500", end: { state: "new" } });
      pauses.push((until - NOW) / 1000);
      one = after;
    }
    expect(pauses).toEqual([5, 10, 20, 40, 80, 160, 320, 640, 900]);
    const { message: last, until } = afterTry(one, again, NOW, 1);
    expect(last).toMatchObject({ reason: "10 tries: status 500", end: { state: "failed" } });
    expect(until).toBeUndefined();
    const asked = afterTry(message("b"), { ...again, waitMs: 90_000 }, NOW, 0);
    expect(asked.message.due).toBe(iso(NOW + 90_000));
    const greedy = afterTry(message("b"), { ...again, waitMs: 1e12 }, NOW, 0);
    expect(greedy.until).toBe(NOW + 6 * 3_600_000);
  });

  it("is not repeated when it was refused, or may have arrived", () => {
    const ended = (kind: "refused" | "unsure") =>
      afterTry(message("a"), { kind, reason: "so" }, NOW, 0).message;
    expect(ended("refused")).toMatchObject({ reason: "so", end: { state: "failed" } });
    expect(ended("unsure")).toMatchObject({ reason: "so", end: { state: "unsure" } });
  });
});
