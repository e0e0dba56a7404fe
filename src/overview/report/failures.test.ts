import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { holds } from "../../../test/support/property.ts";
import { type FailedTask, groupFailures } from "./failures.ts";
import { type LastMove, TaskFacts } from "./ledger-digest.ts";

const AT = "2026-11-16T01:00:00.000Z";

type Last = Partial<LastMove> & { at?: string };

function failed(id: string, last: Last | null, fingerprint?: string): FailedTask {
  const move = last && { event: "ended", to: "failed" as const, proven: false, ...last };
  const more = { last: move, lastAt: last?.at ?? AT, fingerprint, attempts: 1 };
  const facts = Object.assign(new TaskFacts(), more);
  return { id, since: AT, facts };
}

describe("failures", () => {
  it("with one fingerprint are one group, with the words of the latest", () => {
    const npm = "failed: exit #: npm ERR! missing script: test";
    const tasks = Array.from({ length: 2991 }, (_, i) =>
      failed(`t.${i}`, { outcome: "failed", note: `exit 1: npm ERR! ${i}` }, npm),
    );
    tasks.push(
      failed(
        "last",
        { outcome: "failed", note: "exit 1: npm ERR! last", at: "2026-11-16T02:00:00.000Z" },
        npm,
      ),
    );
    tasks.push(failed("other", { outcome: "timed_out", note: "its time was up" }));
    const groups = groupFailures(tasks);
    expect(groups.map(({ tasks }) => tasks.length)).toEqual([2992, 1]);
    expect(groups[0]).toMatchObject({ kind: "failed", reason: "exit 1: npm ERR! last" });
    expect(groups[0]?.tasks[0]).toBe("last");
  });

  it("without a fingerprint are the same if their notes differ in numbers only", () => {
    const groups = groupFailures([
      failed("a", { note: "exit 3: line 17 of 20" }),
      failed("b", { note: "exit 3: line 18 of 99" }),
    ]);
    expect(groups).toHaveLength(1);
  });

  it("put chokes first, also those that a later claimer ended", () => {
    const choked =
      "choked: three times the same failure with w1 (exit 1); no other worker is left to try it";
    const groups = groupFailures([
      failed("a", { note: "exit 1" }),
      failed("b", { note: "exit 1" }),
      failed("c", { event: "cancelled", by: "w1", note: choked }),
    ]);
    expect(groups.map(({ kind, tasks }) => [kind, tasks.length])).toEqual([
      ["choked", 1],
      ["failed", 2],
    ]);
  });

  it("by a failed dependency are one group, whichever it was", () => {
    const groups = groupFailures([
      failed("a", { event: "cancelled", note: "its dependency x failed" }),
      failed("b", { event: "cancelled", note: "its dependency y failed" }),
    ]);
    expect(groups).toMatchObject([{ reason: "a dependency failed", tasks: ["b", "a"] }]);
  });

  it("by hand are told as that", () => {
    expect(groupFailures([failed("a", null)])[0]?.reason).toMatch(/by hand/);
    expect(groupFailures([{ id: "b", since: AT, facts: undefined }])[0]?.tasks).toEqual(["b"]);
  });

  it("are each in one group, whatever they are", () => {
    const one = fc.record({
      note: fc.string(),
      mark: fc.option(fc.constantFrom("a", "b"), { nil: undefined }),
    });
    holds(
      fc.property(fc.array(one), (all) => {
        const groups = groupFailures(
          all.map(({ note, mark }, i) => failed(`t.${i}`, { note }, mark)),
        );
        expect(groups.reduce((sum, { tasks }) => sum + tasks.length, 0)).toBe(all.length);
      }),
    );
  });
});
