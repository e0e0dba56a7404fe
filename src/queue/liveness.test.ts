import * as fc from "fast-check";
import { expect, test } from "vitest";
import { holds } from "../../test/support/property.ts";
import { judgeWorker, type VitalSigns } from "./liveness.ts";

const signs: fc.Arbitrary<VitalSigns> = fc.record({
  process: fc.constantFrom("alive", "gone", "unknown", "none"),
  heartbeatAge: fc.option(fc.integer({ min: -100_000, max: 1_000_000 }), { nil: null }),
  claimAge: fc.integer({ min: -100_000, max: 1_000_000 }),
});
const staleAfterMs = fc.integer({ min: 0, max: 600_000 });

test("a process that is gone needs no grace", () => {
  holds(
    fc.property(signs, staleAfterMs, (given, limit) => {
      const verdict = judgeWorker({ ...given, process: "gone" }, { staleAfterMs: limit });
      expect(verdict).toEqual({ alive: false, reason: "gone" });
    }),
  );
});

test("otherwise the last sign of life decides: the heartbeat, or the claim if there was none", () => {
  holds(
    fc.property(signs, staleAfterMs, (given, limit) => {
      if (given.process === "gone") return;
      const age = given.heartbeatAge ?? given.claimAge;
      const verdict = judgeWorker(given, { staleAfterMs: limit });
      expect(verdict).toEqual(age < limit ? { alive: true } : { alive: false, reason: "stale" });
    }),
  );
});

test("by swarm-lib's rule only the heartbeat counts", () => {
  holds(
    fc.property(signs, staleAfterMs, (given, limit) => {
      const verdict = judgeWorker(given, { staleAfterMs: limit, heartbeatOnly: true });
      expect(verdict.alive).toBe(given.heartbeatAge !== null && given.heartbeatAge < limit);
    }),
  );
});
