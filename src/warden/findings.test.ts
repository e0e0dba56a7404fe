import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { holds } from "../../test/support/property.ts";
import type { Rules } from "./config.ts";
import { findSuspects, type Observation } from "./findings.ts";

const NOW = Date.parse("2026-11-15T17:14:11Z");
const MIN = 60_000;

const RULES: Rules = {
  no_output: { afterMs: 10 * MIN, action: "observe" },
  stale_heartbeat: { afterMs: 5 * MIN, action: "file" },
  repeated_tool: { times: 3, action: "observe" },
  over_budget: { action: "file" },
  past_deadline: { afterMs: MIN, action: "observe" },
};

const seen = (more: Partial<Observation>): Observation => ({
  ...{ kind: "worker", name: "w1", home: "/run", isAlive: true, isBusy: true },
  ...more,
});
const found = (more: Partial<Observation>, moment = {}) =>
  findSuspects(RULES, [seen(more)], { now: NOW, ...moment }).map(
    ({ rule, evidence }) => `${rule}: ${evidence}`,
  );

const where = "in /run/artifacts/t.1.log";

describe("suspicion", () => {
  it("names its evidence, with numbers", () => {
    expect(found({ output: { at: NOW - 12 * MIN, where } })).toEqual([
      "no_output: no new output since 17:02:11Z, 12m ago, in /run/artifacts/t.1.log",
    ]);
    expect(found({ heartbeatAt: NOW - 6 * MIN })).toEqual([
      "stale_heartbeat: the last heartbeat of worker w1 was at 17:08:11Z, 6m ago, and its process lives",
    ]);
    const again = { tool: "Bash", target: "npm test" };
    expect(found({ steps: [{ tool: "Read", target: "a" }, again, again, again] })).toEqual([
      'repeated_tool: Bash "npm test" 3 times in a row',
    ]);
    expect(found({ spent: { usd: 1.25, budgetUsd: 1, of: "task t.1" } })).toEqual([
      "over_budget: $1.25 of $1.00 spent (task t.1)",
    ]);
    expect(found({ deadline: { at: NOW - 90_000, task: "t.1" } })).toEqual([
      "past_deadline: the deadline of t.1 was 2026-11-15T17:12:41.000Z, 1m 30s ago",
    ]);
  });

  it("waits for its limit, and finds nothing without data", () => {
    expect(found({})).toEqual([]);
    expect(found({ output: { at: NOW - 10 * MIN + 1, where } })).toEqual([]);
    expect(found({ output: { at: NOW - 10 * MIN, where } })).toHaveLength(1);
    expect(found({ output: { at: NOW - 99 * MIN, where }, isBusy: false })).toEqual([]);
    expect(found({ heartbeatAt: NOW - 5 * MIN + 1 })).toEqual([]);
    expect(found({ spent: { usd: 1, budgetUsd: 1, of: "x" } })).toEqual([]);
    expect(found({ deadline: { at: NOW - MIN + 1, task: "t" } })).toEqual([]);
    const [a, b] = [
      { tool: "Bash", target: "a" },
      { tool: "Bash", target: "b" },
    ];
    expect(found({ steps: [a, a, b, a] })).toEqual([]);
    expect(findSuspects({}, [seen({ heartbeatAt: 0 })], { now: NOW })).toEqual([]);
  });

  it("does not suspect the dead", () => {
    expect(found({ isAlive: false, heartbeatAt: 0, output: { at: 0, where } })).toEqual([]);
  });

  it("ignores a time in the future, and counts from a clock jump on", () => {
    expect(found({ output: { at: NOW + 1, where }, heartbeatAt: NOW + MIN })).toEqual([]);
    const quiet = { output: { at: NOW - 60 * MIN, where }, heartbeatAt: NOW - 60 * MIN };
    expect(found(quiet)).toHaveLength(2);
    expect(found(quiet, { notBefore: NOW - MIN })).toEqual([]);
    expect(found(quiet, { notBefore: NOW - 7 * MIN })).toHaveLength(1);
  });

  it("never counts a time in the future: property", () => {
    holds(
      fc.property(fc.integer({ min: 0, max: 2 * NOW }), fc.integer({ min: 0 }), (at, now) => {
        const all = findSuspects(
          RULES,
          [seen({ heartbeatAt: at, output: { at, where }, deadline: { at, task: "t" } })],
          { now },
        );
        expect(at >= now && all.length > 0).toBe(false);
      }),
    );
  });
});
