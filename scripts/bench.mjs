// `npm run bench -- SUITE`: sets up what is missing, then runs bench/SUITE/*.mjs.
//
//   --only NAME   one measurement (may be given more than once)
//   --quick       small sizes: under a minute, to see whether something is badly off
//   --strict      exit 1 when a target is missed
//   --cpu-prof D  keep a CPU profile of each of our worker processes in folder D
//
// VIV_DIST=folder measures that build instead of dist/.

import { readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { fail, root } from "./run.mjs";
import { ensureBuilt, ensureInstalled } from "./setup.mjs";

const suites = namesIn("bench", (entry) => entry.isDirectory()).filter(
  (name) => !["child", "lib", "peers", "results"].includes(name),
);
const { suite, options } = readArguments();
const measurements = namesIn(`bench/${suite}`, (entry) => entry.name.endsWith(".mjs"))
  .map((name) => name.slice(0, -".mjs".length))
  .sort();
const unknown = options.only?.find((name) => !measurements.includes(name));
if (unknown) fail(`There is no ${unknown} in ${suite}; there are: ${measurements.join(", ")}`);

ensureInstalled();
if (!process.env.VIV_DIST) ensureBuilt();

// Loaded only now: what it imports may have been missing before the set-up.
const { runSuite } = await import("../bench/lib/suite.mjs");
const missed = await runSuite(suite, options.only ?? measurements, {
  quick: options.quick === true,
  whole: !options.only && !options.quick,
  dist: resolve(process.env.VIV_DIST ?? join(root, "dist")),
  profiles: options["cpu-prof"] && resolve(options["cpu-prof"]),
});
if (missed > 0 && options.strict) process.exitCode = 1;

function readArguments() {
  const usage = `Usage: npm run bench -- ${suites.join("|")} [--quick] [--only NAME] [--strict]`;
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        only: { type: "string", multiple: true },
        quick: { type: "boolean" },
        strict: { type: "boolean" },
        "cpu-prof": { type: "string" },
      },
    });
    if (positionals.length !== 1 || !suites.includes(positionals[0])) fail(usage);
    return { suite: positionals[0], options: values };
  } catch (error) {
    return fail(`${error.message}\n${usage}`);
  }
}

function namesIn(folder, wanted) {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .filter(wanted)
    .map((entry) => entry.name);
}
