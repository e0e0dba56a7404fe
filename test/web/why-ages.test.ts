import { expect, test } from "vitest";
import { agesIn } from "../../web/src/views/task/ages.ts";

test("sentences with a time are read again, of seconds sooner than of hours", () => {
  const of = (...texts: string[]) => agesIn(texts.map((text) => ({ text })));
  expect(of("worker-1 has been working on it for 5s, last heartbeat 5s ago")).toBe(10_000);
  expect(of("a person must approve it; it has waited for 5h 11m")).toBe(60_000);
  expect(of("failed: exit 1", "not before 2026-11-19T10:00:00Z (in 12m)")).toBe(60_000);
  expect(of("landed in main as 4f1a2b3c9d", "3 tasks are before it")).toBeNull();
  expect(of()).toBeNull();
});
