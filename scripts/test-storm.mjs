// `npm run test:storm`: a crash test for a disk that runs are trusted to. A run on it, many processes,
// and everything that can go wrong with them, for two minutes; then, where root may mount, power cuts.
// A referee looks for what must never happen, and counts it; exit 0 only if all counts are 0.
//
//   --dir DIR      where (default: the system's folder for temporary files, or /var/tmp if that one is
//                  in memory)
//   --minutes N    how long (default 2)
//   --tasks N      at most so many tasks
//   --power [N]    only power cuts, N for each filesystem (default 6; without it 2 after the storm)
//   --seed N       the same decisions again, as far as processes allow
//   --only A,B     only these parts: kills stops faults slow people lock doctor shell swarm power
//   --also A,B     besides: derived (pieces of .viv/ vanish), status (status.json breaks)
//   --keep         keep the runs; what broke is kept anyway
//   --limit N      seconds after which a command counts as hung (default 120)
//
// VIV_DIST=folder tests that build instead of dist/.

import { statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { fail, root } from "./run.mjs";
import { ensureBuilt, ensureDebianPackages, ensureInstalled, tryDebianPackages } from "./setup.mjs";

const options = readArguments();
ensureInstalled();
ensureDebianPackages([
  { command: "python3", package: "python3" },
  { command: "flock", package: "util-linux" },
]);
if (!process.env.VIV_DIST) ensureBuilt();

const { MORE_PARTS, PARTS, storm } = await import("../test/storm/main.mjs");
const { FILESYSTEMS, cannotCut } = await import("../test/storm/disk.mjs");
const { powerCut } = await import("../test/storm/power.mjs");
const { stories, table } = await import("../test/storm/report.mjs");

const usual = [...PARTS, "power"];
const all = [...usual, ...MORE_PARTS];
const parts = chosenParts();
const unknown = parts.find((part) => !all.includes(part));
if (unknown) fail(`There is no ${unknown}; there are: ${all.join(", ")}`);
const seed = number("seed") ?? Math.floor(Math.random() * 2 ** 31);
const settings = {
  dir: resolve(options.dir ?? realDisk()),
  dist: resolve(process.env.VIV_DIST ?? join(root, "dist")),
  seed,
  limitSeconds: number("limit") ?? 120,
  say,
  live: liveLine(),
};

const crimes = [];
let tasks = 0;
say(`seed ${seed}, in ${settings.dir}`);
if (parts.some((part) => part !== "power")) {
  const minutes = number("minutes") ?? 2;
  const most = number("tasks") ?? Number.POSITIVE_INFINITY;
  const result = await storm({ ...settings, minutes, most, parts });
  say(`\n${JSON.stringify(result.counts, null, 1)}`);
  finish("the storm", result);
}
if (parts.includes("power")) await cutPower(number("power") ?? (options.only ? 6 : 2));

say(`\n${tasks} tasks\n${table(crimes)}\n`);
say(crimes.length > 0 ? `broken: repeat with --seed ${seed}` : `nothing broke (seed ${seed})`);
process.exitCode = crimes.length > 0 ? 1 : 0;

function chosenParts() {
  if (options.power !== undefined) return ["power"];
  return [...(options.only?.split(",") ?? usual), ...(options.also?.split(",") ?? [])];
}

async function cutPower(rounds) {
  // What cannot be installed is told as the reason why a filesystem is skipped.
  tryDebianPackages([
    { command: "xfs_io", package: "xfsprogs" },
    { command: "mkfs.ext4", package: "e2fsprogs" },
  ]);
  for (const kind of FILESYSTEMS) {
    const reason = cannotCut(settings.dir, kind);
    if (reason !== null) say(`skipping power cuts on ${kind}: ${reason}`);
    for (let round = 0; reason === null && round < rounds; round++) {
      const result = await powerCut({ ...settings, kind, round });
      finish(`power cut ${round + 1} on ${kind} (${result.text})`, result);
    }
  }
}

function finish(name, result) {
  crimes.push(...result.crimes);
  tasks += result.tasks;
  const found =
    result.before.length > 0 ? `; doctor before the repair: ${summary(result.before)}` : "";
  say(`${name}: ${result.tasks} tasks, ${result.crimes.length} broken${found}`);
  if (result.crimes.length > 0) say(`\n${stories(result.crimes, result.scene, result.ledger)}`);
  if (result.crimes.length > 0 || options.keep) say(`kept: ${result.keep()}`);
  else result.remove();
}

function say(text) {
  console.log(process.stdout.isTTY ? `\r\x1b[K${text}` : text);
}

/** One line that changes; where that cannot be, a line every ten seconds. */
function liveLine() {
  let last = 0;
  return (text) => {
    if (process.stdout.isTTY) {
      process.stdout.write(`\r\x1b[K${text.slice(0, process.stdout.columns - 1)}`);
    } else if (Date.now() - last > 10_000) {
      last = Date.now();
      console.log(text);
    }
  };
}

/** Not in memory: what is promised is about disks. */
function realDisk() {
  const TMPFS = 0x01021994;
  const disk = [tmpdir(), "/var/tmp", root].find((folder) => statfsSync(folder).type !== TMPFS);
  return disk ?? tmpdir();
}

function summary(findings) {
  const counted = {};
  for (const { code } of findings) counted[code] = (counted[code] ?? 0) + 1;
  return Object.entries(counted)
    .map(([code, count]) => `${count} ${code}`)
    .join(", ");
}

function readArguments() {
  // A bare --power means the default number.
  const args = process.argv.slice(2);
  const at = args.indexOf("--power");
  if (at !== -1 && !/^\d+$/.test(args[at + 1] ?? "")) args.splice(at + 1, 0, "6");
  try {
    return parseArgs({
      args,
      options: {
        power: { type: "string" },
        dir: { type: "string" },
        minutes: { type: "string" },
        tasks: { type: "string" },
        seed: { type: "string" },
        only: { type: "string" },
        also: { type: "string" },
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
