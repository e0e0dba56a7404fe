import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type Behaviour, FakeWarden, SETTINGS } from "../../test/support/warden-host.ts";

/**
 * Any behaviour, killed at any write or act and brought back after any time: no dance is lost, none
 * runs twice, no question is typed twice, every requester is told, and who answered or worked is not
 * killed.
 */

const behaviour: fc.Arbitrary<Behaviour> = fc.oneof(
  fc.constant({}),
  fc.record({
    answers: fc.record({
      attempt: fc.integer({ min: 1, max: 3 }),
      afterMs: fc.integer({ min: 0, max: 300_000 }),
    }),
  }),
  fc.record({ worksEveryMs: fc.integer({ min: 8_000, max: 20_000 }) }),
  fc.record({ diesAfterMs: fc.integer({ min: 0, max: 500_000 }) }),
  fc.record({ cannotBeTold: fc.constant("another of that name") }),
  fc.record({ refuses: fc.constant("a shell waits for a command") }),
  fc.record({ asksPersonAfterMs: fc.integer({ min: 0, max: 300_000 }) }),
  fc.record({ survives: fc.constant(true) }),
);

const kills = fc.array(
  fc.record({
    step: fc.oneof(
      { weight: 4, arbitrary: fc.integer({ min: 1, max: 45 }) },
      { weight: 1, arbitrary: fc.constant("signal" as const) },
    ),
    downMs: fc.integer({ min: 0, max: 300_000 }),
  }),
  { maxLength: 6 },
);

test("killed at any step, and brought back", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(behaviour, { minLength: 1, maxLength: 3 }),
      kills,
      async (all, downs) => {
        const fake = new FakeWarden();
        const targets = all.map((one, i) => ({ one, target: fake.target(`t${i}`, one) }));
        for (const i of all.keys()) fake.file(`t${i}`);
        let down = 0;
        fake.killAt = downs[0]?.step ?? null;
        await fake.up();
        for (const { step, downMs } of downs) {
          if (fake.killAt === null) {
            fake.killAt = step;
            fake.steps = 0;
          }
          for (let i = 0; i < 120 && !fake.isDead; i++) await fake.pass(10_000);
          if (!fake.isDead) break;
          fake.killAt = null;
          await fake.pass(downMs);
          down += downMs;
          await fake.back();
        }
        fake.killAt = null;
        await fake.pass(2_000_000);
        const receipts = fake.files.receipts();
        expect(fake.files.dances()).toEqual([]);
        expect(fake.files.queued().warrants).toEqual([]);
        expect(receipts.map(({ warrant }) => warrant.target).sort()).toEqual(
          targets.map((_, i) => `t${i}`),
        );
        const told = new Set(fake.told.map(({ dog }) => dog));
        expect(receipts.filter(({ dog }) => !told.has(dog))).toEqual([]);
        expect(fake.files.untold()).toEqual([]);
        for (const [i, { one, target }] of targets.entries()) {
          const receipt = receipts.find(({ warrant }) => warrant.target === `t${i}`);
          const attempts = target.typed.map(({ attempt }) => attempt);
          expect(attempts, "one question for each attempt, in order").toEqual(
            attempts.map((_, n) => n + 1),
          );
          expect(target.signalled.length, "signalled once").toBeLessThanOrEqual(
            one.survives ? downs.length + 1 : 1,
          );
          for (const [n, { at }] of target.typed.entries()) {
            const next = target.typed[n + 1]?.at ?? target.signalled[0];
            if (next === undefined) continue;
            const waited = next - at;
            expect(waited).toBeGreaterThanOrEqual((SETTINGS.timeoutsMs[n] as number) - 1);
            expect(waited).toBeLessThanOrEqual((SETTINGS.timeoutsMs[n] as number) + down + 30_000);
          }
          if (target.signalled.length > 0) expect(attempts).toEqual([1, 2, 3]);
          if (one.asksPersonAfterMs !== undefined) {
            expect(receipt?.verdict).toBe("pardoned");
            expect(receipt?.why).toContain("needs you");
            expect(target.signalled).toEqual([]);
          } else if (one.cannotBeTold || one.refuses) expect(receipt?.verdict).toBe("failed");
          else if (one.worksEveryMs) expect(receipt?.verdict).toBe("pardoned");
          else if (one.survives) expect(receipt?.verdict).toBe("failed");
          else if (target.isAnswered) expect(receipt?.verdict).toBe("pardoned");
          else if (target.signalled.length > 0) expect(receipt?.verdict).toBe("executed");
          // Gone by itself just when it was to be signalled, by a warden that died: nobody can tell.
          else if (receipt?.why.includes("found it gone")) expect(attempts).toEqual([1, 2, 3]);
          else expect(receipt?.verdict).toBe("already_dead");
        }
      },
    ),
    { numRuns: Number(process.env.VIV_RUNS ?? 40) },
  );
});
