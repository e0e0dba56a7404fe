import { describe, expect, test } from "vitest";
import { parseTask, priorityOf, type Task } from "./task.ts";

describe("parseTask", () => {
  test("a foreign task may leave out what it does not need", () => {
    expect(parseTask('{"task_id":"a","task_type":"t"}', "a")).toEqual({
      task_id: "a",
      task_type: "t",
      payload: {},
      depends_on: [],
    });
    const text = '{"task_id":"a","task_type":"t","payload":null,"depends_on":null,"mine":[1]}';
    expect(parseTask(text, "a")).toMatchObject({ payload: {}, depends_on: [], mine: [1] });
  });

  test.each([
    ["", /empty/],
    ["{", /not JSON/],
    ["[]", /not a JSON object/],
    ["null", /not a JSON object/],
    ['{"task_type":"t"}', /no task_id/],
    ['{"task_id":"b","task_type":"t"}', /does not match the file name/],
    ['{"task_id":"a"}', /no task_type/],
    ['{"task_id":"a","task_type":1}', /no task_type/],
    ['{"task_id":"a","task_type":"t","payload":"x"}', /payload/],
    ['{"task_id":"a","task_type":"t","depends_on":"b"}', /depends_on/],
    ['{"task_id":"a","task_type":"t","depends_on":["../b"]}', /depends_on/],
    [`{"task_id":"a","task_type":"t","payload":${"[".repeat(9999)}${"]".repeat(9999)}}`, /nested/],
  ])("%.60j is refused", (text, reason) => {
    expect(() => parseTask(text, "a")).toThrow(reason);
  });
});

test("a priority that is none counts as normal", () => {
  const task = { task_id: "a", task_type: "t" } as Task;
  expect(priorityOf(task)).toBe("normal");
  expect(priorityOf({ ...task, priority: "urgent" as "high" })).toBe("normal");
  expect(priorityOf({ ...task, priority: "high" })).toBe("high");
});
