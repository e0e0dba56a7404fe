import { expect, test } from "vitest";
import { isAllowed, mermaid, TASK_EVENTS, TASK_STATES, TRANSITIONS } from "./states.ts";

test("every state can be reached, and done is left only to be reworked", () => {
  const reached = new Set<string>(["pending", "waiting"]); // by enqueue
  for (;;) {
    const before = reached.size;
    for (const from of TASK_STATES) {
      if (!reached.has(from)) continue;
      for (const event of TASK_EVENTS) for (const to of TRANSITIONS[from][event]) reached.add(to);
    }
    if (reached.size === before) break;
  }
  expect([...reached].sort()).toEqual([...TASK_STATES].sort());
  const leave = (s: (typeof TASK_STATES)[number]) => TASK_EVENTS.filter((e) => isAllowed(s, e));
  expect(leave("done")).toEqual(["rework"]);
  for (const state of TASK_STATES) expect(leave(state)).not.toEqual([]);
});

test("only a completion, an approval and a person's resolution lead to done", () => {
  const ways = TASK_STATES.flatMap((from) =>
    TASK_EVENTS.filter((event) => TRANSITIONS[from][event].includes("done")).map(
      (event) => `${from} ${event}`,
    ),
  );
  expect(ways).toEqual(["claimed complete", "review approve", "failed resolve"]);
});

test("isAllowed agrees with the table", () => {
  for (const from of TASK_STATES) {
    for (const event of TASK_EVENTS) {
      expect(isAllowed(from, event)).toBe(TRANSITIONS[from][event].length > 0);
    }
  }
});

test("the diagram has an arrow for every transition", () => {
  const diagram = mermaid();
  for (const from of TASK_STATES) {
    for (const event of TASK_EVENTS) {
      for (const to of TRANSITIONS[from][event]) {
        expect(diagram).toContain(`${from} --> ${to}: ${event}`);
      }
    }
  }
});
