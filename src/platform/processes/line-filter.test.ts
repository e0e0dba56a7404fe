import * as fc from "fast-check";
import { expect, test } from "vitest";
import { holds } from "../../../test/support/property.ts";
import { withoutLines } from "./line-filter.ts";

test("lines that begin so are left out, wherever the stream is cut", () => {
  const line = fc.string({ unit: fc.constantFrom("a", "b", "é"), maxLength: 5 });
  holds(
    fc.property(fc.array(line), fc.array(fc.nat({ max: 7 })), (lines, cuts) => {
      const bytes = Buffer.from(lines.map((text) => `${text}\n`).join(""));
      const filter = withoutLines("ab");
      let kept = "";
      let at = 0;
      for (const cut of [...cuts, bytes.length]) {
        kept += filter(bytes.subarray(at, at + cut)).toString("latin1");
        at += cut;
      }
      const expected = lines.filter((text) => !text.startsWith("ab")).map((text) => `${text}\n`);
      expect(Buffer.from(kept, "latin1").toString()).toBe(expected.join(""));
    }),
  );
});

test("a long answer in pieces costs little, and is not kept", () => {
  const piece = Buffer.from(`{"type":"noise","text":"${"x".repeat(300)}"}\n`);
  const filter = withoutLines('{"type":"noise"');
  const chunk = Buffer.concat(Array.from({ length: 100 }, () => piece));
  let kept = 0;
  for (let i = 0; i < 300; i++) kept += filter(chunk).length;
  expect(kept).toBe(0);
});
