import { lastLines } from "./text.ts";

/**
 * The line of a program's output that tells what failed. Test runners and compilers print totals,
 * passing tests and stack frames after it. Each pattern is for a line without its indentation.
 */

/** Of a check that passed, or has not ended. */
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
];

/** True of the whole output, or of every failure: totals, stack frames, code frames, callers. */
const SUMMARY = [
  /^(#|ℹ) (tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$|^1\.\.\d+$/,
  /^(\.\.\.|---|duration_ms: .*|type: .*|location: .*)$/,
  /^(Test Files|Tests|Test Suites|Snapshots|Time|Start at|Duration|Errors|Type Errors):?\s+\d/,
  /^Ran all test suites|^✖ failing tests:|^\d+ failing\b/,
  /^=+ .*\b(failed|passed|errors?)\b.* in [\d.:]+.*=+$/, // pytest
  /^test result: |^failures:$/,
  /^Found \d+ errors?\b|^✖ \d+ problems?\b|^\d+ errors? and \d+ warnings?\b/,
  /^FAIL(\s+\S+\s+([\d.]+s|\[.*\]))?$/, // go
  /^exit status \d+$/,
  /^make(\[\d+\])?: /,
  /^npm (ERR!|error|warn)\b|\bELIFECYCLE\b|^error Command failed with exit code/,
  /^error: (test failed|test run failed|could not compile|aborting due to|\d+ targets? failed)/,
  /^For more information about (this|an) error|^note: run with /,
  /^Node\.js v\d/,
  /^at .*:\d+(:\d+)?\)?$|^❯ .*:\d+:\d+$/,
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
    /^\S+:\d+(:\d+)?: (fatal )?error: /,
    /^\S+\.go:\d+(:\d+)?: /,
    /^not ok\b(?!.*# (TODO|SKIP))/i,
    /^FAIL\s+\S.* [>›] /, // vitest
    /^● (?!Console|process\.exit)/, // jest
  ],
  [
    /^--- FAIL: /,
    /^test .* \.\.\. FAILED$/,
    /^(FAIL|[×✖✗✘❌])\s+\S/,
    /\b(FAILED|ERROR)(\s+\[\s*\d+%\])?$/,
  ],
];

/** The last lines that say something about a failure, without passing checks and totals. */
export function tellingLines(tail: string, count: number): string[] {
  const all = lastLines(tail, 200).filter((line) => !fits(line, PASSING));
  const telling = all.filter((line) => !fits(line, SUMMARY));
  return (telling.length > 0 ? telling : all).slice(-count);
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
