import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { counted, listed, plural } from "../../src/base/text.ts";

/** Counts agree with their nouns in every message: `counted` writes them. */

test("one, none and several", () => {
  expect([0, 1, 2].map((n) => counted(n, "process"))).toEqual([
    "0 processes",
    "1 process",
    "2 processes",
  ]);
  expect(counted(2, "try")).toBe("2 tries");
  expect(counted(2, "day")).toBe("2 days");
  expect(counted(1200, "token", (n) => `${n / 1000}k`)).toBe("1.2k tokens");
  expect(plural(1, "line")).toBe("line");
  expect(listed("process", [7])).toBe("process 7");
  expect(listed("process", [7, 8])).toBe("processes 7, 8");
});

const NOUNS =
  "account agent attempt byte change character claim commit crash day death dog engine error execution " +
  "file finding folder food hour letter level line log member minute name note place problem " +
  "question reading restart result row run second session signal slot snake step task tick time " +
  "token turn warrant word worker";
const PLURAL = new RegExp(
  String.raw`\$\{([^{}]+)\}( [a-z]+)? ((${NOUNS.split(" ").join("|")})s|processes|tries|entries)\b`,
  "g",
);

/** Never one: a constant above it, or a number that a condition has checked. */
function isNeverOne(expression: string): boolean {
  return /^[A-Z][A-Z_]+$/.test(expression) || SEVERAL.has(expression);
}

const SEVERAL = new Set([
  ...["name.length", "value.length"], // too long for a name
  "stats.size", // too large to be read
  ...["foods.length", "claimed.length", "lines.length", "entries.length"], // the same twice
  "asked", // "once" before it
  "tasks", // of the demo
  "Number(times.toPrecision(2))", // a factor
]);

test("no message writes a number before a plural by itself", () => {
  const found: string[] = [];
  const files = readdirSync("src", { recursive: true, encoding: "utf8" });
  for (const file of files.filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))) {
    const text = readFileSync(join("src", file), "utf8");
    for (const [all, expression = ""] of text.matchAll(PLURAL)) {
      if (/^(app\/demo|queue\/conformance)/.test(file) || isNeverOne(expression)) continue;
      // `${name} runs` is a verb.
      if (
        /\}( still)? (names|notes|restarts|runs|claims|changes|files|places|results|times)$/.test(
          all,
        )
      ) {
        if (!/count|length|size|\bn\b|number/i.test(expression)) continue;
      }
      found.push(`${file}: ${all}`);
    }
  }
  expect(found).toEqual([]);
});
