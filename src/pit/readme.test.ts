import { expect, test } from "vitest";
import { readDoneWhen } from "./done-when.ts";
import { readme } from "./readme.ts";

const text = readme();

test("every done-when that the README calls understood is run, every other one is not", () => {
  for (const example of [
    "`npm test`",
    "`npm test` passes and `npm run lint` is clean",
    "all tests pass (`npm test`)",
    "npm test passes",
    "`scraps/report.md` exists",
    "`! grep -rn TODO src`",
  ]) {
    expect(text).toContain(example);
    expect(readDoneWhen(example), example).toHaveProperty("command");
  }
  for (const verdict of ["passes", "is green", "is clean", "is ok", "exits 0", "succeeds"]) {
    expect(text).toContain(verdict);
    expect(readDoneWhen(`\`x\` ${verdict}`), verdict).toEqual({ command: "x" });
  }
  for (const verdict of ["no longer fails", "prints 0", "finds nothing", "with no warnings"]) {
    expect(text).toContain(`"${verdict}"`);
    expect(readDoneWhen(`\`x\` ${verdict}`), verdict).toHaveProperty("words");
  }
});

test.each([
  ["small food", /Keep food small/],
  ["a free name", /one that is free/],
  ["an empty food/", /Nothing there for you\?/],
  ["the keeper", /\*\*Keeper\.\*\*/],
  ["the planner", /\*\*Planner\.\*\*/],
  ["cleanup duty", /\*\*Cleanup\.\*\*.*half an hour.*SUMMARY\.md/s],
  ["choking", /same failure three times.*scraps\/choke-F-snake-2\.md/s],
])("the README teaches %s", (_, pattern) => {
  expect(text).toMatch(pattern);
});
