import fc from "fast-check";
import { expect, test } from "vitest";
import { LineSplitter } from "./line-splitter.ts";

function cut(chunks: readonly Buffer[], limit = 1000) {
  const said: (string | number)[] = [];
  const lines = new LineSplitter(limit, {
    line: (text) => void said.push(text),
    tooLong: (bytes) => void said.push(bytes),
  });
  for (const chunk of chunks) lines.push(chunk);
  lines.close();
  return said;
}

test("however the bytes arrive, the lines are the same", () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: "binary" })),
      fc.infiniteStream(fc.nat(7)),
      (texts, sizes) => {
        const lines = texts.map((text) => text.replaceAll("\n", ""));
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
        const chunks: Buffer[] = [];
        for (let from = 0; from < bytes.length; ) {
          const size = 1 + (sizes.next().value as number);
          chunks.push(bytes.subarray(from, from + size));
          from += size;
        }
        expect(cut(chunks)).toEqual(lines.map((line) => Buffer.from(line).toString()));
      },
    ),
  );
});

test("a line that is too long is reported by its length, and the next one is whole", () => {
  const long = Buffer.from("x".repeat(40));
  expect(cut([Buffer.from("a\n"), long, long, Buffer.from("\nb\n")], 50)).toEqual(["a", 80, "b"]);
  expect(cut([Buffer.from("x".repeat(50)), Buffer.from("\n")], 50)).toEqual(["x".repeat(50)]);
});

test("the last line needs no end, and bytes that are no text do not stop anything", () => {
  expect(cut([Buffer.from([0xff, 0xfe, 0x0a]), Buffer.from("end")])).toEqual(["��", "end"]);
});
