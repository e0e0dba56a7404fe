import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { holds } from "../../test/support/property.ts";
import { isVivError } from "../base/errors.ts";
import { OpenTargets, oneLine, parseWarrant, targetKey, type Warrant } from "./warrant.ts";

const NOW = Date.parse("2026-01-07T20:15:00Z");

describe("a warrant that a script wrote", () => {
  test("needs only a target", () => {
    expect(parseWarrant('{"target": "gt-gastown-Toast"}', "w1", NOW)).toEqual({
      ...{ id: "w1", target: "gt-gastown-Toast", kind: "tmux", bound: null },
      ...{ reason: "no reason given", requester: "unknown", filed_at: "2026-01-07T20:15:00.000Z" },
      ...{ watch: [], shell: false, socket: null, home: null },
    });
  });

  test("has its own time of filing, unless that is in the future", () => {
    const filed = (at: string) =>
      parseWarrant(JSON.stringify({ target: "t", filed_at: at }), "w", NOW).filed_at;
    expect(filed("2026-01-07T19:00:00Z")).toBe("2026-01-07T19:00:00.000Z");
    expect(filed("2027-01-01T00:00:00Z")).toBe("2026-01-07T20:15:00.000Z");
    expect(filed("yesterday")).toBe("2026-01-07T20:15:00.000Z");
  });

  test.each([
    ["not JSON", "{", "JSON object"],
    ["a list", "[]", "JSON object"],
    ["no target", '{"reason": "x"}', "needs a target"],
    ["an empty target", '{"target": " "}', "needs a target"],
    ["a line break in the target", '{"target": "a\\nb"}', "control characters"],
    ["nothing but a control character", '{"target": "\\u0007"}', "control characters"],
    ["an unknown kind", '{"target": "a", "kind": "dog"}', "kind must be one of tmux, pid"],
    ["a relative file to watch", '{"target": "a", "watch": ["x"]}', "absolute"],
    ["half a binding", '{"target": "a", "bound": {"is": "process", "pid": 3}}', "bound"],
  ])("%s is refused with words", (_, text, words) => {
    expect(() => parseWarrant(text, "w", NOW)).toThrow(words);
  });

  test("has the file's time if a Go program left its own unset", () => {
    const text = JSON.stringify({ target: "x", filed_at: "0001-01-01T00:00:00Z" });
    expect(parseWarrant(text, "w", 1_000).filed_at).toBe("1970-01-01T00:00:01.000Z");
  });

  test("any text is a warrant, or refused with INVALID", () => {
    holds(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        try {
          parseWarrant(text, "w", NOW);
        } catch (error) {
          expect(isVivError(error, "INVALID")).toBe(true);
        }
      }),
    );
  });
});

test("free text becomes one line without control characters", () => {
  expect(oneLine("stuck\n\u001b[31mred\u202e")).toBe("stuck [31mred");
});

test("one target is one key, for every requester", () => {
  const byScript = parseWarrant('{"target": "a", "requester": "x"}', "w1", NOW);
  const bound = {
    ...{ is: "session", socket: "/tmp/s", server: { pid: 2, started: "1" } },
    ...{ session: "$1", created: 1 },
  };
  const byCommand = parseWarrant(JSON.stringify({ target: "a", bound }), "w2", NOW);
  expect(targetKey(byScript)).toBe(targetKey(byCommand));
  expect(targetKey({ ...byScript, kind: "worker" })).not.toBe(targetKey(byScript));
});

test("one open warrant for each target: by its identity where that is known, else by its name", () => {
  const warrant = (id: string, given: object) => parseWarrant(JSON.stringify(given), id, NOW);
  const on = (pid: number, session: string) => ({
    ...{ is: "session", socket: `/tmp/s${pid}`, server: { pid, started: "1" } },
    ...{ session, created: 1 },
  });
  const process = { is: "process", host: "h", boot: "b", pid: 7, started: "1", claim: "" };
  const open = new OpenTargets([
    warrant("w1", { target: "a", bound: on(2, "$1") }),
    warrant("w2", { target: "7", kind: "pid", bound: process }),
  ]);
  expect(open.same(warrant("x", { target: "a" }))).toBe("w1");
  expect(open.same(warrant("x", { target: "a", bound: on(3, "$1") }))).toBeUndefined();
  const named = { target: "a", socket: "/tmp/s2", bound: on(2, "$1") };
  expect(open.same(warrant("x", named))).toBe("w1");
  const worker = { target: "w", kind: "worker", home: "/r", bound: process };
  expect(open.same(warrant("x", worker))).toBe("w2");
  expect(
    open.same(warrant("x", { ...worker, bound: { ...process, started: "2" } })),
  ).toBeUndefined();
});

test("without a server it is for the warden's own, and the same target as with that server", () => {
  const [none, own, other] = [{}, { socket: "/tmp/own" }, { socket: "/tmp/other" }].map((given) =>
    parseWarrant(JSON.stringify({ target: "a", ...given }), "w1", NOW),
  ) as [Warrant, Warrant, Warrant];
  expect(targetKey(none, "/tmp/own")).toBe(targetKey(own, "/tmp/own"));
  expect(targetKey(none, "/tmp/own")).not.toBe(targetKey(other, "/tmp/own"));
  expect(new OpenTargets([own], "/tmp/own").same(none)).toBe("w1");
  expect(new OpenTargets([none]).same(own)).toBeUndefined();
});
