import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { holds } from "../../test/support/property.ts";
import { readDoneWhen } from "./done-when.ts";

describe("the sentence around it", () => {
  test.each([
    "`x y` is green",
    "`x y` are green.",
    "`x y` passes",
    "`x y` Passes!",
    "`x y`: passes",
    "`x y` — passes",
    '"`x y` passes."',
    "`x y` **passes**",
    "`x y` succeeds",
    "`x y` works",
    "`x y` is ok",
    "`x y` is fine",
    "`x y` exits 0",
    "`x y` exit 0",
    "`x y` exits with 0",
    "`x y` exits with code 0",
    "`x y` exits with an exit status of zero",
    "`x y` returns 0",
    "`x y` exit status 0",
    "`x y` exit code 0",
    "`x y` runs",
    "`x y` runs through",
    "`x y` runs through without errors",
    "`x y` runs without errors",
    "`x y` runs cleanly",
    "`x y` runs and exits 0",
    "`x y` must pass",
    "`x y` should pass",
    "`x y` must be green",
    "run `x y`",
    "Run: `x y`",
    "when `x y` passes",
    "command: `x y`",
    "the command `x y` succeeds",
    "run the command `x y`",
    "All tests pass: `x y`",
    "tests pass: `x y`",
    "tests pass: `x y` is green",
    "`x y` # with `z` it fails",
    "`x y` passes # it's not empty",
    "`x y` passes\n# on Linux",
  ])("%j proves", (value) => {
    expect(readDoneWhen(value)).toEqual({ command: "x y" });
  });

  test.each([
    "`x y` passes and `z` is green",
    "`x y` passes, `z` passes.",
    "`x y` passes. `z` is green.",
    "`x y` passes\n`z` passes",
    "`x y` and `z` both pass",
    "both `x y` and `z` pass",
    "all of `x y`, `z` are all green",
    "run `x y`, then run `z`",
    "`x y` as well as `z`",
    "all tests pass: `x y` && `z`",
  ])("%j proves with both", (value) => {
    expect(readDoneWhen(value)).toEqual({ command: "x y && z" });
  });

  test.each([
    "`x y` finds nothing",
    "`x y` is empty",
    "`x y` shows no changes",
    "`x y` has zero matches",
    "`x y`: zero matches",
    "`x y` is false",
    "`x y` is 0",
    "`x y` is clean",
    "`x y` crashes",
    "`x y` comes back empty",
    "`x y` reports no errors",
    "unless `x y` passes",
    "there is no output from `x y`",
    "no errors from `x y`",
    "output of `x y`",
    "the output of `x y` is fine",
    "run `x y` without looking at it",
    "`x y` exits 1",
    "`x y` exits",
    "`x y` exits 0.5",
    "`x y` exits 0 or 1",
    "`x y` returns 0 rows",
    "`x y` exits != 0",
    "`x y` passes?",
    "`x y` ...",
    "~~`x y` passes~~",
    "! `x y`",
    "not `x y`",
    "neither `x y` and `z` pass",
    "`x y` passes unless it rains",
    "`x y` passes, and the page looks good",
    "The page looks good and `x y` passes",
    "All tests pass. `x y` is green.",
    "all tests pass and `x y` is green",
    "all tests pass\n`x y` is green",
    "`x y` passes when `z`",
    "`x y` passes, when `z` passes",
    "`x y` passes `z`",
    "`x y` or `z`",
    "either `x y` or `z` passes",
    "`x y` passes and `z` fails",
    "`x y` fails and `z` passes",
    "`x y` is green and `z` exists",
    "`scraps/x.py` exists and `x y` is green",
    "`README.md` and `x y` pass",
    "`sort` works",
    "`x y` passes #12",
    "`x y` # first\n`z` fails",
    "`x y` passes `",
    "`x y` ist grün",
    "`x y` ✗",
  ])("%j is for a person", (value) => {
    expect(readDoneWhen(value)).toEqual({ words: value });
  });

  const lead = fc.constantFrom("", "run", "when", "command:", "the command", "tests pass:");
  const verdict = fc.constantFrom(
    "",
    "passes",
    "is green.",
    "exits with 0",
    "must be green",
    "runs through without errors",
  );
  const joint = fc.constantFrom("and", ",", "then", "&&", ", and", "and run");
  const sentence = fc
    .tuple(lead, verdict, fc.array(fc.tuple(joint, verdict), { maxLength: 2 }))
    .map(([first, last, more]) => {
      const parts = [first, "`x y -q`", last.replace(/\.$/, "")];
      for (const [by, end] of more) parts.push(by, "`x y -q`", end.replace(/\.$/, ""));
      return parts.flatMap((part) => (part.startsWith("`") ? [part] : part.split(" ")));
    });

  test("of what is understood all commands are run", () => {
    holds(
      fc.property(sentence, fc.boolean(), (parts, isLoud) => {
        const text = parts.map((part) => (isLoud && part[0] !== "`" ? part.toUpperCase() : part));
        const count = parts.filter((part) => part.startsWith("`")).length;
        const command = Array(count).fill("x y -q").join(" && ");
        expect(readDoneWhen(text.join(" "))).toEqual({ command });
      }),
    );
  });

  test("with one more word, wherever, it is for a person", () => {
    const known = new Set(
      `a all also an and are be both cleanly code command commands error errors exit exits fine
      following green is must of ok okay pass passes plus return returns run runs should status
      succeed succeeds tests the then these this through unit well when with without work works
      zero`.split(/\s+/),
    );
    const word = fc.oneof(
      fc.constantFrom(
        ..."no not never nothing unless fails empty output or test [ = -q".split(" "),
      ),
      fc.stringMatching(/^[a-z]{1,9}$/).filter((text) => !known.has(text)),
      fc
        .stringMatching(/^[^\s`#*_"&+.,:;!–—-]{1,5}$/u)
        // A number with a bracket begins an item of a list.
        .filter((text) => !known.has(text.toLowerCase()) && !/^\d+\)$/.test(text)),
    );
    holds(
      fc.property(sentence, word, fc.nat(), (parts, extra, place) => {
        const at = place % (parts.length + 1);
        const text = [...parts.slice(0, at), extra, ...parts.slice(at)].join(" ");
        expect(readDoneWhen(text)).toEqual({ words: text.trim() });
      }),
      { numRuns: 3000 },
    );
  });
});
