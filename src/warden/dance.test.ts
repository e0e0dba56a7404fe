import { describe, expect, test } from "vitest";
import { afterEvent, DANCE, DANCE_EVENTS, DANCE_STATES, parseDance } from "./dance.ts";

describe("the dance", () => {
  test("every state has a next state for every event, or none", () => {
    for (const state of DANCE_STATES) {
      expect(Object.keys(DANCE[state]).sort()).toEqual([...DANCE_EVENTS].sort());
    }
  });

  test("only evaluating leads to executing, and only interrogating to evaluating", () => {
    const into = (to: string) =>
      DANCE_STATES.flatMap((from) =>
        DANCE_EVENTS.filter((event) => DANCE[from][event] === to).map(
          (event) => `${from} ${event}`,
        ),
      );
    expect(into("executing")).toEqual(["evaluating silent_at_last"]);
    expect(into("evaluating")).toEqual(["interrogating answered", "interrogating timed_out"]);
    expect(into("failed")).toEqual([
      ...["interrogating unknown", "evaluating unknown"],
      ...["executing unknown", "executing survived"],
    ]);
  });

  test("it ends, and from there nothing leads on", () => {
    for (const state of ["complete", "failed"] as const) {
      expect(Object.values(DANCE[state]).every((to) => to === null)).toBe(true);
    }
    expect(() => afterEvent("complete", "allocated")).toThrow("complete cannot be allocated");
  });

  test("too late to withdraw: it executes", () => {
    expect(() => afterEvent("executing", "withdrawn")).toThrow();
  });

  test("a file that is none is none", () => {
    expect(parseDance("")).toBeNull();
    expect(parseDance('{"id": "dog-1"}')).toBeNull();
    expect(parseDance('{"id": "dog-1", "state": "dancing"}')).toBeNull();
  });
});
