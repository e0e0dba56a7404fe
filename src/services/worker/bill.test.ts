import { expect, test } from "vitest";
import { NO_TOKENS } from "../../model/usage.ts";
import { Bill } from "./bill.ts";

test("what has no price neither hides the dollars that are known, nor is free", () => {
  const bill = new Bill(new Map(), "glm-5");
  bill.add([
    { model: "glm-5", ...NO_TOKENS, output: 1000, usd: 5 },
    { model: "glm-5", ...NO_TOKENS, output: 200, usd: null },
  ]);
  expect(bill.parts).toEqual([
    { model: "glm-5", tokens: 1000, usd: 5 },
    { model: "glm-5", tokens: 200, usd: null },
  ]);
});
