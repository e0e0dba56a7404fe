import { describe, expect, test } from "vitest";
import { afterEvent, DANCE, DANCE_STATES, parseDance } from "./dance.ts";

describe("the dance", () => {
  test("only evaluating leads to executing, and only interrogating to evaluating", () => {
    const into = (to: string) =>
      DANCE_STATES.flatMap((from) =>
        Object.entries(DANCE[from]).flatMap(([event, next]) =>
          next === to ? [`${from} ${event}`] : [],
        ),
      );
    expect(into("executing")).toEqual(["evaluating silent_at_last"]);
    expect(into("evaluating")).toEqual(["interrogating answered", "interrogating timed_out"]);
    expect(into("failed")).toEqual([
      ...["interrogating unknown", "evaluating unknown"],
      ...["executing unknown", "executing survived"],
    ]);
  });

  test("complete and failed are final", () => {
    for (const state of ["complete", "failed"] as const) expect(DANCE[state]).toEqual({});
    expect(() => afterEvent("complete", "allocated")).toThrow("complete cannot be allocated");
  });

  test("an execution cannot be withdrawn", () => {
    expect(() => afterEvent("executing", "withdrawn")).toThrow();
  });

  test("a file that is no dance is none", () => {
    expect(parseDance("")).toBeNull();
    expect(parseDance('{"id": "dog-1"}')).toBeNull();
    expect(parseDance('{"id": "dog-1", "state": "dancing"}')).toBeNull();
  });
});
