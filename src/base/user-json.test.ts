import fc from "fast-check";
import { expect, it } from "vitest";
import { parseUserJson } from "./user-json.ts";

it("takes strings of any length, and any text in them", () => {
  const long = { text: "a".repeat(15_000_000), slashes: "\\".repeat(1_000_000), n: 1 };
  expect(parseUserJson(JSON.stringify(long), "it")).toEqual(long);
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.string(), fc.constantFrom("\\", '\\"', '"12345678901234567890'))),
      (texts) => {
        expect(parseUserJson(JSON.stringify(texts), "it")).toEqual(texts);
        const inexact = `${JSON.stringify(texts).slice(0, -1)}${texts.length === 0 ? "" : ","}12345678901234567890]`;
        expect(() => parseUserJson(inexact, "it")).toThrow("would lose digits");
      },
    ),
  );
});
