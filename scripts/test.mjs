// `npm test`: the tests, and every check. `npm test -- <vitest arguments>`: only the tests
// they select. The last line says how many tests passed and failed.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { countTests, describeCounts } from "./count-tests.mjs";
import { root, runBeside, runQuietly, tool } from "./run.mjs";
import { ensureBuilt, ensureDebianPackages, ensureInstalled, tryDebianPackages } from "./setup.mjs";

const selection = process.argv.slice(2);
const failed = [];

ensureInstalled();
ensureDebianPackages([
  { command: "python3", package: "python3" },
  { command: "flock", package: "util-linux" },
  { command: "git", package: "git" },
  { command: "bwrap", package: "bubblewrap" },
  { command: "tmux", package: "tmux" },
]);
// The tests with these are skipped where they are missing.
const others = ["gh", "zsh", "fish", "ksh", "mksh", "tcsh", "chromium", "faketime", "openssl"];
const missing = tryDebianPackages(others.map((name) => ({ command: name, package: name })));
for (const { command } of missing) console.error(`${command} is not installed: no test with it.`);
ensureBuilt();

const checks = selection.length === 0 ? startChecks() : [];
const counts = await runTests();
await reportChecks(checks);
if (counts.passed + counts.failed === 0) failed.push("no test ran");

if (failed.length > 0) console.log(`\nFailed: ${failed.join(", ")}`);
console.log(`\n${describeCounts(counts)}`);
process.exitCode = failed.length > 0 || counts.failed > 0 ? 1 : 0;

/**
 * Beside the tests, in the time in which those wait: with a lower priority, so that no test waits for a
 * check. What they say comes after the tests.
 */
function startChecks() {
  return [
    ["tsc", tool("tsc"), ["--noEmit"]],
    ["tsc of the page", tool("tsc"), ["--project", "web"]],
    ["knip", tool("knip"), []],
    ["biome ci", tool("biome"), ["ci", "."]],
    ["import direction", process.execPath, [join(root, "scripts/check-imports.mjs")]],
  ].map(([name, command, args]) => ({ name, ended: runQuietly("nice", [command, ...args]) }));
}

async function reportChecks(checks) {
  for (const { name, ended } of checks) {
    const { status, said } = await ended;
    console.log(`\n== ${name}`);
    process.stdout.write(said);
    if (status !== 0) failed.push(name);
  }
}

async function runTests() {
  const folder = mkdtempSync(join(tmpdir(), "viv-test-"));
  const report = join(folder, "report.json");
  try {
    const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
    console.log("\n== vitest");
    const status = await runBeside(tool("vitest"), ["run", ...reporters, ...selection]);
    if (status !== 0) failed.push("vitest");
    return countTests(report);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
