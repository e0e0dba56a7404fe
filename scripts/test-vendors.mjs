// `npm run test:vendors [-- <vitest arguments>]`: the tests with the vendors' real programs, against a
// model server of our own. It needs no key, and the network only to install the programs. They go
// to a folder outside the repository: vivarium/vendors in the user's cache, or $VIV_VENDORS, whose
// programs are taken in any version. What cannot be installed is said, and its tests are skipped.
// The last line counts the tests.

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { delimiter, join, relative, resolve } from "node:path";
import { countTests, describeCounts } from "./count-tests.mjs";
import { withLock } from "./lock.mjs";
import { fail, run, tool } from "./run.mjs";
import { ensureBuilt, ensureDebianPackages, ensureInstalled } from "./setup.mjs";

/**
 * Exact versions: a range gets an older claude on node 20. `setUp` is the package's own step after
 * the installation, which npm may be set to leave out.
 */
const PROGRAMS = [
  {
    name: "claude",
    package: "@anthropic-ai/claude-code",
    version: "2.1.325",
    setUp: "install.cjs",
  },
  { name: "codex", package: "@openai/codex", version: "0.166.0" },
  { name: "gemini", package: "@google/gemini-cli", version: "0.61.0" },
  { name: "opencode", package: "opencode-ai", version: "1.18.33", setUp: "postinstall.mjs" },
];

ensureInstalled();
ensureDebianPackages([
  { command: "git", package: "git" },
  { command: "bwrap", package: "bubblewrap" },
  { command: "tmux", package: "tmux" },
]);
ensureBuilt();

const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "vivarium");
const given = process.env.VIV_VENDORS;
const folder = given ? resolve(given) : join(cache, "vendors");
const work = resolve(process.env.VIV_VENDORS_WORK || join(cache, "vendors-work"));
// codex refuses to work below the temporary folder, and in a sandbox that is empty.
if (isBelow(tmpdir(), work) || isBelow("/tmp", work))
  fail(`${work} lies in the temporary folder: set VIV_VENDORS_WORK to a folder elsewhere`);
mkdirSync(work, { recursive: true });
const found = PROGRAMS.map((program) => ({ program, ...ensureProgram(program) }));
for (const { program, version, trouble } of found)
  console.log(`${program.name.padEnd(9)} ${version ?? "-"}${trouble ? `  ${trouble}` : ""}`);
if (found.every(({ version }) => version === undefined)) fail("None of the programs is there.");

const report = join(mkdtempSync(join(tmpdir(), "viv-vendors-")), "report.json");
const status = run(
  tool("vitest"),
  [
    ...["run", "--config", "test/vendors/vitest.config.ts", "--reporter=verbose"],
    ...["--reporter=json", `--outputFile.json=${report}`, ...process.argv.slice(2)],
  ],
  {
    env: {
      ...process.env,
      PATH: [join(folder, "node_modules/.bin"), process.env.PATH].join(delimiter),
      VIV_VENDORS_WORK: work,
      VIV_VENDORS_FOUND: found
        .filter(({ version }) => version !== undefined)
        .map(({ program }) => program.name)
        .join(","),
    },
  },
);
const counts = countTests(report);
rmSync(join(report, ".."), { recursive: true, force: true });

const versions = found.map(({ program, version }) => `${program.name} ${version ?? "not there"}`);
console.log(`\nTested: ${versions.join(", ")}`);
console.log(describeCounts({ ...counts, isSkippedShown: true }));
process.exitCode = status !== 0 || counts.passed + counts.failed === 0 ? 1 : 0;

/** `version`: of the program that runs, undefined if none does; `trouble`: why it is not the one we know. */
function ensureProgram(program) {
  const there = versionOf(program);
  if (there === program.version) return { version: there };
  if (there && given) return { version: there, trouble: `(known to work: ${program.version})` };
  const trouble = withLock(() => install(program)) || "it does not start";
  const version = versionOf(program);
  if (version === program.version) return { version };
  return { version, trouble: `${program.version} could not be installed: ${trouble}` };
}

/** Returns why it failed, or an empty text. */
function install({ name, package: of, version, setUp }) {
  console.log(`Installing ${name} ${version} into ${folder} ...`);
  const flags = ["--save-exact", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  try {
    mkdirSync(folder, { recursive: true });
    const own = join(folder, "package.json"); // without one npm looks for one in the folders above
    if (!existsSync(own)) writeFileSync(own, '{ "private": true }\n');
    const said = execute("npm", ["install", "--prefix", folder, ...flags, `${of}@${version}`]);
    if (said !== "") return said;
    return setUp === undefined ? "" : execute(process.execPath, [setUp], packageFolder(of));
  } catch (error) {
    return error.message; // a folder that cannot be written
  }
}

function execute(command, args, cwd = folder) {
  const { status, stderr, error } = spawnSync(command, args, { cwd, encoding: "utf8" });
  if (error) return error.message;
  return status === 0 ? "" : stderr.trim().split("\n").slice(0, 3).join("; ");
}

function packageFolder(name) {
  return join(folder, "node_modules", name);
}

function versionOf({ name, package: of }) {
  const path = join(folder, "node_modules/.bin", name);
  // What does not start here (a package without its program) is as good as missing.
  const { status } = spawnSync(path, ["--version"], { stdio: "ignore", timeout: 60_000 });
  if (status !== 0) return undefined;
  return JSON.parse(readFileSync(join(packageFolder(of), "package.json"), "utf8")).version;
}

function isBelow(parent, path) {
  return !relative(parent, path).startsWith("..");
}
