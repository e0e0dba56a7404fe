import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { holds } from "../../test/support/property.ts";
import { assertName, assertNewName, assertTypeName, isName, isTypeName, suggest } from "./names.ts";

describe("names", () => {
  test("what is a name is safe as a file name, and nothing else is a name", () => {
    holds(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: "binary" })), (text) => {
        const safe = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$/.test(text) && !text.includes("\n");
        expect(isName(text)).toBe(safe);
      }),
      { numRuns: 1000 },
    );
  });

  test("a line break at the end is part of the name, and makes it none", () => {
    for (const text of ["a\n", "a\r", "\na", "a\u2028"]) {
      expect(isName(text)).toBe(false);
      expect(isTypeName(text)).toBe(false);
    }
  });

  test("the error says what is wrong, and shows no more than it must", () => {
    expect(() => assertName("task id", "")).toThrow(/task id "" is empty/);
    expect(() => assertName("task id", ".x")).toThrow(/must not begin with a dot/);
    expect(() => assertName("worker name", "x".repeat(129))).toThrow(/129 characters; at most 128/);
    expect(() => assertName("task id", "a/b")).toThrow(/only letters, digits and \. _ -/);
    expect(() => assertName("task id", 5)).toThrow(/must be a string/);
    expect(() => assertName("task id", null)).toThrow(/\(null\)/);
    expect(() => assertTypeName("a b")).toThrow(/task type "a b"/);
    try {
      assertName("task id", "x y".repeat(100_000));
    } catch (error) {
      expect((error as Error).message.length).toBeLessThan(200);
    }
  });
});

describe("a new name", () => {
  test("is a name that a shell does not take for an option", () => {
    holds(
      fc.property(fc.stringMatching(/^[-A-Za-z0-9._]{1,8}$/), (text) => {
        const make = () => assertNewName("task id", text);
        if (isName(text) && !text.startsWith("-")) expect(make()).toBe(text);
        else expect(make).toThrow(/^task id "/);
      }),
    );
    expect(() => assertNewName("task id", "-rf")).toThrow(
      'task id "-rf" must not begin with a dash: a shell\'s * would pass it as an option.',
    );
  });
});

describe("suggest", () => {
  const words = fc.uniqueArray(fc.stringMatching(/^[a-z_]{3,12}$/), {
    minLength: 1,
    maxLength: 10,
  });

  test("what it suggests is one of the candidates; the word itself is suggested for itself", () => {
    holds(
      fc.property(words, fc.string(), (candidates, typed) => {
        const found = suggest(typed, candidates);
        if (found !== undefined) expect(candidates).toContain(found);
        for (const word of candidates) expect(suggest(word, candidates)).toBe(word);
      }),
    );
  });

  test("one slip is forgiven: a letter too many, too few, wrong, or two swapped", () => {
    const word = fc.stringMatching(/^[a-z]{4,12}$/);
    holds(
      fc.property(
        word,
        fc.nat(),
        fc.constantFrom("add", "drop", "swap", "change"),
        (right, at, how) => {
          const i = at % (right.length - 1);
          const [a = "", b = ""] = [right[i], right[i + 1]];
          const typed = {
            add: `${right.slice(0, i)}z${right.slice(i)}`,
            drop: right.slice(0, i) + right.slice(i + 1),
            swap: right.slice(0, i) + b + a + right.slice(i + 2),
            change: `${right.slice(0, i)}z${right.slice(i + 1)}`,
          }[how];
          expect(suggest(typed, [right])).toBe(right);
        },
      ),
    );
  });

  test("the only one that begins with it is", () => {
    expect(suggest("sched", ["schedule", "serve"])).toBe("schedule");
    expect(suggest("led", ["ledger", "ledgers"])).toBeUndefined();
    expect(suggest("le", ["ledger"])).toBeUndefined();
  });

  test("what is nothing like it is not suggested", () => {
    expect(suggest("banana", ["priority", "payload"])).toBeUndefined();
    expect(suggest("", ["id"])).toBeUndefined();
    expect(suggest("x", ["id"])).toBeUndefined();
    expect(suggest("PRIORITY", ["priority"])).toBe("priority");
  });
});
