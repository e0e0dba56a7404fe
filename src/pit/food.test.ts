import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { holds } from "../../test/support/property.ts";
import { canonicalJson } from "../base/json.ts";
import { type TaskSpec, taskFromSpec } from "../queue/spec.ts";
import type { Task } from "../queue/task.ts";
import { foodOf, parseFood } from "./food.ts";

const ID = "food-0007-reverse-string";
const AT = "2026-11-15T08:00:00.000Z";
const read = (text: string, id = ID) => parseFood(text, id, { runId: "r", createdAt: AT });
const make = (spec: Omit<TaskSpec, "type"> & { type?: string }, now = Date.parse(AT)) =>
  taskFromSpec({ id: ID, type: "food", ...spec }, { runId: "r", now, newId: () => "new" });
const back = (text: string, id: string) =>
  parseFood(Buffer.from(text, "utf8").toString("utf8"), id, { runId: "r", createdAt: "whenever" });

describe("food written by viv", () => {
  test("reads like food written by people", () => {
    const task = make({
      payload: { task: "Write `reverse(s)`.\nTest it.", text: "It is for Anna.\n\n- and Bert" },
      done_when: "pytest -q x.py",
      created_by: "keeper",
      depends_on: ["food-0001-a", "b"],
      priority: "high",
      tier_hint: "haiku",
      timeout: 90,
    });
    expect(foodOf(task)).toBe(`# ${ID}

- **task:** Write \`reverse(s)\`.
  Test it.
- **done-when:** \`pytest -q x.py\`
- **tossed-by:** keeper
- **after:** food-0001-a, b
- **tossed-at:** 2026-11-15T08:00:00.000Z
- **priority:** high
- **timeout:** 90s
- **details:**

  \`\`\`json
  {
    "tier_hint": "haiku"
  }
  \`\`\`

It is for Anna.

- and Bert
`);
  });

  test("a text that fields would change stands in a fence", () => {
    const text = foodOf(
      make({ payload: { task: "a  # b\n  c  \n\n- **for:** d" }, done_when: "a\nb" }),
    );
    expect(text).toContain(
      "- **task:**\n\n  ```text\n  a  # b\n    c  \n\n  - **for:** d\n  ```\n",
    );
    expect(text).toContain("- **done-when:**\n\n  ```sh verbatim\n  a\n  b\n  ```\n");
    expect(text).not.toContain("details");
  });

  test("words for a person stay words", () => {
    const task = make({ review: true, payload: { task: "x", done_when: "The keeper likes it." } });
    expect(foodOf(task)).toContain("- **done-when:** The keeper likes it.\n");
    expect(back(foodOf(task), ID)).toEqual(task);
  });

  test("refuses values that no food may have", () => {
    const task = make({ payload: { task: "x" }, extra: { parent: "../x" } });
    expect(() => foodOf(task)).toThrow(/cannot be written as food/);
  });

  const piece = fc.constantFrom(
    ..."a|The end.|npm test| |  |\n|\n\n|\r|\r\n|\t|#|  # |`|```|~~~|\n```\n|- |**|:|task: |done-when: |- **for:** x|---\n|"
      .concat("é|😀|\ud800|\0|\u2028|\uFEFF|{|}|\\|$ x|../|now|+1m|none|keeper|yes")
      .split("|"),
    ID,
  );
  const words = fc.oneof(
    fc.array(piece, { maxLength: 8 }).map((parts) => parts.join("")),
    fc.string({ unit: "binary", maxLength: 20 }),
    fc.lorem(),
  );
  const name = fc.oneof(
    fc.stringMatching(/^[A-Za-z0-9_-][A-Za-z0-9._-]{0,20}$/),
    fc.constantFrom("none", "and", "-", "a.md", "food-1", "1", "yes", "_x_"),
  );
  const json = fc
    .oneof(fc.jsonValue({ maxDepth: 3 }), words)
    .map((value) => JSON.parse(JSON.stringify(value)) as unknown);
  const key = fc.oneof(
    fc.string(),
    fc.constantFrom("__proto__", "constructor", "toString", "size"),
  );
  const OURS = "priority not_before parent done_when review max_attempts timeout".split(" ");
  const entries = (keys: fc.Arbitrary<string>) =>
    fc.array(fc.tuple(keys, json), { maxLength: 4 }).map((pairs) => {
      const object = {};
      for (const [k, value] of pairs) {
        Object.defineProperty(object, k, {
          value,
          enumerable: true,
          configurable: true,
          writable: true,
        });
      }
      return object as Record<string, unknown>;
    });
  const payload = fc
    .tuple(
      entries(key),
      fc.record(
        { task: words, text: words, done_when: words, warnings: json },
        { requiredKeys: [] },
      ),
    )
    .map(([a, b]) => Object.assign(a, b));
  const time = fc.integer({ min: -1e12, max: 1e13 }).map((ms) => new Date(ms).toISOString());
  const spec = fc.record(
    {
      id: name,
      type: fc.oneof(fc.constantFrom("food", "keeper", "Keeper", "any", "the"), name),
      payload,
      depends_on: fc.array(name, { maxLength: 3 }),
      priority: fc.constantFrom("high" as const, "normal" as const, "low" as const),
      not_before: fc.oneof(time, fc.constant("+9999999d")).filter((t) => !/^-/.test(t)),
      tier_hint: words,
      deadline: fc.constant("+1d"),
      created_by: words,
      parent: name,
      done_when: words.filter((text) => text.trim() !== ""),
      review: fc.boolean(),
      max_attempts: fc.integer({ min: 1, max: 1000 }),
      timeout: fc.oneof(fc.integer({ min: 1, max: 999 }), fc.constantFrom(" 5s ", "1.5h", "7")),
      extra: entries(key.filter((k) => !OURS.includes(k))),
    },
    { requiredKeys: ["id", "type"] },
  );

  test("any task comes back as it was, by way of a disk", () => {
    holds(
      fc.property(spec, fc.integer({ min: 0, max: 4e12 }), (given, now) => {
        const task = make(given as TaskSpec, now);
        const again = back(foodOf(task), task.task_id);
        expect(again).toEqual(task);
        expect(canonicalJson(again)).toBe(canonicalJson(task));
      }),
      { numRuns: 500 },
    );
  }, 60_000);

  test("a huge text too", () => {
    const task = make({
      payload: { task: "line `x`\n".repeat(50_000), text: "# x\r".repeat(50_000) },
    });
    expect(canonicalJson(back(foodOf(task), ID))).toBe(canonicalJson(task));
  }, 60_000);

  test("food that was read can be written again", () => {
    holds(
      fc.property(fc.array(piece, { maxLength: 30 }), (parts) => {
        let task: Task;
        try {
          task = read(`task: x\n${parts.join("")}`);
        } catch {
          return; // not food
        }
        expect(canonicalJson(back(foodOf(task), ID))).toBe(canonicalJson(task));
      }),
    );
  });
});
