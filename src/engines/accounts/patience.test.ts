import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { EngineOutcome, Waiting } from "../engine.ts";
import { endOfWaiting, Patience } from "./patience.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();
const waiting = (outcome: EngineOutcome, isFinal = false): Waiting => ({ outcome, isFinal });
const down = (until: string | null = null) =>
  waiting({ kind: "unavailable", message: "503", until });

function watched() {
  const stopped: string[] = [];
  const patience = new Patience((_, why) => stopped.push(why), Date.now);
  return { patience, stopped };
}

describe("a program that waits is ended", () => {
  test("at once for a long wait", () => {
    const { patience, stopped } = watched();
    patience.heed(waiting({ kind: "rate_limited", message: "429", until: inSeconds(3600) }));
    expect(stopped).toEqual(["429"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("at once when a person is needed", () => {
    const { patience, stopped } = watched();
    patience.heed(waiting({ kind: "unauthorized", message: "401", todo: "log in" }, true));
    expect(stopped).toEqual(["401"]);
  });

  test("when the notice repeats after a while, counted from the first", () => {
    const { patience, stopped } = watched();
    patience.heed(down());
    vi.advanceTimersByTime(20_000);
    patience.heed(down(inSeconds(5)));
    vi.advanceTimersByTime(9_000);
    expect(stopped).toEqual([]);
    vi.advanceTimersByTime(1_000);
    expect(stopped).toEqual([]);
    patience.heed(down());
    expect(stopped).toEqual(["503"]);
    patience.heed(down());
    expect(vi.getTimerCount()).toBe(0);
  });

  test("not during minutes of silence, but after a very long one", () => {
    const { patience, stopped } = watched();
    const notice = down();
    patience.heed(notice);
    vi.advanceTimersByTime(120_000);
    patience.heed(notice); // bytes that say nothing new
    expect(stopped).toEqual([]);
    vi.advanceTimersByTime(480_000);
    expect(stopped).toEqual(["503"]);
  });

  test("not when it goes on, and not after its end", () => {
    const { patience, stopped } = watched();
    patience.heed(down());
    vi.advanceTimersByTime(29_000);
    patience.heed(null);
    vi.advanceTimersByTime(29_000);
    patience.heed(down());
    patience.end();
    vi.advanceTimersByTime(60_000);
    expect(stopped).toEqual([]);
  });
});

test("the time of the program's next try is no reset time", () => {
  expect(endOfWaiting(down(inSeconds(8)), Date.now())).toMatchObject({ until: null });
  const hour = inSeconds(3600);
  expect(endOfWaiting(down(hour), Date.now())).toMatchObject({ until: hour });
});
