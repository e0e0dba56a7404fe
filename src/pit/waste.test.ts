import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { holds } from "../../test/support/property.ts";
import {
  oneLine,
  parseWasteFoot,
  parseWasteHead,
  snakeOfWaste,
  wasteFoot,
  wasteHead,
  wasteName,
} from "./waste.ts";

const AT = Date.parse("2026-11-15T13:49:31.123Z");
const snakes = fc.stringMatching(/^[A-Za-z0-9_-]{1,40}$/);
const times = fc.integer({ min: 0, max: Date.parse("9999-12-31T23:59:59.999Z") });

describe("names", () => {
  test("a log is called by its snake and the time", () => {
    expect(wasteName("snake-2", AT)).toBe("snake-2-20261115T134931.123Z.log");
  });

  test("any snake and time are read back", () => {
    holds(
      fc.property(snakes, times, (snake, at) => {
        expect(snakeOfWaste(wasteName(snake, at))).toEqual({ snake });
      }),
    );
  });

  test("also for a snake whose name looks like a time", () => {
    const parts = fc.constantFrom("a", "2026", "06", "14", "20260614", "1718000000", "17", "T");
    holds(
      fc.property(fc.array(parts, { minLength: 1, maxLength: 6 }), times, (all, at) => {
        const snake = ["s", ...all].join("-");
        expect(snakeOfWaste(wasteName(snake, at))).toEqual({ snake });
      }),
    );
  });

  test.each([
    ["snake-2-1718000000.log", "snake-2"],
    ["snake-2-1718000000123.log", "snake-2"],
    ["snake-2-1718000000123456789.log", "snake-2"],
    ["snake-2-1718000000.5.log", "snake-2"],
    ["snake-2-2026-06-14T17-50-42.log", "snake-2"],
    ["snake-2-2026-06-14T17:50:42Z.log", "snake-2"],
    ["snake-2-2026-06-14T19:50:42+0200.log", "snake-2"],
    ["snake-2-2026-06-14_17-50-42.log", "snake-2"],
    ["snake-2-20260614-175042.log", "snake-2"],
    ["snake-2-20260614T175042Z.log", "snake-2"],
    ["snake-2-20260614.log", "snake-2"],
    ["snake-2-2026-06-14.log", "snake-2"],
    ["snake-2-x.log", "snake-2-x"],
    ["snake-2-3.log", "snake-2-3"],
    ["snake-2.log", "snake-2"],
    ["snake-2-20260231.log", "snake-2-20260231"],
    ["snake-2-99999999.log", "snake-2-99999999"],
    ["snake-2-2026-06-14T19:50:42+9900.log", "snake-2-2026-06-14T19:50:42+9900"],
    ["__proto__-1718000000.log", "__proto__"],
  ])("%s is from %s", (name, snake) => {
    expect(snakeOfWaste(name)).toEqual({ snake });
  });

  test.each([
    "SUMMARY.md",
    "snake-2-1718000000.txt",
    "snake-2-1718000000.log.gz",
    ".snake-2-1718000000.log",
    ".log",
    "log",
    "",
    "1718000000.log",
    "-20260614.log",
    "2026-06-14T17-50-42.log",
    "a/snake-2-1718000000.log",
  ])("%j is no log", (name) => {
    expect(snakeOfWaste(name)).toBeNull();
  });
});

describe("the first line", () => {
  const head = { id: "food-0007-x", attempt: 2, worker: "snake-2", at: "2026-11-15T13:49:31.123Z" };

  test("names food, attempt, snake and time, and is read back", () => {
    const line = "# food-0007-x attempt 2 by snake-2 at 2026-11-15T13:49:31.123Z";
    expect(wasteHead(head)).toBe(line);
    expect(parseWasteHead(line)).toEqual(head);
    expect(parseWasteHead(`${line}\r`)).toEqual(head);
  });

  test("is one line for any name of a food", () => {
    expect(wasteHead({ ...head, id: "a\nb\u001b[2Jc" })).toBe(
      "# a bc attempt 2 by snake-2 at 2026-11-15T13:49:31.123Z",
    );
  });

  test.each(["# food", "", "food-1 attempt 2 by s at 2026-11-15T13:49:31.123Z"])(
    "%j is none",
    (line) => expect(parseWasteHead(line)).toBeNull(),
  );
});

describe("the last line", () => {
  test("says how it ended, how long it took and why", () => {
    const foot = { outcome: "failed", seconds: 12.34, note: "exit 1:\n\u001b[31mno\u001b[0m\tway" };
    const line = "# ended failed after 12.3 s: exit 1: no way";
    expect(wasteFoot(foot)).toBe(line);
    expect(parseWasteFoot(line)).toEqual({
      outcome: "failed",
      seconds: 12.3,
      note: "exit 1: no way",
    });
  });

  test("a note may be absent or empty", () => {
    expect(wasteFoot({ outcome: "done", seconds: 3 })).toBe("# ended done after 3.0 s");
    expect(wasteFoot({ outcome: "done", seconds: 3, note: " \n\0" })).toBe(
      "# ended done after 3.0 s",
    );
    expect(parseWasteFoot("# ended done after 3.0 s")).toEqual({ outcome: "done", seconds: 3 });
  });

  test("a clock that was set back or broken gives no negative time", () => {
    expect(wasteFoot({ outcome: "done", seconds: -5 })).toBe("# ended done after 0.0 s");
    expect(wasteFoot({ outcome: "done", seconds: Number.NaN })).toBe("# ended done after 0.0 s");
  });

  test("any note becomes one line that is read back", () => {
    const notes = fc.string({ unit: "binary", maxLength: 800 });
    holds(
      fc.property(fc.double({ min: 0, max: 1e9, noNaN: true }), notes, (seconds, note) => {
        const line = wasteFoot({ outcome: "timed_out", seconds, note });
        expect(line).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
        expect(parseWasteFoot(line)?.seconds).toBeCloseTo(seconds, 0);
        expect(parseWasteFoot(line)?.note ?? "").toBe(oneLine(note, 500));
      }),
    );
  });
});
