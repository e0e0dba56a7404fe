import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Io } from "./io.ts";
import { Progress, ProgressLine } from "./progress.ts";
import { asWritten } from "./term.ts";

describe("the line", () => {
  it("has a bar, counts, the rate of the last seconds, and the time left", () => {
    const line = new ProgressLine("ended", true);
    line.update(0, { done: 0, total: 1_000 });
    expect(line.text(500)).toBe(`${"·".repeat(20)}  ended 0 of 1,000`);
    line.update(10_000, { done: 250, total: 1_000, note: "3 failed" });
    expect(line.text(10_000)).toBe(
      `${"━".repeat(5)}${"·".repeat(15)}  ended 250 of 1,000  25/s  30s left  3 failed`,
    );
    // Then it stalls: earlier speed is forgotten.
    for (let at = 11_000; at <= 60_000; at += 1_000) line.update(at, { done: 250, total: 1_000 });
    expect(line.text(60_000)).toBe(`${"━".repeat(5)}${"·".repeat(15)}  ended 250 of 1,000  0/min`);
  });

  it("promises no end while more comes than is done", () => {
    const line = new ProgressLine("ended", false);
    line.update(0, { done: 10, total: 20 });
    line.update(10_000, { done: 20, total: 60 });
    expect(line.text(10_000)).toBe(`${"#".repeat(6)}${"-".repeat(14)}  ended 20 of 60  1.0/s`);
    line.update(12_000, { done: 60, total: 60 });
    expect(line.text(12_000)).toBe(`${"#".repeat(20)}  ended 60 of 60  4.2/s`);
  });

  it("has no bar and no end where the total is unknown", () => {
    const line = new ProgressLine("enqueued", true);
    line.update(0, { done: 0 });
    line.update(2_000, { done: 24_000 });
    expect(line.text(2_000)).toBe("enqueued 24,000  12,000/s");
  });

  it("tells the time left by the part of the input that is read", () => {
    const line = new ProgressLine("enqueued", false);
    line.update(0, { done: 0, part: 0 });
    line.update(2_000, { done: 500, part: 0.5 });
    expect(line.text(2_000)).toBe(
      `${"#".repeat(10)}${"-".repeat(10)}  enqueued 500  250/s  2s left`,
    );
  });
});

describe("on the terminal", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  function progress(isTTY: boolean, env: Io["env"] = { TERM: "xterm" }) {
    const written: string[] = [];
    const write = (text: string) => written.push(asWritten(text));
    const io = { env, stderr: { isTTY, columns: 40, write } };
    return { progress: new Progress(io as unknown as Io, "enqueued"), written };
  }

  const CLEAR = "\r\u001b[K";

  it("appears once the work takes a while, makes room for other lines, and goes away", () => {
    const { progress: bar, written } = progress(true);
    bar.update({ done: 100 });
    bar.aside();
    vi.advanceTimersByTime(400);
    bar.update({ done: 200 });
    expect(written).toEqual([]);
    vi.advanceTimersByTime(100);
    expect(written).toEqual([`${CLEAR}enqueued 200`]);
    bar.aside();
    expect(written.at(-1)).toBe(CLEAR);
    vi.advanceTimersByTime(1);
    expect(written.at(-1)).toBe(`${CLEAR}enqueued 200`);
    const before = written.length;
    for (let i = 0; i < 1_000; i++) bar.update({ done: 200 + i });
    expect(written).toHaveLength(before);
    vi.advanceTimersByTime(3_000);
    expect(written.at(-1)).toMatch(/enqueued 1,199 {2}\d+\/s$/);
    bar.end();
    expect(written.at(-1)).toBe(CLEAR);
    const after = written.length;
    bar.end();
    vi.advanceTimersByTime(10_000);
    expect(written).toHaveLength(after);
  });

  it("fits the terminal", () => {
    const { progress: bar, written } = progress(true);
    bar.update({ done: 1, total: 100, note: "x".repeat(100) });
    vi.advanceTimersByTime(600);
    expect(written.at(-1)?.slice(CLEAR.length)).toHaveLength(39);
  });

  it.each([
    ["in a pipe", false, {}],
    ["on a terminal that cannot draw", true, { TERM: "dumb" }],
  ])("does not appear %s, but counts", (_, isTTY, env) => {
    const { progress: bar, written } = progress(isTTY, env);
    vi.advanceTimersByTime(10_000);
    bar.update({ done: 5 });
    vi.advanceTimersByTime(10_000);
    bar.aside();
    bar.end();
    expect(written).toEqual([]);
    expect(bar.count).toBe(5);
  });
});
