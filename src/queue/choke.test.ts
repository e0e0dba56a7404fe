import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { holds } from "../../test/support/property.ts";
import { type AttemptRecord, type HistoryRecord, OUTCOMES } from "./attempt.ts";
import {
  afterChoke,
  CHOKE_AT,
  chokedWorkers,
  chokesIn,
  isNoWorkerLeft,
  mayTry,
  newChoke,
  type Taker,
} from "./choke.ts";
import { countsAsFailure } from "./retry.ts";

const attempt = (more: Partial<AttemptRecord> = {}): AttemptRecord => ({
  attempt: 1,
  worker: "w1",
  token: "t",
  outcome: "failed",
  to: "waiting",
  at: "2026-01-01T00:00:00Z",
  ...more,
});
const retried: HistoryRecord = { retried: true, by: "me", at: "2026-01-01T00:00:00Z" };
const same = (worker = "w1") => attempt({ worker, fingerprint: "f", note: "boom" });

const WORKERS = ["w1", "w2", "w3"];
const record: fc.Arbitrary<HistoryRecord> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc
      .record({
        worker: fc.constantFrom(...WORKERS),
        outcome: fc.oneof(
          { weight: 6, arbitrary: fc.constantFrom("failed" as const, "timed_out" as const) },
          { weight: 1, arbitrary: fc.constantFrom(...OUTCOMES) },
        ),
        fingerprint: fc.constantFrom("f", "f", "f", "g", ""),
      })
      .map(attempt),
  },
  { weight: 1, arbitrary: fc.constant(retried) },
);
const history = fc.array(record, { maxLength: 30 });
const workers: fc.Arbitrary<Taker[]> = fc.uniqueArray(
  fc.record({
    name: fc.constantFrom(...WORKERS),
    alive: fc.boolean(),
    types: fc.constantFrom(null, ["t"], ["u"], ["t", "u"]),
  }),
  { selector: ({ name }) => name },
);

describe("a choke", () => {
  test("is the third counted failure in a row with one fingerprint", () => {
    const other = attempt({ fingerprint: "g" });
    expect(chokesIn([same(), same()])).toEqual([]);
    expect(chokesIn([same(), same(), same()])).toMatchObject([{ worker: "w1", note: "boom" }]);
    const between = [attempt({ outcome: "rate_limited" }), attempt({ outcome: "abandoned" })];
    expect(chokesIn([same(), ...between, same(), ...between, same()])).toHaveLength(1);
    expect(chokesIn([same(), other, same(), same()])).toEqual([]);
    expect(chokesIn([attempt(), attempt(), attempt()])).toEqual([]);
    expect(chokesIn([same(), same(), attempt(), same()])).toEqual([]);
    expect(chokesIn([same(), same(), retried, same()])).toEqual([]);
    expect(chokesIn([same(), same(), same(), retried])).toEqual([]);
  });

  test("begins the count anew: each worker has its three", () => {
    const first = [same(), same(), same()];
    expect(newChoke([...first, same("w2"), same("w2")])).toBeNull();
    const second = [...first, same("w2"), same("w2"), same("w2")];
    expect(newChoke(second)).toMatchObject({ worker: "w2" });
    expect([...chokedWorkers(second)]).toEqual(["w1", "w2"]);
  });

  test("belongs to the worker of the third failure", () => {
    const mixed = [same("w2"), same("w1"), same("w3")];
    expect(newChoke(mixed)).toMatchObject({ worker: "w3", workers: ["w2", "w1", "w3"] });
    expect([...chokedWorkers(mixed)]).toEqual(["w3"]);
  });

  test("never more of them than thirds of the counted failures, nor from before a retry", () => {
    holds(
      fc.property(history, (past) => {
        const since = past.slice(past.lastIndexOf(retried) + 1) as AttemptRecord[];
        const counted = since.filter(({ outcome }) => countsAsFailure(outcome));
        const chokes = chokesIn(past);
        expect(chokes.length).toBeLessThanOrEqual(counted.length / CHOKE_AT);
        for (const { attempt: third, worker, workers: all } of chokes) {
          const at = counted.indexOf(third);
          const row = counted.slice(at - 2, at + 1);
          expect(row).toHaveLength(CHOKE_AT);
          expect(new Set(row.map(({ fingerprint }) => fingerprint)).size).toBe(1);
          expect(third.fingerprint).toBeTruthy();
          expect(worker).toBe(third.worker);
          expect(all.sort()).toEqual([...new Set(row.map((one) => one.worker))].sort());
        }
        expect(chokesIn([...past, retried])).toEqual([]);
      }),
    );
  });

  test("a row of three that no choke has used is a new one", () => {
    holds(
      fc.property(history, (past) => {
        // A failure of another kind ends whatever row there was.
        const fresh = [...past, attempt({ fingerprint: "other" }), same(), same()];
        expect(newChoke(fresh)).toBeNull();
        expect(newChoke([...fresh, same()])).not.toBeNull();
        expect(newChoke([...fresh, same(), attempt({ outcome: "released" })])).toBeNull();
      }),
    );
  });
});

describe("after a choke", () => {
  test("living workers that take the type and have not choked may try", () => {
    holds(
      fc.property(history, workers, (past, all) => {
        const left = mayTry(all, "t", past);
        for (const { name, alive, types } of all) {
          const may = alive && types?.includes("t") !== false && !chokedWorkers(past).has(name);
          expect(left.includes(name)).toBe(may);
        }
      }),
    );
  });

  test("each choke leaves fewer, so a task that no worker can do comes to an end", () => {
    holds(
      fc.property(fc.uniqueArray(fc.constantFrom(...WORKERS), { minLength: 1 }), (names) => {
        const all = names.map((name) => ({ name, alive: true, types: null }));
        const past: AttemptRecord[] = [];
        for (let tries = 0; ; tries++) {
          const [next] = mayTry(all, "t", past);
          if (next === undefined) {
            expect(tries).toBe(CHOKE_AT * names.length);
            return;
          }
          past.push(same(next));
        }
      }),
    );
  });

  test("the note names the worker, the failure and the next step", () => {
    const [choke] = chokesIn([same(), same(), same()]);
    if (!choke) throw new Error("that was a choke");
    expect(afterChoke(choke, ["w2"], { note: "exit 1: no such branch" })).toEqual({
      to: "pending",
      note: "choked: three times the same failure with w1 (exit 1: no such branch); given to another worker",
    });
    const failed = afterChoke(choke, []);
    expect(failed).toEqual({
      to: "failed",
      note: "choked: three times the same failure with w1 (boom); no other worker is left to try it",
    });
    expect(isNoWorkerLeft(failed.note)).toBe(true);
    expect(isNoWorkerLeft(afterChoke(choke, ["w2"]).note)).toBe(false);
    const [mixed] = chokesIn([same("w2"), same(), same()]);
    if (!mixed) throw new Error("that was a choke");
    expect(afterChoke(mixed, []).note).toMatch(/^choked: .* failure, the last time with w1 \(boom/);
  });
});
