import { expect, test } from "vitest";
import type { AttemptRecord, Outcome } from "../queue/attempt.ts";
import { unprovenIn } from "./model-attempt.ts";

test("unproven attempts count, other ends do not, and a retry or a rejection forgets none", () => {
  const attempt = (outcome: Outcome): AttemptRecord => ({
    attempt: 1,
    worker: "w",
    token: "t",
    outcome,
    to: "waiting",
    at: "2026-11-15T00:00:00Z",
  });
  const retried = { retried: true, by: "me", at: "2026-11-15T00:00:00Z" } as const;
  const some = [attempt("unproven"), attempt("failed"), attempt("rate_limited")];
  expect(unprovenIn([...some, attempt("unproven")])).toBe(2);
  expect(unprovenIn([...some, retried, ...some])).toBe(2);
  expect(unprovenIn([])).toBe(0);
});
