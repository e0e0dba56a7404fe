import { describe, expect, it } from "vitest";
import { afterLook, isStuck } from "./progress-policy.ts";

const look = { token: "t", ticks: 5, bytes: 100, at: 1_000 };
const first = afterLook(undefined, look);

describe("a snake's progress", () => {
  it("begins with the first look", () => {
    expect(first).toEqual({ token: "t", ticks: 5, bytes: 100, since: 1_000 });
    expect(isStuck(first, 1_999, 1_000)).toBe(false);
    expect(isStuck(first, 2_000, 1_000)).toBe(true);
  });

  it("stands still while nothing changes", () => {
    expect(afterLook(first, { ...look, at: 9_000 }).since).toBe(1_000);
  });

  it.each([{ ticks: 6 }, { bytes: 101 }, { bytes: 0 }, { token: "u" }])(
    "goes on with %o",
    (news) => {
      expect(afterLook(first, { ...look, ...news, at: 9_000 }).since).toBe(9_000);
    },
  );

  it("begins anew when the clock was set back", () => {
    expect(afterLook(first, { ...look, at: 10 }).since).toBe(10);
  });
});
