import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { News } from "./news.ts";
import { notifyService } from "./service.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Runs what is ready, without a step of the clock. */
const settle = () => vi.advanceTimersByTimeAsync(0);

function service() {
  const seen = { takes: [] as boolean[], passes: [] as boolean[], entered: [] as string[] };
  const next = { passed: { sent: 0, next: null as number | null, isBusy: false } };
  const errors: string[] = [];
  let wake = () => {};
  let trouble: Error | null = null;
  const made = notifyService({
    intake: {
      take: async (isLast = false) => {
        seen.takes.push(isLast);
        if (trouble) throw trouble;
        return { entered: 0 };
      },
      enter: async ({ fact }) => seen.entered.push(fact),
    },
    sender: {
      pass: async (_, isLast = false) => {
        seen.passes.push(isLast);
        return next.passed;
      },
    },
    now: Date.now,
    watch: (act) => {
      wake = act;
      return () => {
        wake = () => {};
      };
    },
    onError: (message) => errors.push(message),
    onWell: () => errors.push("over"),
  });
  const fail = (error: Error | null) => {
    trouble = error;
  };
  return { ...{ made, seen, next, errors, fail }, wake: () => wake() };
}

describe("notifications beside a worker", () => {
  it("look when there is news, and when a message is due, and not in between", async () => {
    const { seen, next, wake } = service();
    await settle();
    expect(seen.passes).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(seen.passes).toHaveLength(1);
    next.passed = { sent: 0, next: Date.now() + 5_000, isBusy: false };
    wake();
    await settle();
    next.passed = { sent: 1, next: null, isBusy: false };
    expect(seen.passes).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(4_999);
    expect(seen.passes).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(1);
    expect(seen.passes).toHaveLength(3);
  });

  it("look again after a while when another process sends", async () => {
    const { seen, next } = service();
    next.passed = { sent: 0, next: null, isBusy: true };
    await settle();
    next.passed = { sent: 0, next: null, isBusy: false };
    await vi.advanceTimersByTimeAsync(30_000);
    expect(seen.passes).toHaveLength(2);
  });

  it("enter what other rooms hand in, and say an error once, and when it is over", async () => {
    const { made, seen, errors, fail } = service();
    await settle();
    fail(new Error("the disk is full"));
    made.enter({ fact: "f" } as News);
    await settle();
    await vi.advanceTimersByTimeAsync(180_000);
    expect(errors).toEqual(["a notification is late: the disk is full"]);
    expect(seen.entered).toEqual(["f"]);
    fail(null);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(seen.passes.length).toBeGreaterThan(1);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(errors.slice(1)).toEqual(["over"]);
  });

  it("end with a last look, which leaves no digest waiting", async () => {
    const { made, seen, wake } = service();
    await settle();
    await made.stop();
    await made.stop();
    expect([seen.takes.at(-1), seen.passes.at(-1)]).toEqual([true, true]);
    const before = seen.passes.length;
    wake();
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(seen.passes).toHaveLength(before);
  });
});
