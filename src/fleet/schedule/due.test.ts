import { Cron } from "croner";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { type Fires, firesOf, loadCron } from "./cron.ts";
import { dueFires, type Handled, ON_TIME_MS } from "./due.ts";

beforeAll(loadCron);

const MINUTE = 60_000;
const DAY = 86_400_000;

function listed(times: readonly number[]): Fires {
  const sorted = [...new Set(times)].sort((a, b) => a - b);
  return { after: (time) => sorted.find((one) => one > time) ?? null };
}

/** Passes at these times, each killed or not before its state was written; what each enqueued. */
function passes(
  fires: Fires,
  start: number,
  steps: readonly { after: number; isKilled: boolean; isOff: boolean }[],
  missed: "once" | "skip",
) {
  let state: Handled = { handled: start, begun: null };
  let now = start;
  const all = steps.map(({ after, isKilled, isOff }) => {
    now += after;
    const due = dueFires(state, now, { missed, isOff }, fires);
    const from = state.handled;
    // Killed in the middle of its first fire.
    if (isKilled && due.fires.length > 0) {
      state = { ...state, begun: due.fires[0] ?? null };
      return { from, to: now, enqueued: due.fires.slice(0, 1), isKilled: true, isOff };
    }
    state = { handled: due.handled, begun: null };
    return { from, to: now, enqueued: due.fires, isKilled: false, isOff };
  });
  return { all, state };
}

const step = fc.record({
  after: fc.integer({ min: 0, max: 3 * DAY }),
  isKilled: fc.boolean(),
  isOff: fc.boolean(),
});
const scene = fc.record({
  times: fc.array(fc.integer({ min: 0, max: 10 * DAY }), { maxLength: 60 }),
  steps: fc.array(step, { minLength: 1, maxLength: 12 }),
});

describe("which fires are due", () => {
  it("enqueues no fire twice, but one that was begun", () => {
    fc.assert(
      fc.property(
        scene,
        fc.constantFrom("once" as const, "skip" as const),
        ({ times, steps }, missed) => {
          const { all } = passes(listed(times), 0, steps, missed);
          const finished = all
            .filter(({ isKilled }) => !isKilled)
            .flatMap(({ enqueued }) => enqueued);
          expect(new Set(finished).size).toBe(finished.length);
        },
      ),
    );
  });

  it("enqueues only fires of the pattern, in order, and none of the future", () => {
    fc.assert(
      fc.property(scene, ({ times, steps }) => {
        for (const { enqueued, to } of passes(listed(times), 0, steps, "once").all) {
          expect(enqueued).toEqual([...enqueued].sort((a, b) => a - b));
          for (const one of enqueued) {
            expect(times).toContain(one);
            expect(one).toBeLessThanOrEqual(to);
          }
        }
      }),
    );
  });

  it("loses none with once: the last fire before each finished pass was enqueued, and all on time", () => {
    fc.assert(
      fc.property(scene, ({ times, steps }) => {
        const { all } = passes(listed(times), 0, steps, "once");
        const enqueued = new Set(all.flatMap((one) => one.enqueued));
        for (const { from, to, isKilled, isOff } of all) {
          if (isKilled || isOff) continue;
          const between = times.filter((one) => one > from && one <= to).sort((a, b) => a - b);
          const last = between.at(-1);
          if (last !== undefined) expect(enqueued).toContain(last);
          for (const one of between) if (one > to - ON_TIME_MS) expect(enqueued).toContain(one);
        }
      }),
    );
  });

  it("enqueues nothing missed with skip, and nothing while it is off, but what was begun", () => {
    fc.assert(
      fc.property(scene, ({ times, steps }) => {
        let begun: number | undefined;
        for (const { enqueued, to, isKilled, isOff } of passes(listed(times), 0, steps, "skip")
          .all) {
          for (const one of enqueued) {
            if (one === begun) continue;
            expect(isOff).toBe(false);
            expect(one).toBeGreaterThan(to - ON_TIME_MS);
          }
          begun = isKilled ? enqueued[0] : undefined;
        }
      }),
    );
  });

  it("finds the last missed one of a year of seconds, without walking it", () => {
    let calls = 0;
    const fires: Fires = {
      after: (time) => {
        calls++;
        return Math.floor(time / 1000) * 1000 + 1000;
      },
    };
    const now = 365 * DAY + 500;
    const due = dueFires({ handled: 0, begun: null }, now, { missed: "once", isOff: true }, fires);
    expect(due).toEqual({ fires: [], hasSkipped: true, handled: now });
    expect(calls).toBeLessThan(200);
  });

  it("waits for a clock that went back, and for a wrong one begins anew", () => {
    const fires = listed([10 * MINUTE, 20 * MINUTE]);
    const policy = { missed: "once", isOff: false } as const;
    const back = dueFires({ handled: 30 * MINUTE, begun: null }, 15 * MINUTE, policy, fires);
    expect(back).toEqual({ fires: [], hasSkipped: false, handled: 30 * MINUTE });
    const wrong = dueFires({ handled: 400 * DAY, begun: null }, 15 * MINUTE, policy, fires);
    expect(wrong).toEqual({ fires: [], hasSkipped: false, handled: 15 * MINUTE });
  });
});

describe("daylight saving in Europe/Berlin", () => {
  const between = (pattern: string, from: string, to: string) => {
    const fires = firesOf(pattern, "Europe/Berlin");
    const found: string[] = [];
    for (
      let at = fires.after(Date.parse(from));
      at !== null && at < Date.parse(to);
      at = fires.after(at)
    ) {
      found.push(new Date(at).toISOString().slice(8, 16));
    }
    return found;
  };
  const spring = ["2026-03-28T12:00Z", "2026-03-30T12:00Z"] as const;
  const autumn = ["2026-10-24T12:00Z", "2026-10-26T12:00Z"] as const;

  it.each([
    [
      "a time that does not exist: at the moment of the change",
      "30 2 * * *",
      spring,
      ["29T01:00", "30T00:30"],
    ],
    ["a time that exists twice: the first", "30 2 * * *", autumn, ["25T00:30", "26T01:30"]],
    ["a fixed time on both sides of the change", "0 7 * * *", spring, ["29T05:00", "30T05:00"]],
    [
      "several that do not exist: one",
      "15,45 2 * * *",
      spring,
      ["29T01:00", "30T00:15", "30T00:45"],
    ],
    [
      "several that exist twice: each once",
      "15,45 2 * * *",
      autumn,
      [...["25T00:15", "25T00:45", "26T01:15", "26T01:45"]],
    ],
    [
      "a list of hours with the missing one",
      "0 1,2 * * *",
      spring,
      [...["29T00:00", "29T01:00", "29T23:00", "30T00:00"]],
    ],
    [
      "the missing one and the one after it: one",
      "0 2-3 * * *",
      spring,
      [...["29T01:00", "30T00:00", "30T01:00"]],
    ],
  ])("%s", (_, pattern, [from, to], expected) => {
    expect(between(pattern, from, to)).toEqual(expected);
  });

  it("a list of times fires as its times one by one would", () => {
    const zones = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo"];
    const start = Date.parse("2026-01-01T00:00Z");
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.integer({ min: 0, max: 23 }),
        fc.uniqueArray(fc.integer({ min: 0, max: 59 }), { minLength: 2, maxLength: 4 }),
        fc.integer({ min: 0, max: 365 * 24 }),
        (zone, hour, minutes, hours) => {
          const time = start + hours * 3_600_000;
          // Croner is right about a single time of the day.
          const each = minutes.map((minute) => {
            const cron = new Cron(`${minute} ${hour} * * *`, { timezone: zone, paused: true });
            return cron.nextRun(new Date(time))?.getTime() ?? 0;
          });
          const list = firesOf(`${minutes.join()} ${hour} * * *`, zone);
          expect(list.after(time)).toBe(Math.min(...each));
        },
      ),
    );
  });

  it("every hour: each hour that passes, once", () => {
    for (const [from, to] of [spring, autumn]) {
      const times = between("30 * * * *", from, to);
      expect(times).toHaveLength(48);
      expect(new Set(times).size).toBe(48);
    }
  });

  it("a pass at any time finds the same fires as the night before would have listed", () => {
    const fires = firesOf("30 2 * * *", "Europe/Berlin");
    const start = Date.parse("2026-10-23T00:00:00Z");
    const expected = [
      "2026-10-23T00:30",
      "2026-10-24T00:30",
      "2026-10-25T00:30",
      "2026-10-26T01:30",
    ];
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 8 * 3_600_000 }), { maxLength: 40 }),
        (waits) => {
          const steps = waits.map((after) => ({ after, isKilled: false, isOff: false }));
          const rest = start + 4 * DAY - waits.reduce((sum, one) => sum + one, start);
          if (rest <= 0) return;
          const { all } = passes(
            fires,
            start,
            [...steps, { after: rest, isKilled: false, isOff: false }],
            "once",
          );
          const found = all.flatMap(({ enqueued }) =>
            enqueued.map((at) => new Date(at).toISOString().slice(0, 16)),
          );
          expect(expected.filter((one) => found.includes(one))).toEqual(found);
          expect(found.at(-1)).toBe(expected.at(-1));
        },
      ),
      { numRuns: 30 },
    );
  });
});
