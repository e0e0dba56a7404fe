import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { holds } from "../../test/support/property.ts";
import { wasteFoot, wasteHead } from "./waste.ts";
import {
  addLog,
  attemptsIn,
  boundTallies,
  errorLinesOf,
  factsOf,
  isSameSummary,
  type LogFacts,
  mergeTallies,
  renderSummary,
  type Tallies,
} from "./waste-summary.ts";

const HEAD = wasteHead({
  id: "food-0007-x",
  attempt: 2,
  worker: "snake-2",
  at: "2026-11-15T13:49:31.123Z",
});
const NAME = "snake-2-20261115T134931.123Z.log";

function facts(text: string, name = NAME): LogFacts {
  const found = factsOf({ name, head: text.slice(0, 4096), end: text });
  if (found === null) throw new Error(`${name} is no log`);
  return found;
}

const ended = (outcome: string, body = "work", note?: string) =>
  facts(`${HEAD}\n${body}\n${wasteFoot({ outcome, seconds: 2.5, note })}\n`);

describe("error lines", () => {
  test.each([
    ["Error: port 8080 is in use", "Error: port # is in use"],
    ["TypeError: x is not a function", "TypeError: x is not a function"],
    ["java.io.IOException: closed", "java.io.IOException: closed"],
    ["\u001b[31merror\u001b[0m: no", "error: no"],
    ["FAILED tests/test_a.py::test_b", "FAILED tests/test_a.py::test_b"],
    ["npm ERR! code ENOENT", "npm ERR! code ENOENT"],
    ["not ok 3 - adds", "not ok # - adds"],
    ["bash: foo: command not found", "bash: foo: command not found"],
    ["open /tmp/viv-a8Fk2/out: Permission denied", "open /tmp/#: Permission denied"],
    ["thread 'main' panicked at src/main.rs:7", "thread 'main' panicked at src/main.rs:#"],
    ["fatal: not a git repository", "fatal: not a git repository"],
    ["process exited with code 2", "process exited with code #"],
    ["2 failed, 10 passed in 0.3s", "# failed, # passed in #s"],
  ])("%j is one", (line, shown) => {
    expect(errorLinesOf(`before\n${line}\nafter`)).toEqual([shown]);
  });

  test.each([
    "12 passed, 0 failed",
    "compiled with no errors",
    '{"error":null,"failed":0}',
    "Failures: 0",
    "process exited with code 0",
    "# ended failed after 12.3 s: exit 1",
    "# food-fatal attempt 1 by failed at 2026-11-15T13:49:31.123Z",
    "a mirror, unfailing",
  ])("%j is none", (line) => {
    expect(errorLinesOf(line)).toEqual([]);
  });

  test("only the last line of a traceback counts", () => {
    const text = [
      "Traceback (most recent call last):",
      '  File "a.py", line 3, in <module>',
      '    raise ValueError("failed")',
      "pit.Choked: on 3 bones",
      "bye",
    ].join("\n");
    expect(errorLinesOf(text)).toEqual(["pit.Choked: on # bones"]);
  });

  test("one traceback may lead to another, or be cut off by the end", () => {
    const text = [
      "Traceback (most recent call last):",
      '  File "a.py", line 3, in <module>',
      "KeyError: 'a'",
      "",
      "During handling of the above exception, another exception occurred:",
      "",
      "Traceback (most recent call last):",
      '  File "a.py", line 5, in <module>',
      "# ended timed_out after 3.0 s",
    ].join("\n");
    expect(errorLinesOf(text)).toEqual(["KeyError: 'a'"]);
  });

  test("a line of a megabyte costs no more than a short one shows", () => {
    const [line = ""] = errorLinesOf(`error ${"x".repeat(1_000_000)}`);
    expect(line.length).toBe(160);
  });
});

describe("facts of a log", () => {
  test.each([
    ["a head that never ends", `# ${" attempt 1 by ".repeat(70_000)}`],
    ["a foot with a million spaces", `# ended done after 1 s: ${" ".repeat(1_000_000)}x`],
    ["a million short lines", "e\n".repeat(500_000)],
    ["tracebacks only", "Traceback (most recent call last): ".repeat(30_000)],
    ["escapes that never end", "\u001b]".repeat(500_000)],
  ])("%s is read like any other", (_, text) => {
    expect(facts(text).errors).toEqual([]);
  });

  test.each([
    ["done", "done"],
    ["failed", "failed"],
    ["unproven", "failed"],
    ["timed_out", "failed"],
    ["released", "other"],
    ["rate_limited", "other"],
    ["abandoned", "other"],
    ["cancelled", "other"],
    ["whatever", "other"],
  ])("ended %s is %s", (outcome, end) => {
    expect(ended(outcome)).toMatchObject({ snake: "snake-2", end, seconds: 2.5, isEnded: true });
  });

  test("an error line does not make a done attempt a failure", () => {
    expect(ended("done", "Error: first try")).toMatchObject({
      end: "done",
      errors: ["Error: first try"],
    });
  });

  test("without an error line the note is the error", () => {
    expect(ended("timed_out", "work", "silent for 600 s").errors).toEqual(["silent for # s"]);
    expect(ended("failed", "Error: a", "exit 1: b").errors).toEqual(["Error: a"]);
    expect(ended("done", "work", "fine").errors).toEqual([]);
  });

  test("a log that was cut off is neither success nor failure", () => {
    expect(facts(`${HEAD}\nError: x\n`)).toMatchObject({
      end: "other",
      isEnded: false,
      seconds: null,
    });
  });

  test("a log by hand failed if an error is near its end", () => {
    const calm = "so far so good\n".repeat(19);
    expect(facts("Error: x", "snake-9-1718000000.log")).toMatchObject({
      snake: "snake-9",
      end: "failed",
      isEnded: false,
      seconds: null,
    });
    expect(facts(`Error: x\n${calm}`).end).toBe("failed");
    expect(facts(`Error: x\n${calm}one more\n`)).toMatchObject({
      end: "done",
      errors: ["Error: x"],
    });
  });

  test("a head that does not match the name of the log does not count", () => {
    expect(facts(`${HEAD}\n`, "snake-3-1718000000.log").snake).toBe("snake-3");
    expect(facts(`${HEAD}\n`, "snake-2-x.log").snake).toBe("snake-2");
  });

  test("a line that repeats counts once, and the last five are kept", () => {
    const body = [1, 2, 3, 4, 5, 6, 7].map((n) => `Error: ${"x".repeat(n)}\n`.repeat(3)).join("");
    expect(facts(body).errors).toEqual([3, 4, 5, 6, 7].map((n) => `Error: ${"x".repeat(n)}`));
  });
});

const someFacts: fc.Arbitrary<LogFacts> = fc.record({
  snake: fc.constantFrom("a", "b", "__proto__"),
  isEnded: fc.boolean(),
  end: fc.constantFrom("done", "failed", "other"),
  seconds: fc.option(fc.integer({ min: 0, max: 10_000 }).map((tenths) => tenths / 10)),
  errors: fc.uniqueArray(fc.constantFrom("e1", "e2", "e3")),
});

function tallied(all: readonly LogFacts[]): Tallies {
  const tallies: Tallies = new Map();
  for (const one of all) addLog(tallies, one);
  return tallies;
}

const shown = (tallies: Tallies) => renderSummary(tallies, { now: 0, logs: 0, pruned: 0, kept: 0 });

describe("adding up", () => {
  test("the sum does not depend on order and parts", () => {
    holds(
      fc.property(fc.array(someFacts), fc.array(someFacts), (a, b) => {
        const merged = mergeTallies(tallied(b), tallied(a));
        expect(shown(merged)).toBe(shown(tallied([...a, ...b])));
        for (const [snake, { seconds }] of tallied([...a, ...b])) {
          expect(merged.get(snake)?.seconds).toBe(seconds);
        }
        expect(attemptsIn(merged)).toBe(a.length + b.length);
      }),
    );
  });

  test("stores the most frequent lines, of the rest the latest", () => {
    const log = (line: string): LogFacts => ({
      snake: "a",
      isEnded: true,
      end: "failed",
      seconds: 1,
      errors: [line],
    });
    const often = [log("often"), log("often")];
    const once = Array.from({ length: 300 }, (_, i) => log(`once ${i}`));
    const kept = boundTallies(tallied([...often, ...once])).get("a")?.errors ?? new Map();
    expect(kept.size).toBe(200);
    expect(kept.get("often")).toBe(2);
    expect([kept.has("once 100"), kept.has("once 101")]).toEqual([false, true]);
    const again = boundTallies(new Map([["a", { ...noCounts, errors: kept }]])).get("a")?.errors;
    expect([...(again ?? [])]).toEqual([...kept]);
  });
});

const noCounts = { attempts: 0, failures: 0, other: 0, seconds: 0, unknown: 0 };

describe("the summary", () => {
  test("renders a table and error lines", () => {
    const log = (snake: string, end: LogFacts["end"], seconds: number | null, errors: string[]) =>
      ({ snake, isEnded: true, end, seconds, errors }) satisfies LogFacts;
    const tallies = tallied([
      log("snake-1", "failed", 61, ["Error: a", "b failed"]),
      log("snake-1", "failed", 3600, ["b failed"]),
      log("snake-1", "other", 1.5, []),
      log("by hand", "done", null, []),
    ]);
    const facts = { now: Date.parse("2026-11-15T13:49:31Z"), logs: 3, pruned: 1, kept: 1 };
    expect(renderSummary(tallies, facts)).toBe(`# Waste

As of 2026-11-15 13:49 UTC: 3 logs, 1 of them old but named in scraps/, 1 more pruned.

| snake     | attempts | failed | other |        time spent |
| --------- | -------: | -----: | ----: | ----------------: |
| snake-1   |        3 |      2 |     1 |             1h 1m |
| \`by hand\` |        1 |      0 |     0 |           unknown |
| **all**   |        4 |      2 |     1 | 1h 1m (1 unknown) |

## Most common error lines

A line counts once per log; \`#\` stands for what differs: a number, a time, an id.

### snake-1

- 2 × \`b failed\`
- 1 × \`Error: a\`
`);
  });

  test("two that differ only in their date are the same", () => {
    const at = (now: number, logs: number) =>
      renderSummary(tallied([]), { now, logs, pruned: 0, kept: 0 });
    expect(at(0, 1)).not.toBe(at(1e9, 1));
    expect(isSameSummary(at(0, 1), at(1e9, 1))).toBe(true);
    expect(isSameSummary(at(0, 1), at(0, 2))).toBe(false);
  });

  test("five lines of a snake, a hundred snakes", () => {
    const many = Array.from({ length: 150 }, (_, i): LogFacts => {
      const errors = Array.from({ length: 9 }, (_, j) => `error ${"x".repeat(j)}`);
      return { snake: `s${i}`, isEnded: true, end: "failed", seconds: 1, errors };
    });
    const text = shown(tallied(many));
    expect(text.match(/^\| s/gm)?.length).toBe(101); // with the titles
    expect(text.match(/^- /gm)?.length).toBe(500);
    expect(text).toContain("50 snakes with fewer attempts not shown.");
    expect(text).toMatch(/\*\*all\*\* +\| +150 \|/);
  });

  test("hostile names and logs stay inside the table and code spans", () => {
    const nasty = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom(
        "a|b",
        "a\\|b",
        "`",
        "``x",
        "<script>",
        "a\nb",
        "\u001b[2J",
        "\u202e",
        "# h",
        "",
      ),
    );
    holds(
      fc.property(fc.array(fc.tuple(nasty, nasty), { maxLength: 5 }), (pairs) => {
        const tallies = tallied(
          pairs.map(([snake, line]) => {
            return { snake, isEnded: true, end: "failed", seconds: 1, errors: [line] };
          }),
        );
        const text = shown(tallies);
        expect(text).not.toMatch(/[^\n\P{Cc}]|[\u2028\u2029\u202a-\u202e]/u);
        for (const row of text.split("\n").filter((line) => line.startsWith("|"))) {
          expect(row.match(/\|/g)?.length).toBe(6);
        }
        const outside = text.replace(/`[^`\n]*`/g, "");
        expect(outside).not.toMatch(/[`<\\]/);
        expect(outside.match(/^#+ /gm)?.length ?? 0).toBeLessThanOrEqual(2 + tallies.size);
      }),
    );
  });
});
