import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { holds } from "../../test/support/property.ts";
import type { AttemptRecord, HistoryRecord, Outcome } from "./attempt.ts";
import { OUTCOMES } from "./attempt.ts";
import {
  afterAbandonment,
  afterFailure,
  attemptsSinceRetry,
  backoff,
  MAX_ABANDONS,
} from "./retry.ts";
import type { Task } from "./task.ts";

const attempt = (outcome: Outcome): AttemptRecord => ({
  attempt: 1,
  worker: "w",
  token: "t",
  outcome,
  to: "pending",
  at: "2026-01-01T00:00:00Z",
});
const retried: HistoryRecord = { retried: true, by: "me", at: "2026-01-01T00:00:00Z" };
const taskWith = (max_attempts?: number) => ({ max_attempts }) as Task;

const record = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom(...OUTCOMES).map((outcome) => attempt(outcome)) },
  { weight: 1, arbitrary: fc.constant(retried) },
);
const history = fc.array(record, { maxLength: 30 });
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const COUNTED = ["failed", "unproven", "timed_out"];

describe("after a failure", () => {
  test("failed at the max_attempts-th counted failure since the last retry, and not before", () => {
    holds(
      fc.property(
        history,
        fc.option(fc.integer({ min: 1, max: 10 }), { nil: undefined }),
        fc.constantFrom("failed" as const, "unproven" as const, "timed_out" as const),
        random,
        (past, max, outcome, dice) => {
          const since = past.slice(past.lastIndexOf(retried) + 1) as AttemptRecord[];
          const failures = since.filter((a) => COUNTED.includes(a.outcome)).length + 1;
          const verdict = afterFailure(taskWith(max), past, outcome, { random: dice });
          expect(verdict.to).toBe(failures >= (max ?? 1) ? "failed" : "waiting");
        },
      ),
    );
  });

  test("the route's number of attempts counts when the task has none of its own", () => {
    const attempts = fc.option(fc.integer({ min: 1, max: 10 }), { nil: undefined });
    holds(
      fc.property(history, attempts, attempts, random, (past, own, routes, dice) => {
        const options = { random: dice, maxAttempts: routes };
        const verdict = afterFailure(taskWith(own), past, "failed", options);
        const alone = afterFailure(taskWith(own ?? routes), past, "failed", { random: dice });
        expect(verdict).toEqual(alone);
      }),
    );
  });

  test("a rate limit rests longer each time in a row, whatever failed before", () => {
    holds(
      fc.property(history, fc.nat(30), random, (past, times, dice) => {
        const row = Array.from({ length: times }, () => attempt("rate_limited"));
        const verdict = afterFailure(
          taskWith(1),
          [...past, attempt("failed"), ...row],
          "rate_limited",
          { random: dice, backoffMs: 5_000 },
        );
        expect(verdict).toEqual({ to: "waiting", delayMs: backoff(times + 1, dice, 5_000) });
      }),
    );
  });

  test("a rate limit never fails a task", () => {
    holds(
      fc.property(history, fc.integer({ min: 1, max: 10 }), random, (past, max, dice) => {
        const verdict = afterFailure(taskWith(max), past, "rate_limited", { random: dice });
        expect(verdict.to).toBe("waiting");
      }),
    );
  });

  test("final is final", () => {
    holds(
      fc.property(history, random, (past, dice) => {
        const options = { final: true, random: dice };
        expect(afterFailure(taskWith(99), past, "failed", options).to).toBe("failed");
        expect(afterFailure(taskWith(99), past, "rate_limited", options).to).toBe("failed");
      }),
    );
  });
});

describe("backoff", () => {
  const LONGEST = 15 * 60_000;
  const YEAR = 365 * 86_400_000;
  const failuresInARow = fc.integer({ min: 1, max: 2000 });

  test("between half and all of a delay that doubles, up to a quarter of an hour", () => {
    holds(
      fc.property(failuresInARow, random, (failures, dice) => {
        const full = Math.min(LONGEST, 1000 * 2 ** (failures - 1));
        const delay = backoff(failures, dice);
        expect(delay).toBeGreaterThanOrEqual(Math.floor(full / 2));
        expect(delay).toBeLessThanOrEqual(full);
        expect(Number.isSafeInteger(delay)).toBe(true);
      }),
    );
  });

  test("from a first delay that can be chosen; one above the longest does not grow", () => {
    const first = fc.oneof(fc.nat(10_000), fc.integer({ min: 0, max: 10 * YEAR }));
    holds(
      fc.property(failuresInARow, random, first, (failures, dice, chosen) => {
        const begin = Math.min(chosen, YEAR);
        const longest = Math.max(LONGEST, begin);
        let full = begin;
        for (let n = 1; n < failures && full < longest && full > 0; n++) full *= 2;
        full = Math.min(full, longest);
        const delay = backoff(failures, dice, chosen);
        expect(delay).toBeGreaterThanOrEqual(Math.floor(full / 2));
        expect(delay).toBeLessThanOrEqual(Math.ceil(full));
        expect(Number.isSafeInteger(delay)).toBe(true);
      }),
    );
  });
});

describe("after a worker was lost", () => {
  test("failed at the tenth loss in a row, whatever came before", () => {
    holds(
      fc.property(history, fc.nat(15), (past, losses) => {
        const row = Array.from({ length: losses }, () => attempt("abandoned"));
        const before = [...past, attempt("released"), ...row];
        const to = afterAbandonment(before);
        expect(to).toBe(losses + 1 >= MAX_ABANDONS ? "failed" : "pending");
      }),
    );
  });

  test("a retry begins a new row", () => {
    const row = Array.from({ length: MAX_ABANDONS }, () => attempt("abandoned"));
    expect(afterAbandonment(row)).toBe("failed");
    expect(afterAbandonment([...row, retried])).toBe("pending");
  });
});

test("attemptsSinceRetry drops attempts before the last retry", () => {
  holds(
    fc.property(history, (past) => {
      const expected = past.slice(past.lastIndexOf(retried) + 1);
      expect(attemptsSinceRetry(past)).toEqual(expected);
    }),
  );
});
