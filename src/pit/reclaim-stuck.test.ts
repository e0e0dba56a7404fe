import { describe, expect, it } from "vitest";
import { afterLook } from "./reclaim-stuck.ts";

const seen = { token: "t", ticks: 5, bytes: 100 };
const first = afterLook(undefined, seen, 1_000);

describe("a snake's progress", () => {
  it("begins with the first look", () => {
    expect(first).toEqual({ ...seen, since: 1_000 });
  });

  it("stands still while nothing changes", () => {
    expect(afterLook(first, seen, 9_000).since).toBe(1_000);
  });

  it.each([{ ticks: 6 }, { bytes: 101 }, { bytes: 0 }, { token: "u" }])(
    "goes on with %o",
    (news) => {
      expect(afterLook(first, { ...seen, ...news }, 9_000).since).toBe(9_000);
    },
  );

  it("begins anew when the clock was set back", () => {
    expect(afterLook(first, seen, 10).since).toBe(10);
  });
});
