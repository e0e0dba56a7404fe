import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { holds } from "../../../test/support/property.ts";
import type { ModelUsage, SessionUsed } from "../costs/usage.ts";
import { sumOf, usageOfRun } from "./usage-sum.ts";

const used = (input: number, usd: number | null = null, model = "m"): ModelUsage => ({
  ...{ model, input, output: 2 * input, cacheRead: 0, cacheWrite: 0, usd },
});

describe("the usage of a run", () => {
  test.each([
    ["a first run", used(5, 1), null, true, undefined, 5],
    ["a version that reports the run's total", used(5, 1), null, false, [[used(7, 1)], []], 5],
    ["a version that reports the session's", used(12, 3), null, true, [[used(7, 1)], []], 5],
    ["… after a killed run that the total has", used(15, 3), null, true, [[used(7)], [used(3)]], 5],
    ["… after one that it has not", used(12, 3), null, true, [[used(7)], [used(3)]], 5],
    ["one that reports both", used(12, 3), used(5, 2), true, [[used(7, 1)], []], 5],
    ["… and saw more of a killed run than we", used(16), used(5), true, [[used(7)], [used(3)]], 6],
    ["a session with an unknown past", used(12, 3), null, true, undefined, 12],
    ["less than its steps", used(4, 1), null, true, [[], []], 5],
  ] as const)("%s", (_, total, run, isSessions, before, expected) => {
    const known = before && { total: [...before[0]], since: [...before[1]] };
    const reported = { total: [total], isSessions, run: run && [run] };
    const usage = usageOfRun(reported, [used(5)], known);
    expect(sumOf(usage ?? [])).toMatchObject({ input: expected, output: 2 * expected });
  });

  test("without a total is the sum of its steps, which may be nothing", () => {
    const reported = { total: null, isSessions: true, run: null };
    expect(usageOfRun(reported, [used(5)], undefined)).toEqual([used(5)]);
    expect(usageOfRun(reported, null, undefined)).toBeNull();
  });

  test("has the vendor's dollars for what is new; none when a part was priced by us", () => {
    const reported = { total: [used(12, 3)], isSessions: true, run: null };
    const priced = usageOfRun(reported, [used(5)], { total: [used(7, 1)], since: [] });
    expect(priced).toEqual([used(5, 2)]);
    const mixed = usageOfRun({ ...reported, total: [used(15, 3)] }, [used(5)], {
      total: [used(7, 1)],
      since: [used(3)],
    });
    expect(mixed).toEqual([used(5, null)]);
  });

  test("is not confused by the long context in a model's name", () => {
    const reported = { total: [used(12, 3, "m[1m]")], isSessions: true, run: null };
    const usage = usageOfRun(reported, [used(5)], { total: [used(7, 1, "m[1m]")], since: [] });
    expect(sumOf(usage ?? []).input).toBe(5);
  });
});

/**
 * A session over any number of runs. Each uses something that its steps show, and something they do not
 * (a title, a summary); some are killed, with or without the vendor having saved what they used.
 */
const runs = fc.array(
  fc.record({
    seen: fc.integer({ min: 1, max: 1000 }),
    unseen: fc.integer({ min: 0, max: 50 }),
    end: fc.constantFrom("reported", "killed and saved", "killed and lost"),
  }),
  { minLength: 1, maxLength: 8 },
);

test.each(["the run's total", "the session's", "both"])(
  "over killed and resumed runs each token is counted once, with a vendor that reports %s",
  (kind) => {
    holds(
      fc.property(runs, (all) => {
        let session = 0; // as the vendor has saved it
        let before: SessionUsed = { total: [], since: [] };
        let counted = 0;
        let really = 0;
        let mayBeLost = 0;
        for (const { seen, unseen, end } of all) {
          const isReported = end === "reported";
          really += seen + unseen;
          // By a total of the session alone, a lost run looks like unseen usage of the next.
          if (!isReported || kind === "the session's") mayBeLost += unseen;
          if (end !== "killed and lost") session += seen + unseen;
          const total = isReported
            ? [used(kind === "the run's total" ? seen + unseen : session)]
            : null;
          const run = isReported && kind === "both" ? [used(seen + unseen)] : null;
          const isSessions = kind !== "the run's total";
          const usage = usageOfRun({ total, isSessions, run }, [used(seen)], before) ?? [];
          counted += sumOf(usage).input;
          before =
            total && isSessions
              ? { total, since: [] }
              : { total: before.total, since: [...before.since, ...usage] };
        }
        // Nothing twice; and nothing lost but unseen usage beside a killed run.
        if (kind !== "the session's") expect(counted).toBeLessThanOrEqual(really);
        expect(counted).toBeGreaterThanOrEqual(really - mayBeLost);
      }),
    );
  },
);
