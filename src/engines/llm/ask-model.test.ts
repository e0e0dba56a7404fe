import type { TextStreamPart, ToolSet } from "ai";
import { expect, test } from "vitest";
import { AnswerBuilder, BrokenAnswer } from "./ask-model.ts";

const START = {
  type: "raw",
  rawValue: {
    type: "message_start",
    message: { usage: { input_tokens: 70, cache_read_input_tokens: 9, output_tokens: 1 } },
  },
} as const;

function broken(...parts: TextStreamPart<ToolSet>[]): unknown {
  const builder = new AnswerBuilder();
  for (const part of parts) builder.add(part);
  try {
    builder.throwIfBroken();
  } catch (error) {
    return error;
  }
}

test("an answer that was cut in the middle has its usage so far", () => {
  const text = { type: "text-delta", id: "0", text: "twelve chars" } as const;
  expect(broken(START, text, { type: "abort" })).toMatchObject({
    tokens: { input: 70, output: 1, cacheRead: 9, cacheWrite: 0 },
    chars: 12,
  });
  const later = { type: "message_delta", usage: { output_tokens: 33 } };
  expect(broken(START, { type: "raw", rawValue: later })).toMatchObject({ tokens: { output: 33 } });
  expect(broken(text)).toMatchObject({ tokens: null, chars: 12 });
});

test("a call without any answer has its own error", () => {
  const error = new Error("HTTP 500");
  expect(broken({ type: "error", error }, { type: "error", error: "later" })).toBe(error);
  expect(broken()).not.toBeInstanceOf(BrokenAnswer);
});

test("events of other shapes are passed over", () => {
  for (const rawValue of [null, 1, "x", {}, { type: "message_start" }, { type: "message_delta" }]) {
    expect(broken({ type: "raw", rawValue })).toBeInstanceOf(Error);
  }
});
