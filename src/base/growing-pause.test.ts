import { expect, it } from "vitest";
import { growingPause, withJitter } from "./growing-pause.ts";

it("grows from the first to the longest pause, however often it is tried", () => {
  const doubling = { first: 10, longest: 100 };
  const pauses = [-1, 0, 1, 2, 3, 4, 5, 6, 1e6].map((n) => growingPause(n, doubling));
  expect(pauses).toEqual([10, 10, 10, 20, 40, 80, 100, 100, 100]);
  expect(growingPause(3, { first: 4, longest: 100, factor: 1.5 })).toBe(9);
  expect(growingPause(1e9, { first: 1, longest: 5, factor: 1 })).toBe(1);
});

it("takes a random half to whole", () => {
  expect([0, 0.5, 1].map((random) => withJitter(101, random))).toEqual([51, 76, 101]);
});
