import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { pause } from "./machine-retry.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it("pauses until its time is over", async () => {
  const over = vi.fn();
  const pausing = pause(1_000, new AbortController().signal).then(over);
  await vi.advanceTimersByTimeAsync(999);
  expect(over).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  await pausing;
  expect(vi.getTimerCount()).toBe(0);
});

it("ends its pause at a signal, and at once for a signal that came before", async () => {
  const stop = new AbortController();
  const pausing = pause(1_000, stop.signal);
  stop.abort();
  await pausing;
  await pause(1_000, stop.signal);
  expect(vi.getTimerCount()).toBe(0);
});
