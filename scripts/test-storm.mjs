// `npm run test:storm`: a run on a real disk, many processes, and everything that can go wrong with
// them, for two minutes. Then a referee looks for what must never happen, and counts it.
//
//   --dir DIR      where: the disk that you trust your runs to (default: the system's folder for
//                  temporary files)
//   --minutes N    how long (default 2)
//   --tasks N      at most so many tasks
//   --seed N       the same decisions again, as far as processes allow
//   --only A,B     only these parts: kills stops faults slow people lock doctor shell swarm
//   --keep         keep the run; it is kept anyway when something broke
//   --limit N      seconds after which a command counts as hung (default 120)
//
// VIV_DIST=folder tests that build instead of dist/.

import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { fail, root } from "./run.mjs";
import { ensureBuilt, ensureDebianPackages, ensureInstalled } from "./setup.mjs";

const options = readArguments();
ensureInstalled();
ensureDebianPackages([
  { command: "python3", package: "python3" },
  { command: "flock", package: "util-linux" },
]);
if (!process.env.VIV_DIST) ensureBuilt();

const { PARTS, storm, stories, table } = await import("../test/storm/main.mjs");
const parts = options.only?.split(",") ?? PARTS;
const unknown = parts.find((part) => !PARTS.includes(part));
if (unknown) fail(`There is no ${unknown}; there are: ${PARTS.join(", ")}`);

const seed = number("seed") ?? Math.floor(Math.random() * 2 ** 31);
const isTerminal = process.stdout.isTTY;
let lastLine = 0;
const say = (text) => console.log(isTerminal ? `\r\x1b[K${text}` : text);
const live = (text) => {
  if (isTerminal) process.stdout.write(`\r\x1b[K${text.slice(0, process.stdout.columns - 1)}`);
  else if (Date.now() - lastLine > 10_000) {
    lastLine = Date.now();
    console.log(text);
  }
};

say(`seed ${seed}`);
const { scene, crimes, before, counts, ledger, remove } = await storm({
  dir: resolve(options.dir ?? tmpdir()),
  dist: resolve(process.env.VIV_DIST ?? join(root, "dist")),
  seed,
  minutes: number("minutes") ?? 2,
  most: number("tasks") ?? Number.POSITIVE_INFINITY,
  limitSeconds: number("limit") ?? 120,
  parts,
  say,
  live,
});
say(`\n${JSON.stringify(counts, null, 1)}`);
if (before.length > 0) say(`doctor, before the repair: ${summary(before)}`);
say(`\n${table(crimes)}\n`);
if (crimes.length > 0) say(stories(crimes, scene, ledger));
if (crimes.length > 0 || options.keep) say(`kept: ${scene.folder}`);
else remove();
say(crimes.length > 0 ? `broken: repeat with --seed ${seed}` : `nothing broke (seed ${seed})`);
process.exitCode = crimes.length > 0 ? 1 : 0;

function summary(findings) {
  const counted = {};
  for (const { code } of findings) counted[code] = (counted[code] ?? 0) + 1;
  return Object.entries(counted)
    .map(([code, count]) => `${count} ${code}`)
    .join(", ");
}

function readArguments() {
  try {
    return parseArgs({
      options: {
        dir: { type: "string" },
        minutes: { type: "string" },
        tasks: { type: "string" },
        seed: { type: "string" },
        only: { type: "string" },
        limit: { type: "string" },
        keep: { type: "boolean" },
      },
    }).values;
  } catch (error) {
    return fail(`${error.message}\nUsage: see scripts/test-storm.mjs`);
  }
}

function number(name) {
  if (options[name] === undefined) return undefined;
  const value = Number(options[name]);
  return Number.isFinite(value) ? value : fail(`--${name} must be a number, not ${options[name]}`);
}
