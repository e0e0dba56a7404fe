// Counts fsync and fdatasync of a process per task: a comparison of two loops that wait for the
// disk is worth nothing unless both wait equally often.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { start } from "./child.mjs";

/** `prepare(count)` makes { program, config } for a fresh queue of that many tasks. */
export async function compareSyncs(bench, measure, ours, bare) {
  if (spawnSync("strace", ["-V"]).status !== 0) {
    bench.row({ measure, skipped: "there is no strace" });
    return;
  }
  const counted = { ours: await perTask(bench, ours), bare: await perTask(bench, bare) };
  bench.row({
    measure,
    ours: counted.ours,
    peer: counted.bare,
    unit: "syncs",
    ratio: counted.ours / counted.bare,
  });
}

/** Two sizes and their difference, so that opening and closing do not count. */
async function perTask(bench, prepare) {
  const [few, many] = [100, 300];
  const less = await count(bench, await prepare(few), few);
  const more = await count(bench, await prepare(many), many);
  return (more - less) / (many - few);
}

async function count(bench, { program, config }, limit) {
  const log = bench.workspace.fresh("strace");
  const strace = ["-f", "-qq", "-o", log, "-e", "trace=fsync,fdatasync", process.execPath];
  const child = await start(program, config, strace, "strace");
  await child.ask({ limit });
  await child.stop();
  return readFileSync(log, "utf8").match(/\b(fsync|fdatasync)\(/g)?.length ?? 0;
}
