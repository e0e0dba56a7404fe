import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { holds } from "../../test/support/property.ts";
import {
  afterTick,
  isClosed,
  type LifecyclePosition,
  type LifecycleSpec,
  parseLifecycle,
  positionFrom,
  positionText,
} from "./lifecycle.ts";
import { TICK_OUTCOMES, type TickOutcome } from "./member-status.ts";

const DAY = parseLifecycle(`#+START: morning
* morning
:PROPERTIES:
:KIND: wake
:REPEAT: 3
:NEXT: dream
:END:
* dream
:PROPERTIES:
:kind: rem
:next: morning
:Min-Interval: 45m
:END:
* alone
`);

/** Positions after each of these ticks. */
function walk(spec: LifecycleSpec, outcomes: readonly TickOutcome[]): string[] {
  let position = positionFrom(null, spec);
  return outcomes.map((outcome) => {
    position = afterTick(spec, position, outcome);
    return positionText(position);
  });
}

describe("a lifecycle", () => {
  test("is read from org", () => {
    expect(DAY.problem).toBeNull();
    expect(DAY.start).toBe("morning");
    expect(Object.fromEntries(DAY.states)).toEqual({
      morning: { kind: "wake", repeat: 3, next: "dream", minIntervalMs: 0 },
      dream: { kind: "rem", repeat: 1, next: "morning", minIntervalMs: 45 * 60_000 },
      alone: { kind: "wake", repeat: 1, next: "alone", minIntervalMs: 0 },
    });
  });

  test("moves on when its hits reach REPEAT, at once without work, and stays otherwise", () => {
    expect(
      walk(DAY, ["done", "failed", "done", "killed", "crashed", "done", "failed", "done"]),
    ).toEqual([
      ...["morning 1", "morning 1", "morning 2", "morning 2", "morning 2"],
      ...["dream 0", "dream 0", "morning 0"],
    ]);
    expect(walk(DAY, ["done", "no_work", "no_work"])).toEqual([
      "morning 1",
      "dream 0",
      "morning 0",
    ]);
  });

  test.each([
    [null, "morning 0"],
    ["dream 0\n", "dream 0"],
    ["morning 2", "morning 2"],
    ["morning 3", "morning 2"],
    ["morning 999999999", "morning 2"],
    ["gone 1", "morning 0"],
    ["constructor 1", "morning 0"],
    ["morning", "morning 0"],
    ["morning -1", "morning 0"],
    ["morning 1 2", "morning 0"],
    ["\0\0\0", "morning 0"],
    ["", "morning 0"],
  ])("at %j is at %s", (text, expected) => {
    expect(positionText(positionFrom(text, DAY))).toBe(expected);
  });

  test("rests for its MIN-INTERVAL", () => {
    const dream = { state: "dream", hits: 0 };
    const at = (ranAgo: number | null) =>
      isClosed(DAY, dream, ranAgo === null ? null : 1e12 - ranAgo, 1e12);
    expect([null, 0, 45 * 60_000 - 1, 45 * 60_000, -1].map(at)).toEqual([
      false,
      true,
      true,
      false,
      false,
    ]);
    expect(isClosed(DAY, { state: "morning", hits: 0 }, 1e12, 1e12)).toBe(false);
  });
});

describe("a lifecycle that parks its member", () => {
  test.each([
    ["", "line 1: it has no states"],
    ["#+START: nap\n* wake\n", 'line 1: START "nap" points nowhere'],
    [
      "* wake\n:PROPERTIES:\n:NEXT: slep\n:END:\n* sleep",
      'line 3: NEXT "slep" points nowhere; did you mean sleep?',
    ],
    ["* wake\n:PROPERTIES:\n:KIND: nap\n:END:", 'line 3: KIND "nap" must be wake or rem'],
    ["* wake\n:PROPERTIES:\n:REPEAT: 0\n:END:", 'line 3: REPEAT "0" must be a whole number'],
    ["* wake\n:PROPERTIES:\n:REPEAT: 1.5\n:END:", "line 3: REPEAT"],
    ["* wake\n:PROPERTIES:\n:MIN-INTERVAL: 5d\n:END:", 'line 3: MIN-INTERVAL "5d" must be like'],
    [
      "* wake\n:PROPERTIES:\n:NXET: wake\n:END:",
      'line 3: unknown property "NXET"; did you mean NEXT?',
    ],
    ["* wake\n:PROPERTIES:\n:MIN_INTERVAL: 5m\n:END:", "did you mean MIN-INTERVAL?"],
    ["* wake\n:PROPERTIES:\n:NEXT:wake\n:END:", "line 3: this is not a property"],
    ["* wake\n* wake", "line 2: there are two states wake"],
    ["* wake up", 'line 1: "wake up" cannot be the name of a state'],
    ["* ../x", "line 1:"],
    ["* wake\n<<<<<<< HEAD", "line 2: there is a conflict marker"],
  ])("%j", (text, problem) => expect(parseLifecycle(text).problem).toContain(problem));

  test("lists all of them, by line", () => {
    const text = "#+START: x\n* wake\n:PROPERTIES:\n:NEXT: y\n:KIND: z\n:END:";
    const { problem } = parseLifecycle(text);
    expect(problem?.match(/line \d+/g)).toEqual(["line 1", "line 4", "line 5"]);
  });

  test("starts at its first state if nothing is said", () => {
    expect(parseLifecycle("* b\n* a")).toMatchObject({ start: "b", problem: null });
  });
});

const outcome = fc.constantFrom(...TICK_OUTCOMES);
const spec = fc
  .array(fc.record({ repeat: fc.integer({ min: 1, max: 4 }), next: fc.nat(9) }), {
    minLength: 1,
    maxLength: 6,
  })
  .map((states) => {
    const name = (i: number) => `s${i % states.length}`;
    const text = states.map(
      (s, i) => `* ${name(i)}\n:PROPERTIES:\n:REPEAT: ${s.repeat}\n:NEXT: ${name(s.next)}\n:END:\n`,
    );
    return parseLifecycle(text.join(""));
  });

test("it is always somewhere, with fewer hits than REPEAT, and survives a restart at any time", () => {
  holds(
    fc.property(spec, fc.array(outcome), (life, outcomes) => {
      expect(life.problem).toBeNull();
      let position: LifecyclePosition = positionFrom(null, life);
      for (const one of outcomes) {
        const before = position;
        position = afterTick(life, position, one);
        expect(position.hits).toBeLessThan(life.states.get(position.state)?.repeat ?? 0);
        expect(positionFrom(positionText(position), life)).toEqual(position);
        if (one !== "done" && one !== "no_work") expect(position).toBe(before);
        if (one === "no_work") {
          expect(position).toEqual({ state: life.states.get(before.state)?.next, hits: 0 });
        }
      }
    }),
  );
});

test("it leaves a state after exactly REPEAT ticks that did something", () => {
  holds(
    fc.property(spec, fc.array(outcome.filter((o) => o !== "no_work")), (life, outcomes) => {
      const first = life.states.get(life.start);
      const positions = walk(life, outcomes);
      let done = 0;
      for (const [i, one] of outcomes.entries()) {
        if (one === "done") done++;
        if (done < (first?.repeat ?? 0)) expect(positions[i]).toBe(`${life.start} ${done}`);
        else {
          expect(positions[i]).toBe(`${first?.next} 0`);
          break;
        }
      }
    }),
  );
});

test("any text is a spec, and any text a position in it", () => {
  holds(
    fc.property(fc.string(), fc.string(), (text, at) => {
      const life = parseLifecycle(`* a\n${text}`);
      const { state } = positionFrom(at, life);
      expect(state === life.start || life.states.has(state)).toBe(true);
    }),
  );
});
