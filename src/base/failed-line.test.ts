import { describe, expect, test } from "vitest";
import { failedLine, tellingLines } from "./failed-line.ts";
import { fingerprint } from "./fingerprint.ts";
import { indentedLines } from "./text.ts";

/** The ends of real reports. */
const REPORTS: Record<string, { text: string; line: string }> = {
  vitest: {
    text: ` ✓ src/b.test.ts (3 tests) 4ms
 ❯ src/a.test.ts (2 tests | 1 failed) 9ms
   ✓ subtracts 1ms
   × adds 6ms
     → expected 3 to be 4 // Object.is equality

⎯⎯⎯⎯⎯⎯⎯ Failed Tests 1 ⎯⎯⎯⎯⎯⎯⎯

 FAIL  src/a.test.ts > adds
AssertionError: expected 3 to be 4 // Object.is equality
 ❯ src/a.test.ts:5:17
      3|
      4| test("adds", () => {
      5|   expect(add(1, 2)).toBe(4);
       |                     ^

⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯[1/1]⎯

 Test Files  1 failed | 1 passed (2)
      Tests  1 failed | 4 passed (5)
   Start at  10:00:00
   Duration  301ms (transform 30ms, setup 0ms)
`,
    line: "FAIL  src/a.test.ts > adds",
  },
  jest: {
    text: `PASS ./b.test.js
FAIL ./a.test.js
  ✓ subtracts (1 ms)
  ✕ adds (3 ms)

  ● sum › adds

    expect(received).toBe(expected) // Object.is equality

    Expected: 4
    Received: 3

      3 | test("adds", () => {
    > 4 |   expect(sum(1, 2)).toBe(4);
        |                     ^
      at Object.toBe (a.test.js:4:21)

Test Suites: 1 failed, 1 passed, 2 total
Tests:       1 failed, 2 passed, 3 total
Snapshots:   0 total
Time:        0.4 s
Ran all test suites.
`,
    line: "● sum › adds",
  },
  pytest: {
    text: `test_a.py .F.                                   [100%]
=================== FAILURES ===================
___________________ test_add ___________________
    def test_add():
>       assert add(1, 2) == 4
E       assert 3 == 4
test_a.py:4: AssertionError
=========== short test summary info ============
FAILED test_a.py::test_add - assert 3 == 4
========= 1 failed, 2 passed in 0.03s ==========
`,
    line: "FAILED test_a.py::test_add - assert 3 == 4",
  },
  "pytest -v": {
    text: `test_a.py::test_add FAILED                [ 50%]
test_a.py::test_sub PASSED                [100%]
========= 1 failed, 1 passed in 0.03s ==========
`,
    line: "test_a.py::test_add FAILED                [ 50%]",
  },
  "go test": {
    text: `=== RUN   TestAdd
--- FAIL: TestAdd (0.00s)
    add_test.go:7: got 3, want 4
=== RUN   TestSub
--- PASS: TestSub (0.00s)
FAIL
exit status 1
FAIL\texample.com/add\t0.002s
ok  \texample.com/sub\t0.001s
FAIL
`,
    line: "add_test.go:7: got 3, want 4",
  },
  tap: {
    text: `TAP version 13
ok 1 - starts
not ok 2 - adds
  ---
  operator: equal
  expected: 4
  actual: 3
  ...
ok 3 - subtracts
1..3
# tests 3
# pass 2
# fail 1
`,
    line: "not ok 2 - adds",
  },
  "node:test": {
    text: `✔ subtracts (0.5ms)
✖ adds (1.1ms)
✔ divides (0.1ms)
ℹ tests 3
ℹ pass 2
ℹ fail 1
ℹ duration_ms 60.1

✖ failing tests:

test at a.test.mjs:3:1
✖ adds (1.1ms)
  AssertionError [ERR_ASSERTION]: 3 == 4
      at TestContext.<anonymous> (file:///a.test.mjs:4:10)
`,
    line: "✖ adds (1.1ms)",
  },
  "cargo test": {
    text: `running 2 tests
test tests::adds ... FAILED
test tests::subtracts ... ok

failures:

---- tests::adds stdout ----
thread 'tests::adds' panicked at src/lib.rs:9:9:
assertion \`left == right\` failed
note: run with \`RUST_BACKTRACE=1\` environment variable to display a backtrace

failures:
    tests::adds

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out
error: test failed, to rerun pass \`--lib\`
`,
    line: "test tests::adds ... FAILED",
  },
  "cargo build": {
    text: `error[E0308]: mismatched types
 --> src/main.rs:2:18
  |
2 |     let x: u32 = "a";
  |            ---   ^^^ expected \`u32\`, found \`&str\`

For more information about this error, try \`rustc --explain E0308\`.
error: could not compile \`a\` (bin "a") due to 1 previous error
`,
    line: "error[E0308]: mismatched types",
  },
  make: {
    text: `cc -c a.c
a.c:3:5: error: 'x' undeclared (first use in this function)
    3 |     x = 1;
      |     ^
make[1]: *** [Makefile:2: a.o] Error 1
make: *** [Makefile:9: all] Error 2
`,
    line: "a.c:3:5: error: 'x' undeclared (first use in this function)",
  },
  "make alone": {
    text: "ok 1 - starts\nmake: *** [Makefile:2: test] Error 1\n",
    line: "make: *** [Makefile:2: test] Error 1",
  },
  tsc: {
    text: `src/a.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'.
src/b.ts(2,1): error TS2304: Cannot find name 'x'.
`,
    line: "src/a.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'.",
  },
  eslint: {
    text: `/app/a.js
  1:1   warning  Unexpected console statement  no-console
  3:10  error    'x' is not defined            no-undef

✖ 2 problems (1 error, 1 warning)
`,
    line: "3:10  error    'x' is not defined            no-undef",
  },
  npm: {
    text: `> test
> tap-runner

not ok 1 - adds
npm error Lifecycle script \`test\` failed with error:
npm error code 1
`,
    line: "not ok 1 - adds",
  },
  node: {
    text: `/app/a.js:1
throw new Error("no key")
^

Error: no key
    at Object.<anonymous> (/app/a.js:1:7)

Node.js v22.1.0
`,
    line: "Error: no key",
  },
  "vitest, a file that cannot be loaded": {
    text: ` FAIL  b.test.js [ b.test.js ]
Error: Cannot find module './missing.js' imported from /app/b.test.js
 ❯ b.test.js:2:1

 Test Files  1 failed (1)
      Tests  no tests
   Start at  14:42:36
   Duration  520ms
`,
    line: "FAIL  b.test.js [ b.test.js ]",
  },
  "vitest without tests": {
    text: "No test files found, exiting with code 1\n\nfilter: nothing\nexclude:  **/.git/**\n",
    line: "No test files found, exiting with code 1",
  },
  "pytest, a file that cannot be loaded": {
    text: `E   ModuleNotFoundError: No module named 'nothere'
=========================== short test summary info ============================
ERROR test_imp.py
!!!!!!!!!!!!!!!!!!!! Interrupted: 1 error during collection !!!!!!!!!!!!!!!!!!!!
=============================== 1 error in 1.74s ===============================
`,
    line: "E   ModuleNotFoundError: No module named 'nothere'",
  },
  unittest: {
    text: `======================================================================
FAIL: test_bad (test_u.T.test_bad)
----------------------------------------------------------------------
AssertionError: 1 != 2

----------------------------------------------------------------------
Ran 3 tests in 0.001s

FAILED (failures=1)
`,
    line: "FAIL: test_bad (test_u.T.test_bad)",
  },
  "go test -v": {
    text: `=== RUN   TestA
    a_test.go:5: three files read
--- PASS: TestA (0.00s)
=== RUN   TestB
    a_test.go:9: got 3, want 4
--- FAIL: TestB (0.00s)
FAIL
exit status 1
FAIL	example.com/x	0.002s
`,
    line: "a_test.go:9: got 3, want 4",
  },
  gcc: {
    text: "gcc -c a.c\ncc1: fatal error: a.c: No such file or directory\ncompilation terminated.\nmake: *** [Makefile:2: all] Error 1\n",
    line: "cc1: fatal error: a.c: No such file or directory",
  },
  "npm, a package that cannot be had": {
    text: "npm warn old\nnpm error code EROFS\nnpm error syscall open\nnpm error rofs Invalid response body\nnpm error A complete log of this run can be found in: /root/.npm/_logs/1.log\n",
    line: "npm error code EROFS",
  },
  "npm without the script": {
    text: 'npm error Missing script: "lint"\nnpm error\nnpm error To see a list of scripts, run:\nnpm error   npm run\nnpm error A complete log of this run can be found in: /root/.npm/_logs/1.log\n',
    line: 'npm error Missing script: "lint"',
  },
  "node, an error with properties": {
    text: `node:internal/modules/cjs/loader:1228
  throw err;
  ^

Error: Cannot find module './nope'
Require stack:
- /app/rq.js
    at Function.executeUserEntryPoint [as runMain] (node:internal/modules/run_main:164:12) {
  code: 'MODULE_NOT_FOUND',
  requireStack: [
    '/app/rq.js'
  ]
}

Node.js v20.20.2
`,
    line: "Error: Cannot find module './nope'",
  },
  "node, within a native function": {
    text: "SyntaxError: Unexpected end of JSON input\n    at JSON.parse (<anonymous>)\n    at async Promise.all (index 0)\n\nNode.js v20.20.2\n",
    line: "SyntaxError: Unexpected end of JSON input",
  },
  "a script": {
    text: "Error: busy, trying again\nstarting\ndisk quota exceeded\n",
    line: "disk quota exceeded",
  },
};

describe("the line that failed", () => {
  test.each(Object.entries(REPORTS))("%s", (_, { text, line }) => {
    expect(failedLine(text)).toBe(line);
  });

  test("is none when only checks passed", () => {
    expect(failedLine("✓ adds\nok 1 - starts\nPASS a.test.js\n")).toBeUndefined();
    expect(failedLine("")).toBeUndefined();
  });

  // `npm test && grep -q done notes.md`: the tests passed, and grep says nothing.
  test.each([
    "============== 3 passed, 1 warning in 0.01s ==============\n",
    "collected 3 items\n\ntest_a.py ...   [100%]\n\n===== 3 passed in 0.01s =====\n",
    "running 3 tests\ntest a ... ok\n\ntest result: ok. 3 passed; 0 failed; 0 ignored\n",
    "PASS ./a.test.js\nTest Suites: 1 passed, 1 total\nTests:       3 passed, 3 total\nTime:        0.4 s\nRan all test suites.\n",
    " ✓ a.test.js (1 test) 2ms\n\n Test Files  1 passed (1)\n      Tests  1 passed (1)\n   Duration  301ms\n",
    "✔ good (0.9ms)\nℹ tests 1\nℹ pass 1\nℹ fail 0\nℹ duration_ms 45.2\n",
    "TAP version 13\n# Subtest: good\nok 1 - good\n  ---\n  duration_ms: 0.9\n  ...\n1..1\n# fail 0\n",
    "...\n----------\nRan 3 tests in 0.001s\n\nOK\n",
    "Found 0 errors.\n",
    "0 failed\n",
    "All checks passed!\n",
  ])("is none when all passed before something without words failed: %j", (text) => {
    expect(failedLine(text)).toBeUndefined();
  });

  test("a word that begins like a check is not one", () => {
    expect(failedLine("ok, now the upload\n")).toBe("ok, now the upload");
    expect(failedLine("PASSWORD is not set\n")).toBe("PASSWORD is not set");
  });
});

test("two failing tests in otherwise equal reports are two failures", () => {
  const print = (name: string) =>
    fingerprint({
      ...{ outcome: "unproven", exit: 1, signal: null },
      tail: REPORTS.vitest?.text.replaceAll("adds", name) ?? "",
    });
  expect(print("adds")).not.toBe(print("divides"));
  expect(print("adds")).toBe(print("adds"));
});

test("totals are told only when there is nothing else", () => {
  expect(tellingLines("boom\n# tests 3\n# fail 1\n", 5)).toEqual(["boom"]);
  expect(tellingLines("# tests 3\n# fail 1\n", 5)).toEqual(["# fail 1"]);
});

test("lines of output keep their indentation", () => {
  expect(indentedLines("a:\n  - b\n\t\tc\td \n\n", 9)).toEqual(["a:", "  - b", "\t\tc\td"]);
});
