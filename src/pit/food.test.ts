import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { holds } from "../../test/support/property.ts";
import { isVivError } from "../base/errors.ts";
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

  test("a line ends with a line feed only", () => {
    const task = make({ payload: { task: "a\u2028b\nc\u2029d", text: "e" } });
    expect(foodOf(task)).toContain("- **task:** a\u2028b\n  c\u2029d\n");
    expect(back(foodOf(task), ID)).toEqual(task);
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
      id: name.filter((id) => !id.startsWith("-")),
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

/** All that a food has without saying it. */
const PLAIN = {
  task_id: ID,
  task_type: "food",
  run_id: "r",
  created_at: AT,
  created_by: null,
  depends_on: [],
  tier_hint: null,
  deadline: null,
};

describe("food written by people", () => {
  const said = {
    ...PLAIN,
    created_by: "keeper",
    done_when: "pytest -q x.py",
    payload: { task: "Write `reverse(s)` in scraps/x.py" },
  };

  test.each([
    [
      "the usual way",
      `# ${ID}\n- **task:** Write \`reverse(s)\` in scraps/x.py\n- **done-when:** \`pytest -q x.py\` is green.\n- **tossed-by:** keeper        # or a snake\n`,
    ],
    [
      "CR LF, a BOM and no heading",
      "\uFEFF- **task:** Write `reverse(s)` in scraps/x.py\r\n- **done-when:** `pytest -q x.py`\r\n- **tossed-by:** keeper\r\n",
    ],
    [
      "stars, underlines, colons outside, other spellings",
      "* __Task__: Write `reverse(s)` in scraps/x.py\n+ **DONE_WHEN** : pytest -q x.py\n1. *Tossed By:* `keeper` # me\n",
    ],
    [
      "plain lines",
      "task: Write `reverse(s)` in scraps/x.py  # soon\ndone when: pytest -q x.py\ntossed-by:keeper",
    ],
    [
      "all of it indented, with tabs",
      "\t- **task:** Write `reverse(s)` in scraps/x.py\n\t- **done-when:**\tpytest -q x.py\n\t- **tossed-by:**\tkeeper",
    ],
    [
      "front matter",
      "---\ntask: \"Write `reverse(s)` in scraps/x.py\"\ndone-when: pytest -q x.py\ntossed-by: 'keeper'\n---\n",
    ],
    [
      "values below",
      "- **task:**\n  Write `reverse(s)` in scraps/x.py\n- **done-when:**\n\n```sh\npytest -q x.py\n```\n- **tossed-by:**\n  keeper\n",
    ],
    [
      "one below the other",
      "- **task:** Write `reverse(s)` in scraps/x.py\n  - **done-when:** `pytest -q x.py`\n    - **tossed-by:** keeper",
    ],
    [
      "check boxes, all bold",
      "- [ ] **task: Write `reverse(s)` in scraps/x.py**\n- [x] **done-when:** pytest -q x.py\n- **tossed-by:** **keeper**",
    ],
  ])("%s", (_, text) => {
    expect(read(text)).toEqual(said);
  });

  test("every field", () => {
    const text = `- task: x
- for: Keeper
- part-of: food-0001-a.md
- after: food-0002-b, \`food-0003-c\` and done/food-0004-d.md
- tossed-at: 2026-11-01T09:00:00+01:00
- not-before: +10m
- priority: High
- max-attempts: 3
- timeout: 10m
- review: yes
- details:
  \`\`\`json
  {"tier_hint": "haiku", "mine": [1], "payload": {"more": 2}}
  \`\`\`
`;
    expect(read(text)).toEqual({
      ...PLAIN,
      task_type: "keeper",
      parent: "food-0001-a",
      depends_on: ["food-0002-b", "food-0003-c", "food-0004-d"],
      created_at: "2026-11-01T08:00:00.000Z",
      not_before: "2026-11-01T08:10:00.000Z",
      priority: "high",
      max_attempts: 3,
      timeout: "10m",
      review: true,
      tier_hint: "haiku",
      mine: [1],
      payload: { task: "x", more: 2 },
    });
  });

  test.each([
    ["size: too big", "planner"],
    ["size: Too-Big, sorry", "planner"],
    ["too-big: yes", "planner"],
    ["too-big: no", "food"],
    ["size: small", "food"],
    ["for: the planner", "planner"],
    ["for: any snake", "food"],
    ["for: keeper\nsize: too big", "keeper"],
    ["for: anybody\nsize: too big", "planner"],
    ["for: python/3.12", "python/3.12"],
    ["for: ", "food"],
  ])("%j is for %s", (line, type) => {
    expect(read(`task: x\n${line}`).task_type).toBe(type);
  });

  test.each([
    ["after: food-1 food-2", ["food-1", "food-2"]],
    ["after: [a, b]", ["a", "b"]],
    ["after:\n  - a\n  - b", ["a", "b"]],
    ["after: a, a,  # both", ["a"]],
    ["after: none", []],
    ["after: food-1-and-2", ["food-1-and-2"]],
    ["depends_on: a", ["a"]],
  ])("%j", (line, foods) => {
    expect(read(`- task: x\n${line}`).depends_on).toEqual(foods);
  });

  test("further prose is kept, and fields inside of a fence are none", () => {
    const text = `# ${ID}\nintro\n\n- **task:** x\n- **priority:** high\n\nmore\n\n\`\`\`\ntask: not this\nreview: yes\n\`\`\`\nend\n`;
    expect(read(text)).toEqual({
      ...PLAIN,
      priority: "high",
      payload: {
        task: "x",
        text: "intro\n\n\nmore\n\n```\ntask: not this\nreview: yes\n```\nend",
      },
    });
  });

  test("what is commented out is no field", () => {
    const text = "- task: x\n<!--\n- done-when: `rm -rf x`\n- review: yes\n-->\n- priority: high\n";
    const { done_when, review, priority } = read(text);
    expect({ done_when, review, priority }).toEqual({ priority: "high" });
    expect(read("- task: x\n<!-- a\n- done-when: `true`\n").done_when).toBe("true");
  });

  test("a fence that is never closed swallows nothing", () => {
    expect(read("- **task:** x\n  ```\n- **done-when:** npm test").done_when).toBe("npm test");
  });

  test("a task goes on in indented lines and fences", () => {
    const text =
      "- **task:** one  # comment\n  two  # three\n\n  - for: four\n  ```py\n    five\n  ```\n";
    expect(read(text).payload).toEqual({
      task: "one\ntwo  # three\n\n- for: four\n```py\n  five\n```",
    });
  });

  test.each([
    ["task: fix  #12", "fix  #12"],
    ["task: fix # 12", "fix # 12"],
    ["task: keep `a  # b`", "keep `a  # b`"],
    ["task: keep `a  # b`  # not this", "keep `a  # b`"],
    ["task: x\t# not this", "x"],
  ])("%j", (text, task) => {
    expect(read(text).payload.task).toBe(task);
  });

  test.each([
    ["Fix the parser.", { task: "Fix the parser." }],
    [`# ${ID}\n\nFix it.\nSoon.`, { task: "Fix it.\nSoon." }],
    ["# Fix the parser", { task: "Fix the parser" }],
    [`# ${ID.toUpperCase()}\n## Fix the parser\n`, { task: "Fix the parser" }],
    [`# \`${ID}.md\`: Fix the parser\n`, { task: "Fix the parser" }],
    [`# ${ID}-2`, { task: `${ID}-2` }],
    ["# One\n# Two\n", { task: "One", text: "Two" }],
    ["# Title\n\nprose", { task: "# Title\n\nprose" }],
    ["task:\n\nprose", { task: "prose" }],
    [`# ${ID}\n- task: x`, { task: "x" }],
  ])("without a task field: %j", (text, payload) => {
    expect(read(text).payload).toEqual(payload);
  });

  test("of two the first counts, and the other stays in the text", () => {
    expect(read("task: a\ntask: b\n  c\ntossed-by: x").payload).toEqual({
      task: "a",
      text: "task: b\n  c",
      warnings: ["task is there more than once; only the first counts."],
    });
  });

  test("words are for a person", () => {
    const task = read("task: x\ndone-when: The keeper likes it.");
    expect(task.review).toBe(true);
    expect(task).not.toHaveProperty("done_when");
    expect(task.payload).toEqual({ task: "x", done_when: "The keeper likes it." });
  });

  test("a comment behind a command is none of it", () => {
    expect(read("task: x\ndone-when: npm test  # all of it").done_when).toBe("npm test");
    expect(read("task: x\ndone-when: grep -q 'a  # b' c").done_when).toBe("grep -q 'a  # b' c");
  });
});

describe("invalid values", () => {
  test.each([
    ["priority: urgent", /priority: "urgent" .*ignored/],
    ["max-attempts: many", /max-attempts: "many"/],
    ["max-attempts: 0", /max-attempts: "0"/],
    ["max-attempts: 1001", /max-attempts/],
    ["timeout: soon", /timeout: "soon"/],
    ["timeout: 0", /timeout: "0"/],
    ["tossed-at: yesterday", /tossed-at: "yesterday"/],
    ["tossed-at: now", /tossed-at: "now"/],
    ["too-big: maybe", /too-big: "maybe"/],
    ["done-when:", /done-when is empty/],
    ["done-wehn: npm test", /unknown field "done-wehn"; did you mean "done-when"/],
    ["- **Tosed by:** me", /did you mean "tossed-by"/],
    ['details: {"priority": 5}', /details: priority/],
    ['details: {"max_attempts": "3"}', /details: max_attempts/],
    ['details: {"timeout": "soon"}', /details: timeout/],
    ['details: {"review": "yes"}', /details: review/],
  ])("%j is ignored with a warning", (line, sentence) => {
    const { payload, ...task } = read(`task: x\n${line}`);
    const { payload: _, ...usual } = { ...PLAIN, payload: {} };
    expect(task).toEqual(usual);
    expect(payload.task).toBe("x");
    expect(payload.warnings).toEqual([expect.stringMatching(sentence)]);
  });

  test("any value but no asks for a review", () => {
    const task = read("task: x\nreview: Anna");
    expect(task.review).toBe(true);
    expect(task.payload.warnings).toEqual([expect.stringMatching(/person will review/)]);
    expect(read("task: x\nreview: no")).not.toHaveProperty("review");
  });

  test("an ordinary colon is no reason to warn", () => {
    expect(read("task: x\nNote: it: is\nhttp://x\n- **Background:** y").payload).not.toHaveProperty(
      "warnings",
    );
  });

  test.each([
    ["", /no task: the food is empty; write/],
    [`# ${ID}\n`, /no task/],
    ["---\n\n***\n", /no task/],
    ["tossed-by: me", /no task: .* write/],
    ["task: x\nafter: ../x", /after: "\.\.\/x" is not the name of a food/],
    ["task: x\nafter: the tests are green", /put commas/],
    ["task: x\nafter: a b", /put commas/],
    ["task: x\npart-of: ../x", /part-of: "\.\.\/x" is not the name/],
    ["task: x\nnot-before: someday", /not-before: "someday" is not a time; write/],
    ["task: x\nnot-before: +9999999999999999d", /not-before/],
    ["task: x\nfor: a b|c", /for: "a b\|c" is not a kind of snake/],
    ["task: x\nfor: ../b", /for/],
    ["task: x\ndetails: {", /details is not valid JSON/],
    ["task: x\ndetails:", /details is not valid JSON/],
    ["task: x\ndetails: []", /details must be a JSON object/],
    ['task: x\ndetails: {"task_id": "y"}', /task_id/],
    ['task: x\ndetails: {"depends_on": ["../y"]}', /depends_on/],
    ['task: x\ndetails: {"parent": "../y"}', /parent/],
    ['task: x\ndetails: {"not_before": "someday"}', /not_before/],
    ['task: x\ndetails: {"done_when": " "}', /done_when/],
    ['task: x\ndetails: {"task_type": "a b"}', /task_type/],
    ['task: x\ndetails: {"payload": null}', /payload/],
    [`task: x\ndetails: ${"[".repeat(9999)}`, /nested/],
  ])("%.60j cannot be food", (text, sentence) => {
    let error: unknown;
    try {
      read(text);
    } catch (caught) {
      error = caught;
    }
    expect(isVivError(error, "CORRUPT")).toBe(true);
    expect((error as Error).message).toMatch(sentence);
  });

  test("a file without a time is an error only if the time is needed", () => {
    const timeless = { runId: "r", createdAt: "whenever" };
    expect(() => parseFood("task: x\nnot-before: now", ID, timeless)).toThrow(/not-before/);
    expect(parseFood(`task: x\nnot-before: ${AT}`, ID, timeless).not_before).toBe(AT);
  });
});

test("any text is a food or CORRUPT", () => {
  const bit = fc.constantFrom(
    ..."task|done-when|tossed-by|for|size|too-big|part-of|after|tossed-at|not-before|priority|max-attempts|timeout|review|details|:|: |**|__|- |\n|\n|\n|  |\t|`|```|\n```\n|---\n|#|[|]|{|}|\"|'|,|and|x|+1m|now|{}|null|\r\n".split(
      "|",
    ),
  );
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 200 }),
    fc.array(bit, { maxLength: 60 }).map((bits) => bits.join("")),
    fc.array(bit, { maxLength: 60 }).map((bits) => `task: x\n${bits.join("")}`),
  );
  holds(
    fc.property(text, fc.constantFrom(AT, "", "whenever"), (given, createdAt) => {
      try {
        expect(parseFood(given, ID, { runId: "r", createdAt }).task_id).toBe(ID);
      } catch (error) {
        if (!isVivError(error, "CORRUPT")) throw error;
      }
    }),
    { numRuns: 2000 },
  );
});

test("hostile food takes no longer than long food", () => {
  const sized = (piece: string, size: number) => piece.repeat(size / piece.length);
  const pieces =
    "- |`|` |```a\n|~~~\n|a: \n|task: |#| #|  # |**|_|[|\n|\t|, |x |- [ ] |1. |<!--\n|<!--\n-->\n|after: a\n  ".split(
      "|",
    );
  for (const piece of pieces) {
    const size = piece === "- " || piece === "`" ? 2_000_000 : 200_000;
    const long = sized(piece, size);
    for (const text of [
      long,
      `task: ${long}`,
      `task: x\nafter: ${long}`,
      `task: x\ntossed-by: ${long}x`,
      `---\n${long}\n# ${long}x`,
    ]) {
      try {
        expect(read(text).task_id).toBe(ID);
      } catch (error) {
        if (!isVivError(error, "CORRUPT")) throw error;
      }
    }
  }
}, 60_000);
