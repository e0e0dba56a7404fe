import { expect, it } from "vitest";
import { type AliveAnswer, assertNonce, isAnswerOf } from "./alive.ts";
import type { BoundProcess } from "./warrant.ts";

const bound: BoundProcess = {
  ...{ is: "process", host: "h", boot: "b", pid: 7, started: "70", claim: "" },
};
const answer = (more: Partial<AliveAnswer> = {}) =>
  JSON.stringify({
    ...{ nonce: "abc123", at: "", host: "h", boot: "b", claim: "" },
    chain: [
      { pid: 9, started: "90" },
      { pid: 7, started: "70" },
      { pid: 1, started: "1" },
    ],
    ...more,
  });

it("is an answer of the target, or of what it started", () => {
  expect(isAnswerOf(answer(), "abc123", bound)).toBe(true);
  expect(isAnswerOf(answer({ chain: [{ pid: 7, started: "71" }] }), "abc123", bound)).toBe(false);
  expect(isAnswerOf(answer({ chain: [] }), "abc123", bound)).toBe(false);
  expect(isAnswerOf(answer({ boot: "c" }), "abc123", bound)).toBe(false);
  expect(isAnswerOf(answer(), "other", bound)).toBe(false);
  const marked = { ...bound, claim: "c1" };
  expect(isAnswerOf(answer({ chain: [], claim: "c1" }), "abc123", marked)).toBe(true);
  expect(isAnswerOf(answer({ chain: [], claim: "" }), "abc123", bound)).toBe(false);
  const server = { pid: 7, started: "70" };
  const session = { is: "session", socket: "/s", server, session: "$1", created: 1 } as const;
  expect(isAnswerOf(answer(), "abc123", session)).toBe(true);
  expect(isAnswerOf(answer({ chain: [] }), "abc123", session)).toBe(false);
  for (const text of [null, "", "{}", "[]", "null", "ALIVE"]) {
    expect(isAnswerOf(text, "abc123", bound)).toBe(false);
  }
});

it("is for a nonce", () => {
  expect(assertNonce("k3x9-Qz")).toBe("k3x9-Qz");
  for (const bad of ["", "a", "../../x", "a b", "a\0b"]) {
    expect(() => assertNonce(bad)).toThrow("is no nonce");
  }
});
