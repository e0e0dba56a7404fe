import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { holds } from "../../test/support/property.ts";
import { quoteDoneWhen, readDoneWhen } from "./done-when.ts";

const same = (...values: string[]) => values.map((value): [string, string] => [value, value]);
const each = (command: string, ...values: string[]) =>
  values.map((value): [string, string] => [value, command]);
const forPerson = (...values: string[]) => values.map((value): [string, null] => [value, null]);

/** Ordinary done-whens, as people write them. What is not surely proven is for a person. */
const ORDINARY: [string, string | null][] = [
  ["`npm test` passes and `npm run lint` is clean.", "npm test && npm run lint"],
  ["`pytest` green", "pytest"],
  ["npm test passes", "npm test"],
  ["pytest -q is green.", "pytest -q"],
  ["Done when `npm test` passes", "npm test"],
  ["All tests pass (`npm test`).", "npm test"],
  ["Unit tests pass: `npm test`", "npm test"],
  ["running `make test` exits 0", "make test"],
  ["`npm test` (all green)", "npm test"],
  ["`bash scripts/check.sh` → exit 0", "bash scripts/check.sh"],
  ["`./a.sh` returns 0 and `./b.sh` too", "./a.sh && ./b.sh"],
  ["`make` builds without errors", "make"],
  ["`tsc --noEmit` has no errors", "tsc --noEmit"],
  ["`git diff --exit-code` is clean", "git diff --exit-code"],
  ["`scraps/report.md` exists", "test -e scraps/report.md"],
  ["scraps/report.md exists.", "test -e scraps/report.md"],
  ["`scraps/x.py` exists and `pytest -q` is green", "test -e scraps/x.py && pytest -q"],
  ["pytest passes", "pytest"],
  ["pytest runs without errors", "pytest"],
  ["`pytest tests/ -x` passes with exit code 0", "pytest tests/ -x"],
  ["`npm test` passes (exit 0)", "npm test"],
  ["go test ./... passes", "go test ./..."],
  ["./run-tests.sh passes", "./run-tests.sh"],
  ["`./run-tests.sh` finishes successfully", "./run-tests.sh"],
  ["The file `scraps/report.md` exists", "test -e scraps/report.md"],
  ["`scraps/a.txt` and `scraps/b.txt` exist", "test -e scraps/a.txt && test -e scraps/b.txt"],
  ["Tests green: `npm test`", "npm test"],
  ["CI is green (`npm run ci`)", "npm run ci"],
  ["The test suite passes (`make check`)", "make check"],
  ["`cargo clippy -- -D warnings` is clean", "cargo clippy -- -D warnings"],
  ["`npm run typecheck` and `npm test` are both green", "npm run typecheck && npm test"],
  ["`shellcheck scripts/*.sh` is clean", "shellcheck scripts/*.sh"],
  ["`exit 0` and `npm test`", "(exit 0) && npm test"],
  ...forPerson(
    "All tests pass",
    "`rm -rf x` no longer deletes the home folder",
    "`npm test` no longer fails",
    "`npm test` fails without the fix and passes with it",
    "`npm test` is green and coverage is above 80%",
    "`npm test` is green; README.md updated",
    "`npm test` is green on Node 20 and 22",
    "`cargo test` passes with no warnings",
    "`cat app.log` has no errors",
    "`grep -rn TODO src` finds nothing",
    "`grep -c TODO src` prints 0",
    "`curl localhost:3000/health` returns 200",
    "`git status` is clean",
    "`npm test` must pass before and after `npm run migrate`",
    "no `console.log` is left in src",
    "I can run `npm start` and see the page",
    "`scraps/report.md` exists and has five sections",
    "`the report` exists",
    "`x; rm -rf y` exists",
    "All tests pass (`npm test`",
    "`npm test` passes (on my machine)",
    "make sure is green",
  ),
];

/** What a shell would run, and its writer did not mean to be run; or whose success proves nothing. */
const NOT_MEANT = [
  ..."rm -rf build ist verboten|rm -rf build wird nie ausgeführt|rm -rf build es prohibido".split(
    "|",
  ),
  ..."nunca rm -rf build|kein rm -rf build|never rm -rf build|don't rm -rf build".split("|"),
  ..."avoid rm -rf build|rm -rf build removed|'rm -rf build'|kill -9 survives".split("|"),
  ..."find / -delete guarded|sort -u output matches golden.txt|npm publish --dry-run only".split(
    "|",
  ),
  ..."die Datei scraps/x.txt liegt vor|el archivo scraps/x.txt existe|scraps/x.txt existiert".split(
    "|",
  ),
  ..."alle Tests in tests/ grün|npm test fails|npm test nicht|npm test läuft|yarn removed".split(
    "|",
  ),
  "do not run `rm -rf build`",
  "`npm test` passes; never run `npm run deploy`",
  "`npm test` passes and not `npm run deploy`",
  "`npm test` passes without `rm -rf node_modules`",
  "`rm -rf x` must not be run",
  "- `npm test`\n- never `rm -rf x`",
  "Verboten:\n```\nrm -rf x\n```",
  "`npm test` passes <!-- and `rm -rf x` -->",
  "`npm test` pasa y `npm run lint` está limpio",
  "`deploy.sh` is clean",
  "`scripts/deploy.sh` is ok",
  "`src/main.rs` compiles cleanly",
  "`utils.ts` and `helpers.ts` pass",
  "`Makefile` is clean",
  "`src/` is clean",
  "`sort` passes",
  "`npm test &` passes",
  "`a.txt` and `npm test` exist",
  "v1.2 exists",
  "and/or exists",
  "--help/x exists",
];

test.each(NOT_MEANT)("%j is not run", (value) => {
  expect(readDoneWhen(value)).toEqual({ words: value });
});

test.each(ORDINARY)("%j: %j", (value, command) => {
  expect(readDoneWhen(value)).toEqual(command === null ? { words: value } : { command });
});

/** The value of a field, and the command that proves it; null if it is for a person. */
const TABLE: [string, string | null][] = [
  // The seed's own example, and several commands in one sentence.
  [
    "`python -m pytest scraps/test_reverse.py -q` is green.",
    "python -m pytest scraps/test_reverse.py -q",
  ],
  ["`npm test` passes and `npm run lint` is clean", "npm test && npm run lint"],

  // Code spans, as Markdown has them.
  ["`true`", "true"],
  ["**`npm test`** passes", "npm test"],
  ["``echo `date` ``", "echo `date` "],
  ["`` echo `date` ``", "echo `date`"],
  ["`` `which true` `` succeeds", "`which true`"],
  ["`long \n   command` is green", "long command"],
  ["- `long\n  command` is green", "long command"],

  // Several: all of them.
  ...each("a && b", "`a` and `b`", "`a` then `b`", "`a` && `b`", "`a`, `b`", "`a`\n`b`"),
  ...each("a && b", "- `a`\n- `b` is green", "- [ ] `a`\n- [x] `b` passes", "`a` `b`"),
  ["`a`, `b`, and `c` are green", "a && b && c"],
  ["`a` and `b || c`", "a && (b || c)"],
  ["`a # all of it` and `b`", "(a # all of it\n) && b"],
  ["all of these pass:\n1. `a`\n2. npm test", "a && npm test"],
  ["- npm test\n- make", "npm test && make"],
  ...each(
    "x y && z",
    "`x y` passes and `z` is green",
    "`x y` passes, `z` passes.",
    "`x y` passes. `z` is green.",
    "`x y` passes\n`z` passes",
    "`x y` passes\nand `z` passes",
    "`x y` and `z` both pass",
    "both `x y` and `z` pass",
    "all of `x y`, `z` are all green",
    "run `x y`, then run `z`",
    "all tests pass: `x y` && `z`",
  ),

  // Words that ask for nothing but success.
  ...each(
    "x y",
    "`x y` is green",
    "`x y` are green.",
    "`x y` passes",
    "`x y` Passes!",
    "`x y`: passes",
    "`x y` — passes",
    '"`x y` passes."',
    "`x y` **passes**",
    "`x y` succeeds",
    "`x y` is ok",
    "`x y` is clean",
    "`x y` exits 0",
    "`x y` exits with 0",
    "`x y` exits with code 0",
    "`x y` exits with exit status zero",
    "`x y` returns 0",
    "`x y` exit status 0",
    "`x y` runs without errors",
    "`x y` must pass",
    "`x y` should be green",
    "run `x y`",
    "Run: `x y`",
    "when `x y` passes",
    "command: `x y`",
    "the command `x y` succeeds",
    "run the command `x y`",
    "All tests pass: `x y`",
    "tests pass: `x y` is green",
    "`x y` # with `z` it fails",
    "`x y` passes # it's not empty",
    "`x y` passes\n# on Linux",
  ),

  // Fences.
  ...each("npm test", "```sh\nnpm test\n```", "~~~\nnpm test\n~~~"),
  ["this passes:\n\n```\nnpm test\n```\n", "npm test"],
  ["  ```sh\n  if a; then\n    b\n  fi\n  ```", "set -e\nif a; then\n  b\nfi"],
  ["```console\n$ a\nits output\n$ b\n```", "set -e\na\nb"],
  ["```\na\n```\n```\nb; c\n```", "a && (b; c)"],
  ["```\na\ntest $? = 1\n```", "a\ntest $? = 1"],
  ["```sh\nset -eu\na\nb\n```", "set -eu\na\nb"],
  ["this passes:\n```\na\n```\nand\n```\nb\n```\nis green", "a && b"],

  // Plain lines.
  ...same("npm test", "make check", "make clean", "make", "true", "pytest", "cargo test"),
  ...same("test -f scraps/x.txt", "test -f x", "[ -f x ]", "! grep -q TODO src/x.ts"),
  ...same("FOO=1 npm test", "python -m pytest scraps/test_reverse.py -q", "time npm test"),
  ...same("python3 scraps/test_reverse.py", "./check.sh", "scraps/check.sh", "ruff check ."),
  ...same("go test ./...", "cd scraps && npm test", "npm test && npm run lint", "node --test"),
  ...same("grep -q 'it is green' scraps/x.txt", "grep -q is scraps/x.txt", "git diff --exit-code"),
  ...same('test "$(cat scraps/x.txt)" = "The end."', "diff a.txt b.txt", "npx tsc --noEmit -p ."),
  ...same("bash -c 'the tests pass.'", "npm test 2>&1 | grep -q passed=3", "grep -q 'a # b' c"),
  ...each("npm test", "  npm test \n", '"npm test"', "'npm test'", "- npm test"),
  ["npm test &&\n  npm run lint", "npm test && npm run lint"],
  ...each("pytest -q scraps", "pytest -q scraps # run it", '"pytest -q scraps" # run it'),
  ['"pytest -q scraps # run it"', "pytest -q scraps"],
  ["grep -q 'a # b' c # that's it", "grep -q 'a # b' c"],

  // A thing that is spoken of, another verdict than success, or nothing at all.
  ...forPerson("it returns `true`", "`reverse('ab')` returns `'ba'`", "`reverse(s)` works"),
  ...forPerson("`reverse(s)` passes", "`README.md` mentions the pit", "`README.md` is ok"),
  ...forPerson("`sort` works", "`README.md` and `x y` pass"),
  ...forPerson("`npm test` fails", "`npm test` does not pass", "`npm test` isn't red"),
  ...forPerson("`git status` is clean", "`x y` passes and `git diff` is clean"),
  ...forPerson(
    "`python x.py` prints olleh",
    "`# nothing to do`",
    "` `",
    "``",
    "an unpaired ` tick",
  ),
  ...forPerson(
    "`x y` finds nothing",
    "`x y` is empty",
    "`x y` shows no changes",
    "`x y` has zero matches",
    "`x y`: zero matches",
    "`x y` is false",
    "`x y` is 0",
    "`x y` crashes",
    "`x y` reports no errors",
    "unless `x y` passes",
    "there is no output from `x y`",
    "output of `x y`",
    "the output of `x y` is ok",
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
    "`x y`\nor `z`",
    "`x y` passes or\n`z` passes",
    "it is wrong when\n`x y` passes",
    "either `x y` or `z` passes",
    "`x y` passes and `z` fails",
    "`x y` fails and `z` passes",
    "`x y` is green and `z` exists",
    "`x y` passes #12",
    "`x y` # first\n`z` fails",
    "`x y` passes `",
    "`x y` ist grün",
    "`x y` ✗",
    "! `grep -q TODO x` is empty",
    "- `a`\n- somebody has looked at it",
    "none of these pass:\n- `a`\n- `b`",
    "one of these passes:\n- `a`\n- `b`",
  ),
  // A shell's own backticks: without what they stand for, `test -f` succeeds.
  ...forPerson("test `wc -l < x` -gt 3", "test `grep -q x y` fails", "test -f `scraps/x.txt`"),
  ...forPerson("test `cat x` = `cat y`", "[ `cat x` = 3", "the user can run `"),
  ...forPerson("```\n# only a comment\n\n```", "```python\nassert reverse('ab') == 'ba'\n```"),
  ...forPerson("this must not succeed:\n```\nnpm test\n```", "```\na\n```\nor\n```\nb\n```"),
  ...forPerson("there is no output from:\n```\ngrep TODO x\n```"),
  ...forPerson("```\ngrep TODO x\n```\nfinds nothing"),

  // Prose, with and without words that are programs too.
  ...forPerson(
    "test passes",
    "test suite passes",
    "test is green",
    "tests pass",
    "tests/unit green",
  ),
  ...forPerson(
    "the tests pass",
    "The tests pass.",
    "The tests pass",
    "all tests pass",
    "all green",
  ),
  ...forPerson(
    "it works",
    "everything works",
    "code compiles",
    "a test proves it",
    "when it works",
  ),
  ...forPerson("scraps/reverse.py is there", "npm test passes twice"),
  ...forPerson("pytest runs with errors", "npm test."),
  ...forPerson("reverse works", "lint clean", "bug fixed", "make sure that tests/x holds"),
  ...forPerson(
    "done",
    "yes",
    "none",
    "n/a",
    "nothing to prove",
    "exit 0",
    "git status",
    "see docs/x",
    "add tests/x",
  ),
  ...forPerson("file exists", "file scraps/x.txt", "echo works", "echo scraps/x.txt", "test src/x"),
  ...forPerson("set up correctly", "export works", "sync finished", "no errors in log.txt"),
  ...forPerson("# all is well", "coverage > 80", "coverage >= 80%", "npm test &"),
  ...forPerson("somebody/anybody says so", "reverse and/or upper do fine", "Python runs it"),
  ...forPerson(
    "all of: npm test, npm run lint",
    "npm test\nnpm run lint",
    "npm test #all\n&& make",
  ),
  ...forPerson("the tests pass # run it", "test passes # run it", "alle Tests grün"),
  ...forPerson("тесты проходят", "测试通过", "", "   "),
];

test.each(TABLE)("%j is proven by %j", (value, command) => {
  expect(readDoneWhen(value)).toEqual(command === null ? { words: value.trim() } : { command });
});

describe("quoteDoneWhen", () => {
  test("writes a span, or a fence for several lines", () => {
    expect(quoteDoneWhen("npm test")).toBe("`npm test`");
    expect(quoteDoneWhen("echo `date`")).toBe("`` echo `date` ``");
    expect(quoteDoneWhen("set -e\na\nb")).toBe("```sh\nset -e\na\nb\n```");
  });

  test("is read back exactly, also inside of a sentence", () => {
    const pieces = ["a", "`", "``", "```", " ", "\n", "#", "&& ", "- ", "set -e\n", '"', "~~~"];
    const command = fc
      .array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 12 })
      .map((parts) => `x${parts.join("")}`);
    const anything = fc.string({ unit: "binary" }).filter((text) => !text.includes("\r"));
    const indented = command.map((text) => ` ${text}`);
    holds(
      fc.property(fc.oneof(command, indented, anything), (text) => {
        fc.pre(text.split("\n").some((line) => !/^(#|$)/.test(line.trim())));
        expect(readDoneWhen(quoteDoneWhen(text))).toEqual({ command: text });
        if (!text.includes("\n")) {
          fc.pre(/^x [a&]/.test(text));
          expect(readDoneWhen(`${quoteDoneWhen(text)} is green.`)).toEqual({ command: text });
        }
      }),
      { numRuns: 2000 },
    );
  });
});

describe("words around commands", () => {
  const lead = fc.constantFrom("", "run", "when", "command:", "the command", "tests pass:");
  const verdict = fc.constantFrom("", "passes", "is green.", "exits with 0", "must be green");
  const joint = fc.constantFrom("and", ",", "then", "&&", ", and", "and run");
  const sentence = fc
    .tuple(lead, verdict, fc.array(fc.tuple(joint, verdict), { maxLength: 2 }))
    .map(([first, last, more]) => {
      const parts = [first, "`x y -q`", last.replace(/\.$/, "")];
      for (const [by, end] of more) parts.push(by, "`x y -q`", end.replace(/\.$/, ""));
      return parts.flatMap((part) => (part.startsWith("`") ? [part] : part.split(" ")));
    });

  test("all commands of an understood sentence are run", () => {
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
      `all and are be both build checks clean cleanly code command commands done existing exit exits
      finished following green integration is lint must new now of ok pass passes passing plus return
      returns run running runs should stay stays status still succeed succeeds suite tests the then
      these this too unit via when with zero → -> => ( )`.split(/\s+/),
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

test("a hostile value takes no longer than a long one", () => {
  const size = 120_000; // anything quadratic would take minutes
  for (const piece of [
    ..."` |`a|- |```\n|```a\n|a |,|' |'a\"| |\n|.|x.x/|~~~ `\n|` # ` |`a` # \n| #".split("|"),
    ..."`|`a` and |`a` passes, |` \n|- `a`\n|`a\n".split("|"),
  ]) {
    const text = piece.repeat(size / piece.length);
    expect(Object.keys(readDoneWhen(text))).toHaveLength(1);
    expect(Object.keys(readDoneWhen(`npm ${text} x`))).toHaveLength(1);
    expect(Object.keys(readDoneWhen(`\`npm ${text} x\``))).toHaveLength(1);
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
