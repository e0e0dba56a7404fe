import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Io } from "./io.ts";
import { Progress } from "./progress.ts";
import { asWritten } from "./term.ts";

let now = 0;
beforeEach(() => {
  now = 1_000;
  vi.spyOn(performance, "now").mockImplementation(() => now);
});
afterEach(() => {
  vi.restoreAllMocks();
});

function progress(isTTY: boolean) {
  const written: string[] = [];
  const io = { stderr: { isTTY, write: (text: string) => written.push(asWritten(text)) } };
  return { progress: new Progress(io as unknown as Io, "enqueued"), written };
}

it("appears on a terminal once the work takes a while, and goes away", () => {
  const { progress: bar, written } = progress(true);
  bar.update(100);
  now += 400;
  bar.update(200);
  expect(written).toEqual([]);
  now += 600;
  bar.update(12_000);
  expect(written).toHaveLength(1);
  expect(written[0]).toMatch(/^\r.{12} enqueued 12,000 \(12,000\/s\) $/);
  bar.update(12_001);
  expect(written).toHaveLength(1);
  now += 100;
  bar.update(12_500);
  expect(written).toHaveLength(2);
  bar.end();
  expect(written.at(-1)).toBe("\r\u001b[K");
  bar.end();
  expect(written).toHaveLength(3);
});

it("leaves no trace when it never appeared", () => {
  const { progress: bar, written } = progress(true);
  bar.update(1);
  bar.end();
  expect(written).toEqual([]);
});

it("does not appear in a pipe, but counts", () => {
  const { progress: bar, written } = progress(false);
  now += 10_000;
  bar.update(5);
  bar.end();
  expect(written).toEqual([]);
  expect(bar.count).toBe(5);
});
