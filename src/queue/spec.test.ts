import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { holds } from "../../test/support/property.ts";
import { isVivError } from "../base/errors.ts";
import { canonicalJson } from "../base/json.ts";
import { parseUserJson } from "../base/user-json.ts";
import { specFromObject, type TaskSpec, taskFromSpec } from "./spec.ts";
import { parseTask } from "./task.ts";

const NOW = Date.parse("2026-11-15T08:00:00.000Z");
const context = { runId: "r", now: NOW, newId: () => "made-up" };
const make = (spec: unknown) => taskFromSpec(spec as TaskSpec, context);

describe("taskFromSpec", () => {
  test("a type is enough", () => {
    expect(make({ type: "t" })).toEqual({
      task_id: "made-up",
      task_type: "t",
      run_id: "r",
      created_at: "2026-11-15T08:00:00.000Z",
      created_by: null,
      depends_on: [],
      payload: {},
      tier_hint: null,
      deadline: null,
    });
  });

  test("default values are not written", () => {
    const task = make({ type: "t", priority: "normal", review: false });
    expect(task).not.toHaveProperty("priority");
    expect(task).not.toHaveProperty("review");
  });

  test("further keys are kept, but cannot take the place of ours", () => {
    const task = make({ type: "t", extra: { task_id: "x", run_id: "y", payload: 1, mine: [1] } });
    expect(task).toMatchObject({ task_id: "made-up", run_id: "r", payload: {}, mine: [1] });
  });

  test.each([
    [{}, /needs a type/],
    [{ type: "t", payload: [] }, /payload must be a JSON object/],
    [{ type: "t", prioritty: "high" }, /unknown key "prioritty"; did you mean "priority"/],
    [{ type: "t", timeout: 0 }, /timeout is zero/],
    [{ type: "t", timeout: -5 }, /timeout/],
    [{ type: "t", max_attempts: 1.5 }, /max_attempts/],
    [{ type: "t", max_attempts: 1001 }, /max_attempts/],
    [{ type: "t", depends_on: "a" }, /depends_on/],
    [{ type: "t", depends_on: [1] }, /depends_on/],
    [{ type: "t", done_when: "  " }, /done_when is empty/],
    [{ type: 5 }, /type/],
    [null, /./],
    ["t", /./],
  ])("%j is refused with a sentence", (spec, sentence) => {
    let error: unknown;
    try {
      make(spec);
    } catch (caught) {
      error = caught;
    }
    expect(isVivError(error, "INVALID")).toBe(true);
    expect((error as Error).message).toMatch(sentence);
  });

  test("an accepted task is written and read again without loss", () => {
    const payload = fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue(), { maxKeys: 5 });
    holds(
      fc.property(payload, payload, (content, extra) => {
        const task = make({ id: "a", type: "t", payload: content, extra });
        const text = canonicalJson(task);
        expect(canonicalJson(parseTask(text, "a"))).toBe(text);
        expect(canonicalJson(task.payload)).toBe(canonicalJson(content));
        for (const key of Object.keys(extra)) expect(Object.hasOwn(task, key)).toBe(true);
      }),
    );
  });

  test("any input: a task, or INVALID", () => {
    const keys = ["id", "type", "payload", "depends_on", "priority", "not_before", "timeout"];
    const spec = fc.dictionary(
      fc.constantFrom(...keys, "deadline", "review", "max_attempts", "parent", "extra"),
      fc.oneof(
        fc.anything(),
        fc.string(),
        fc.constantFrom("t", "a", "+10m", "+99999999999999d", "1e400s"),
      ),
    );
    holds(
      fc.property(spec, (value) => {
        try {
          canonicalJson(make({ type: "t", ...value, payload: {}, extra: {} }));
        } catch (error) {
          if (!isVivError(error, "INVALID")) throw error;
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe("specFromObject", () => {
  test("swarm-lib's names and ours", () => {
    expect(
      specFromObject({
        task_id: "a",
        task_type: "t",
        run_id: "r",
        created_at: "x",
        tier_hint: null,
        payload: { a: 1 },
      }),
    ).toEqual({ id: "a", type: "t", payload: { a: 1 } });
  });

  test("unknown keys are kept, typos are refused", () => {
    expect(specFromObject({ type: "t", swarm_version: 3 }).extra).toEqual({ swarm_version: 3 });
    expect(() => specFromObject({ type: "t", dependson: [] })).toThrow(/did you mean "depends_on"/);
  });
});

describe("parseUserJson", () => {
  test("a parsed value is written without loss", () => {
    holds(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        try {
          expect(canonicalJson(parseUserJson(text, "it"))).toBe(canonicalJson(JSON.parse(text)));
        } catch (error) {
          if (!isVivError(error, "INVALID")) throw error; // a number that would lose digits
        }
      }),
    );
  });

  test("long digits in a string are kept", () => {
    const value = { a: "12345678901234567890", '9"12345678901234567890': 1 };
    expect(parseUserJson(JSON.stringify(value), "it")).toEqual(value);
    expect(() => parseUserJson('{"a":12345678901234567890}', "it")).toThrow(/lose digits/);
  });
});
