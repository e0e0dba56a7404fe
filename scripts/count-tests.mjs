// What a run of vitest came to, from its JSON report.

import { readFileSync } from "node:fs";

export function countTests(report) {
  let result;
  try {
    result = JSON.parse(readFileSync(report, "utf8"));
  } catch {
    return { passed: 0, failed: 0, skipped: 0 }; // vitest ended early, and has said why
  }
  // A file that cannot even be loaded has no tests to count: it counts as one that failed.
  const unloadable = result.testResults.filter(
    (file) =>
      file.status === "failed" && !file.assertionResults.some((one) => one.status === "failed"),
  );
  return {
    passed: result.numPassedTests,
    failed: result.numFailedTests + unloadable.length,
    skipped: result.numPendingTests + result.numTodoTests,
  };
}

export function describeCounts({ passed, failed, skipped, isSkippedShown = skipped > 0 }) {
  return `${passed} passed, ${failed} failed${isSkippedShown ? `, ${skipped} skipped` : ""}`;
}
