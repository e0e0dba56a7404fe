import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { holds } from "../../test/support/property.ts";
import { quoteDoneWhen, readDoneWhen } from "./done-when.ts";

describe("what stands in backticks or in a fence", () => {
  test.each([
    [
      "`python -m pytest scraps/test_reverse.py -q` is green.",
      "python -m pytest scraps/test_reverse.py -q",
    ],
    ["`npm test`", "npm test"],
    ["`true`", "true"],
    ["**`npm test`** passes", "npm test"],
    ["``echo `date` ``", "echo `date` "],
    ["`` echo `date` ``", "echo `date`"],
    ["`` `which true` `` succeeds", "`which true`"],
    ["`a` and `b`", "a && b"],
    ["`a`, `b`, and `c` are green", "a && b && c"],
    ["`a` then `b`", "a && b"],
    ["`a` && `b`", "a && b"],
    ["`a`\n`b`", "a && b"],
    ["`a` and `b || c`", "a && (b || c)"],
    ["`a # all of it` and `b`", "(a # all of it\n) && b"],
    ["`./check.sh` exits with 0", "./check.sh"],
    ["`long \n   command` is green", "long command"],
    ["- `a`\n- `b` is green", "a && b"],
    ["all of these pass:\n1. `a`\n2. npm test", "a && npm test"],
    ["```sh\nnpm test\n```", "npm test"],
    ["~~~\nnpm test\n~~~", "npm test"],
    ["this passes:\n\n```\nnpm test\n```\n", "npm test"],
    ["  ```sh\n  if a; then\n    b\n  fi\n  ```", "set -e\nif a; then\n  b\nfi"],
    ["```console\n$ a\nits output\n$ b\n```", "set -e\na\nb"],
    ["```\na\n```\n```\nb; c\n```", "a && (b; c)"],
    ["```\na\ntest $? = 1\n```", "a\ntest $? = 1"],
    ["```sh\nset -eu\na\nb\n```", "set -eu\na\nb"],
    ["this passes:\n```\na\n```\nand\n```\nb\n```\nis green", "a && b"],
    ["- [ ] `a`\n- [x] `b` passes", "a && b"],
    ["test `wc -l < x` -gt 3", "test `wc -l < x` -gt 3"],
    ["test `cat x` = 3 # of them", "test `cat x` = 3 # of them"],
    ['[ "`cat x`" = "a b" ]', '[ "`cat x`" = "a b" ]'],
  ])("%j proves with %j", (value, command) => {
    expect(readDoneWhen(value)).toEqual({ command });
  });

  test.each([
    "it returns `true`",
    "`reverse('ab')` returns `'ba'`",
    "`reverse(s)` works",
    "`README.md` mentions the pit",
    "`scraps/reverse.py` exists",
    "`npm test` fails",
    "`npm test` does not pass",
    "`npm test` isn't red",
    "`python x.py` prints olleh",
    "`# nothing to do`",
    "` `",
    "``",
    "an unpaired ` tick",
    "```\n# only a comment\n\n```",
    "```python\nassert reverse('ab') == 'ba'\n```",
    "this must not succeed:\n```\nnpm test\n```",
    "there is no output from:\n```\ngrep TODO x\n```",
    "```\ngrep TODO x\n```\nfinds nothing",
    "```\na\n```\nor\n```\nb\n```",
    "none of these pass:\n- `a`\n- `b`",
    "one of these passes:\n- `a`\n- `b`",
    "! `grep -q TODO x` is empty",
    "test `grep -q x y` fails",
    "test -f `scraps/x.txt`",
    "test `cat x`\n-gt 3",
    "test `cat x` = `cat y`",
    "! test `cat x` = 3",
    "[ `cat x` = 3",
    "- `a`\n- somebody has looked at it",
  ])("%j is for a person", (value) => {
    expect(readDoneWhen(value)).toEqual({ words: value.trim() });
  });
});

describe("without a mark", () => {
  test.each([
    "npm test",
    "make check",
    "make clean",
    "make",
    "true",
    "pytest",
    "cargo test",
    "test -f scraps/x.txt",
    "test -f x",
    "[ -f x ]",
    "! grep -q TODO src/x.ts",
    "FOO=1 npm test",
    "python -m pytest scraps/test_reverse.py -q",
    "python3 scraps/test_reverse.py",
    "./check.sh",
    "scraps/check.sh",
    "ruff check .",
    "go test ./...",
    "cd scraps && npm test",
    "npm test && npm run lint",
    "node --test",
    "grep -q 'it is green' scraps/x.txt",
    "grep -q is scraps/x.txt",
    'test "$(cat scraps/x.txt)" = "The end."',
    "git diff --exit-code",
    "time npm test",
    "diff a.txt b.txt",
    "bash -c 'the tests pass.'",
    "npx tsc --noEmit -p .",
    "npm test 2>&1 | grep -q passed=3",
  ])("%s is a command", (value) => {
    expect(readDoneWhen(value)).toEqual({ command: value });
  });

  test("white space, quotes around it and breaks at an operator do not matter", () => {
    expect(readDoneWhen("  npm test \n")).toEqual({ command: "npm test" });
    expect(readDoneWhen('"npm test"')).toEqual({ command: "npm test" });
    expect(readDoneWhen("npm test &&\n  npm run lint")).toEqual({
      command: "npm test && npm run lint",
    });
    expect(readDoneWhen("- npm test")).toEqual({ command: "npm test" });
  });

  test("a comment behind it does not matter", () => {
    const command = "pytest -q scraps";
    expect(readDoneWhen("pytest -q scraps # run it")).toEqual({ command });
    expect(readDoneWhen('"pytest -q scraps" # run it')).toEqual({ command });
    expect(readDoneWhen('"pytest -q scraps # run it"')).toEqual({ command });
    const quoted = "grep -q 'a # b' c";
    expect(readDoneWhen(quoted)).toEqual({ command: quoted });
    expect(readDoneWhen(`${quoted} # that's it`)).toEqual({ command: quoted });
  });

  test.each([
    "test passes",
    "test suite passes",
    "test is green",
    "tests pass",
    "the tests pass",
    "The tests pass.",
    "The tests pass",
    "all tests pass",
    "all green",
    "it works",
    "everything works",
    "code compiles",
    "a test proves it",
    "when it works",
    "scraps/reverse.py exists",
    "scraps/reverse.py is there",
    "npm test passes",
    "npm test is green",
    "pytest -q is green",
    "reverse works",
    "lint clean",
    "bug fixed",
    "done",
    "yes",
    "none",
    "n/a",
    "nothing to prove",
    "exit 0",
    "file exists",
    "file scraps/x.txt",
    "echo works",
    "set up correctly",
    "export works",
    "sync finished",
    "# all is well",
    "coverage > 80",
    "coverage >= 80%",
    "npm test &",
    "somebody/anybody says so",
    "reverse and/or upper do fine",
    "pytest runs without errors",
    "npm test.",
    "all of: npm test, npm run lint",
    "npm test\nnpm run lint",
    "npm test # all\n&& npm run lint",
    "the tests pass # run it",
    "test passes # run it",
    "alle Tests grün",
    "тесты проходят",
    "测试通过",
    "Python runs it",
    "the user can run `",
    "",
    "   ",
  ])("%j is for a person", (value) => {
    expect(readDoneWhen(value)).toEqual({ words: value.trim() });
  });
});

describe("quoteDoneWhen", () => {
  test("readably", () => {
    expect(quoteDoneWhen("npm test")).toBe("`npm test`");
    expect(quoteDoneWhen("echo `date`")).toBe("`` echo `date` ``");
    expect(quoteDoneWhen("set -e\na\nb")).toBe("```sh\nset -e\na\nb\n```");
  });

  test("is read back exactly, also inside of a sentence", () => {
    const piece = fc.constantFrom(
      "a",
      "`",
      "``",
      "```",
      " ",
      "\n",
      "#",
      "&& ",
      "- ",
      "set -e\n",
      '"',
      "~~~",
    );
    const command = fc
      .array(piece, { minLength: 1, maxLength: 12 })
      .map((parts) => `x${parts.join("")}`);
    const anything = fc.string({ unit: "binary" }).filter((text) => !text.includes("\r"));
    holds(
      fc.property(
        fc.oneof(
          command,
          command.map((text) => ` ${text}`),
          anything,
        ),
        (text) => {
          fc.pre(text.split("\n").some((line) => !/^(#|$)/.test(line.trim())));
          expect(readDoneWhen(quoteDoneWhen(text))).toEqual({ command: text });
          if (!text.includes("\n")) {
            fc.pre(/^x [a&]/.test(text));
            expect(readDoneWhen(`${quoteDoneWhen(text)} is green.`)).toEqual({ command: text });
          }
        },
      ),
      { numRuns: 2000 },
    );
  });
});

test("a hostile value takes no longer than a long one", () => {
  const size = 240_000; // anything quadratic would take minutes
  for (const piece of [
    "`",
    "` ",
    "`a",
    "- ",
    "```\n",
    "```a\n",
    "a ",
    ",",
    "' ",
    "'a\"",
    " ",
    "\n",
    ".",
    "x.x/",
    "~~~ `\n",
    "` # ` ",
    "`a` # \n",
    "`a` and ",
    "`a` passes, ",
    " #",
  ]) {
    const text = piece.repeat(size / piece.length);
    expect(Object.keys(readDoneWhen(text))).toHaveLength(1);
    expect(Object.keys(readDoneWhen(`npm ${text} x`))).toHaveLength(1);
  }
}, 30_000);

test("any text is either a command or words", () => {
  holds(
    fc.property(fc.string({ unit: "binary", maxLength: 100 }), (text) => {
      const read = readDoneWhen(text);
      if ("command" in read) expect(read.command.trim()).not.toBe("");
    }),
  );
});
