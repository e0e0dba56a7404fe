import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { holds } from "../../test/support/property.ts";
import type { Task } from "../queue/task.ts";
import { MAX_INSERTED_BYTES, parseTemplate, render, type TemplateFacts } from "./template.ts";

const task: Task = {
  task_id: "t.1",
  task_type: "implement",
  run_id: "r",
  created_at: "2026-11-15T00:00:00Z",
  created_by: null,
  depends_on: ["t.plan"],
  payload: {
    goal: "make it fast",
    count: 3,
    ok: false,
    none: null,
    files: [{ path: "a.ts" }, { path: "b.ts" }],
    plan: "t.plan",
    "my key": "spaced",
    größe: "xl",
    trick: "{{task_id}} {{{{ }}",
    nested: { deep: { er: "down" } },
  },
  tier_hint: null,
  deadline: null,
  parent: "t.0",
};
const facts: TemplateFacts = {
  task,
  attempt: 2,
  note: "exit 1: two tests fail",
  evidence: "expected 1, got 2",
  artifact: (id) => (id === "t.plan" ? "# The plan {{attempt}}" : null),
};
const fill = (text: string, more: Partial<TemplateFacts> = {}) =>
  render(parseTemplate(text, "p.md"), { ...facts, ...more });

/** The message of the INVALID that it throws. */
function invalid(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    expect(error).toMatchObject({ code: "INVALID" });
    return (error as Error).message;
  }
  return expect.unreachable();
}

describe("a prompt", () => {
  test.each([
    ["{{payload.goal}}", "make it fast"],
    ["{{ payload.goal }}", "make it fast"],
    ["Goal: {{payload.goal}}!\n{{payload.count}}", "Goal: make it fast!\n3"],
    ["{{payload.ok}}", "false"],
    ["{{payload.files[1].path}}", "b.ts"],
    ["{{payload.files.0.path}}", "a.ts"],
    ['{{payload["my key"]}}', "spaced"],
    ["{{payload.größe}}", "xl"],
    ["{{payload.nested.deep.er}}", "down"],
    ["{{payload.nested}}", JSON.stringify({ deep: { er: "down" } }, null, 2)],
    ["{{task}}", JSON.stringify(task, null, 2)],
    ["{{task.depends_on[0]}}", "t.plan"],
    ["{{payload}}", JSON.stringify(task.payload, null, 2)],
    ["{{task_id}} {{task_type}} {{attempt}} {{parent}}", "t.1 implement 2 t.0"],
    ["{{note}}: {{evidence}}", "exit 1: two tests fail: expected 1, got 2"],
    ['{{artifact "t.plan"}}', "# The plan {{attempt}}"],
    ["{{artifact payload.plan}}", "# The plan {{attempt}}"],
    [
      "{{payload.hint?}}|{{payload.a.b[3]?}}|{{payload.none?}}|{{payload.goal?}}",
      "|||make it fast",
    ],
    ['{{artifact "t.9"?}}|{{artifact payload.hint ?}}|{{artifact parent?}}', "||"],
    ["{{{{payload.goal}}", "{{payload.goal}}"],
    ["{{{{{{payload.goal}}", "{{make it fast"],
    ["{{{{{", "{{{"],
    ['{"goal": {{payload.count}}}', '{"goal": 3}'],
    ["a } b }} c { d {", "a } b }} c { d {"],
    ["", ""],
  ])("%s", (text, prompt) => expect(fill(text)).toBe(prompt));

  test("inserted text is data, and not parsed again", () => {
    expect(fill("{{payload.trick}}")).toBe("{{task_id}} {{{{ }}");
    holds(
      fc.property(fc.string({ unit: fc.constantFrom("{", "}", "$", "&", "a") }), (value) => {
        const own = { ...task, payload: { value } };
        expect(fill("<{{payload.value}}>", { task: own })).toBe(`<${value}>`);
      }),
    );
  });

  test("missing parent, note and evidence are empty", () => {
    const { parent: _, ...orphan } = task;
    const bare = { task: orphan as Task, note: "", evidence: "" };
    expect(fill("[{{parent}}{{note}}{{evidence}}{{artifact parent?}}]", bare)).toBe("[]");
  });

  test("any text without two braces is itself, and any text at all with its braces doubled", () => {
    const text = fc.string({ unit: fc.constantFrom("{", "}", "\n", "x", '"', "é") });
    holds(
      fc.property(text, (any) => {
        expect(fill(any.replaceAll("{", "("))).toBe(any.replaceAll("{", "("));
        expect(fill(any.replace(/\{\{/g, "{{{{"))).toBe(any);
      }),
    );
  });
});

describe("mistakes of a template", () => {
  const mistakes = (text: string) => invalid(() => parseTemplate(text, "p.md"));

  test("all of them, each with its line", () => {
    expect(
      mistakes("{{payloda.goal}}\n{{payload.goal}} {{\n\n{{}} and {{atempt}}\n{{evidence.x}}\n"),
    ).toBe(
      [
        "p.md:1: {{payloda.goal}}: there is no payloda; did you mean payload?",
        "p.md:2: {{ has no }} on its line; write {{{{ if it is no tag.",
        "p.md:4: {{}} is empty; there are payload, task, task_id, task_type, attempt, parent, evidence, note and artifact.",
        "p.md:4: {{atempt}}: there is no atempt; did you mean attempt?",
        "p.md:5: {{evidence.x}}: evidence has no fields; write {{evidence}}.",
      ].join("\n"),
    );
  });

  test.each([
    ["{{goal}}", "a field of the task's payload is {{payload.goal}}."],
    ["{{payload.}}", "{{payload.}} cannot be read; write it like {{payload.goal}}."],
    ["{{payload goal}}", "cannot be read"],
    ["{{payload.a[x]}}", "cannot be read"],
    ["{{?}}", "is empty"],
    ["{{{payload.goal}}}", "{{{ can be read in two ways"],
    ["{{artifact}}", '{{artifact}} needs a task\'s id in quotes, like {{artifact "t.plan"}}.'],
    ["{{artifact t.7}}", 'needs a task\'s id in quotes, like {{artifact "t.7"}}.'],
    ['{{artifact "../etc"}}', 'task id "../etc" must not begin with a dot.'],
    ['{{artifact "a" "b"}}', "cannot be read as a text in quotes"],
    ['{{artifact "t.plan}}', "{{ has a quote that is not closed"],
    ["{{constructor}}", "there is no constructor"],
    ["{{payload\n.goal}}", "{{ has no }} on its line"],
  ])("%s", (text, message) => {
    expect(mistakes(`\n${text}`)).toContain(message);
    expect(mistakes(`\n${text}`).split("\n")).toHaveLength(1);
    expect(mistakes(`\n${text}`)).toMatch(/^p\.md:2: /);
  });

  test("no text makes it throw anything else, and lines stay right", () => {
    const piece = fc.constantFrom(
      "{{",
      "}}",
      "{",
      "payload",
      ".a",
      "[0]",
      '"',
      "?",
      "\n",
      " ",
      "artifact",
    );
    holds(
      fc.property(fc.array(piece), (pieces) => {
        const text = pieces.join("");
        try {
          parseTemplate(text, "p.md");
        } catch (error) {
          expect(error).toMatchObject({ code: "INVALID" });
        }
        const lines = text.split("\n").length;
        expect(mistakes(`${text}\n{{nope}}`)).toContain(`p.md:${lines + 1}: {{nope}}`);
      }),
    );
  });
});

describe("missing fields", () => {
  const lack = (text: string) => invalid(() => fill(text));

  test.each([
    [
      "{{payload.gaol}}",
      'payload has no field "gaol"; did you mean "goal"? it has "goal", "count", "ok", "none", "files"',
    ],
    ["{{payload.zzz}}", 'payload has no field "zzz"; it has "goal", "count"'],
    ["{{payload.constructor}}", 'payload has no field "constructor"'],
    ["{{payload.__proto__.x}}", 'payload has no field "__proto__"'],
    ["{{payload.files[2].path}}", 'payload.files is a list of 2 items, and has no "2".'],
    ["{{payload.files.length}}", 'payload.files is a list of 2 items, and has no "length".'],
    ["{{payload.files[0].name}}", 'payload.files[0] has no field "name"; it has "path".'],
    ["{{payload.goal.x}}", "payload.goal is a string, and has no fields."],
    ["{{payload.none}}", "payload.none is null."],
    ['{{artifact "t.9"}}', "the task t.9 has left no artifact."],
    ["{{artifact payload.goal}}", '"make it fast" is not the id of a task.'],
    ["{{payload.zzz}}", "Where it may be missing, write {{payload.zzz?}}."],
  ])("%s", (text, message) => expect(lack(`\n\n${text}`)).toContain(message));

  test("all of it at once, each with its line", () => {
    expect(lack("{{payload.x}}\n{{payload.y}}").split("\n")).toEqual([
      expect.stringMatching(/^p\.md:1: \{\{payload\.x\}\}: /),
      expect.stringMatching(/^p\.md:2: \{\{payload\.y\}\}: /),
    ]);
  });

  test("of a payload with many fields some are named", () => {
    const payload = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`field${i}`, i]));
    const own = { ...task, payload };
    expect(() => fill("{{payload.x}}", { task: own })).toThrow('"field19" and 480 more.');
    expect(() => fill("{{payload.x}}", { task: { ...task, payload: {} } })).toThrow("it is empty.");
  });
});

describe("long texts", () => {
  test("an artifact is cut behind its beginning, evidence before its end", () => {
    const text = `begin${"x".repeat(MAX_INSERTED_BYTES)}end`;
    expect(fill('{{artifact "t.plan"}}', { artifact: () => text })).toBe(
      `${text.slice(0, MAX_INSERTED_BYTES)}\n[cut: this is the first 100 kB; the whole is artifacts/t.plan.md]`,
    );
    expect(fill("{{evidence}}", { evidence: text })).toBe(
      `[cut: this is the last 100 kB]\n${text.slice(-MAX_INSERTED_BYTES)}`,
    );
  });

  test("a text that just fits is whole, and no character is cut in two", () => {
    const whole = "é".repeat(MAX_INSERTED_BYTES / 2);
    expect(fill('{{artifact "t.plan"}}{{evidence}}', { artifact: () => whole, evidence: "" })).toBe(
      whole,
    );
    expect(fill("{{evidence}}", { evidence: whole })).toBe(whole);
    for (const text of [`x${whole}`, `${whole}x`, `x${whole}😀`, `😀x${whole}`]) {
      const first = fill('{{artifact "t.plan"}}', { artifact: () => text });
      const last = fill("{{evidence}}", { evidence: text });
      const [beginning = ""] = first.split("\n[cut");
      const [, ending = ""] = last.split("kB]\n");
      expect(text.startsWith(beginning) && text.endsWith(ending)).toBe(true);
      for (const part of [beginning, ending]) {
        expect(Buffer.byteLength(part)).toBeLessThanOrEqual(MAX_INSERTED_BYTES);
        expect(Buffer.byteLength(part)).toBeGreaterThan(MAX_INSERTED_BYTES - 4);
      }
    }
  });
});
