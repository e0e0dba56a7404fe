import { lastLines } from "./text.ts";

/**
 * The line of a program's output that tells what failed. Test runners and compilers print totals,
 * passing tests and stack frames after it. Each pattern is for a line without its indentation.
 */

/** Of a check that passed, or has not ended, and totals that count no failure. */
const PASSING = [
  /^[✓✔√] /,
  /^ok( \d+\b| - |\s+\S+\s+([\d.]+s|\(cached\)))/, // TAP, go
  /^--- (PASS|SKIP): /,
  /^=== (RUN|PAUSE|CONT|NAME)\b/,
  /^PASS(\s|$)/,
  /\bPASSED(\s+\[\s*\d+%\])?$/,
  /^test .* \.\.\. (ok|ignored)/, // cargo
  /^\d+ (passing|pending)\b/,
  /^↓ /,
  /^(#|ℹ) (tests|suites|pass|skipped|todo|duration_ms|fail 0|cancelled 0)\b[ \d.]*$|^1\.\.\d+$/,
  /^(Tests|Test Files|Test Suites):?\s+(\d+ (passed|skipped|todo|total)|no tests)\b(?!.*\bfail)/,
  /^(Snapshots|Time|Start at|Duration):?\s+\d|^Ran all test suites/,
  /^(=+ )?\d+ passed\b(?!.*\b(failed|errors?)\b)|^(\S+ )?[.sx]+\s+\[\s*\d+%\]$|^collected \d+ items?$/, // pytest
  /^test result: ok\b|^running \d+ tests?$/,
  /^(\.\.\.|---|duration_ms: .*|type: '(test|suite)')$/,
  /^# Subtest: |^TAP version|^RUN\s+v\d|^=+ test session starts|^[.sx]+$|^[-=_]+$/,
  /^(Found )?(0|no) (errors?|failures?|failed|problems?|issues?|warnings?)( found)?[.!]?$/i,
  /^All (\w+ )*(checks|tests|files)\b.*\b(pass(ed)?|successful|clean|formatted)\b/i,
  /^Ran \d+ tests? in [\d.]+s$|^OK( \(.*\))?$/, // unittest
];

/** True of the whole output, or of every failure: totals, stack frames, code frames, callers. */
const SUMMARY = [
  /^(#|ℹ) (fail|cancelled) \d+$/,
  /^(type|location): /,
  /^(Test Files|Tests|Test Suites|Errors|Type Errors):?\s+\d/,
  /^✖ failing tests:|^\d+ failing\b/,
  /^=+ .*\b(failed|errors?)\b.* in [\d.:]+.*=+$|^!+ .* !+$/, // pytest
  /^FAILED \((failures|errors|unexpected)/, // unittest
  /^test result: |^failures:$/,
  /^Found \d+ errors?\b|^✖ \d+ problems?\b|^\d+ errors? and \d+ warnings?\b/,
  /^FAIL(\s+\S+\s+([\d.]+s|\[(build|setup) failed\]))?$/, // go
  /^exit status \d+$/,
  /^make(\[\d+\])?: |^compilation terminated\.$|^collect2: error: /,
  /^npm (ERR!|error|warn)\b|\bELIFECYCLE\b|^error Command failed with exit code/,
  /^error: (test failed|test run failed|could not compile|aborting due to|\d+ targets? failed)/,
  /^For more information about (this|an) error|^note: run with /,
  /^Node\.js v\d|^Require stack:$|^- \/\S+\.[cm]?js$/,
  /^(code|errno|syscall|path|url|requireStack|generatedMessage|actual|expected|operator|diff): ('.*'|[-\w]+|\[.*),?$/,
  /^'[^']*',?$/,
  /^at .*(:\d+(:\d+)?\)?|\(<anonymous>\)|\(native\)|\(index \d+\))( \{)?$|^❯ .*:\d+:\d+$/,
  /^(>\s*)?\d*\s*[|│](\s|$)|^\^+$/,
  /^([⎯─━═=_*~-])\1{2,}/,
  /^[\]}),;]+$/,
];

/** What failed; the first pattern that any line fits wins, and of its lines the first. */
const FAILURES = [
  [
    /^(FAILED|ERROR) \S+(::\S+)* - /, // pytest
    /\berror TS\d+: /,
    /^\d+:\d+\s+error\s+\S/, // eslint
    /^error(\[E\d+\])?: /, // cargo
    /^\S+:\d+(:\d+)?: (fatal )?error: |^\S+: fatal error: |: undefined reference to /,
    /^\S+\.go:\d+(:\d+)?: /,
    /^not ok\b(?!.*# (TODO|SKIP))/i,
    /^FAIL\s+\S.* [>›] /, // vitest
    /^● (?!Console|process\.exit)/, // jest
    /^(FAIL|ERROR): \S+ \(/, // unittest
  ],
  [/^E\s+\w+(Error|Exception)\b/], // pytest, where a file cannot be read
  [
    /^--- FAIL: /,
    /^test .* \.\.\. FAILED$/,
    /^(FAIL|[×✖✗✘❌])\s+\S/,
    /\b(FAILED|ERROR)(\s+\[\s*\d+%\])?$/,
    /^npm (ERR!|error) Missing script: /,
    /^No test(s| files| suites)? found\b/i,
  ],
  [/^npm (ERR!|error) code (?!ELIFECYCLE)E\w+$/],
];

/** The last lines that say something about a failure, without passing checks and totals. */
export function tellingLines(tail: string, count: number): string[] {
  const all = withoutPassed(lastLines(tail, 200)).filter((line) => !fits(line, PASSING));
  const telling = all.filter((line) => !fits(line, SUMMARY));
  return (telling.length > 0 ? telling : all).slice(-count);
}

/** `go test -v`: what a test logs comes before the line that tells how it ended. */
function withoutPassed(lines: readonly string[]): string[] {
  const passed = new Set(lines.map((line) => /^--- (?:PASS|SKIP): (\S+)/.exec(line)?.[1]));
  let test: string | undefined;
  return lines.filter((line) => {
    const [, name] = /^(?:===|---) [A-Z]+:?\s+(\S+)/.exec(line) ?? [];
    test = name ?? test;
    return test === undefined || !passed.has(test);
  });
}

/** The check that failed if the output names one, else the last telling line. */
export function failedLine(tail: string): string | undefined {
  const lines = tellingLines(tail, 200);
  for (const patterns of FAILURES) {
    const found = lines.find((line) => fits(line, patterns));
    if (found !== undefined) return found;
  }
  return lines.at(-1);
}

function fits(line: string, patterns: readonly RegExp[]): boolean {
  return patterns.some((pattern) => pattern.test(line));
}
