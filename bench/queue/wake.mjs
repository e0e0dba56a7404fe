// From the call of enqueue in one process to the claim in another that sleeps in waitForWork. The
// next task is sent when the last one was claimed, after a pause of 1 to 20 ms. Beside it: a file
// renamed into a folder that a process watches.

import { renameSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { now, start } from "../lib/child.mjs";
import { fillBare, fillOurs, idOf, TEXT } from "../lib/fill.mjs";
import { percentile } from "../lib/samples.mjs";

export default async function wake(bench) {
  const times = bench.quick ? 100 : 500;
  const samples = { safe: [], fast: [], bare: [] };
  const senders = {
    safe: await ours(bench, "safe"),
    fast: await ours(bench, "fast"),
    bare: await bare(bench),
  };
  for (let i = -5; i < times; i++) {
    for (const [name, { child, send }] of Object.entries(senders)) {
      const reply = child.ask("next");
      await sleep(1 + Math.random() * 19);
      const begin = now();
      await send(idOf(i + 6));
      const took = ((await reply).at - begin) / 1e6;
      if (i >= 0) samples[name].push(Math.round(took * 1000) / 1000);
    }
  }
  for (const { child, close } of Object.values(senders)) {
    await close();
    await child.stop();
  }
  for (const mode of ["safe", "fast"]) {
    for (const [percent, limit] of [
      [50, 3],
      [99, 30],
    ]) {
      const value = percentile(samples[mode], percent);
      const least = percentile(samples.bare, percent);
      bench.row({
        measure: `wake-up after enqueue, ${mode}: p${percent} of ${times}`,
        ours: value,
        peer: least,
        unit: "ms",
        ratio: value / least,
        judged: "ours",
        target: { under: limit },
        samples: percent === 50 ? { ours: samples[mode], peer: samples.bare } : undefined,
      });
    }
  }
}

async function ours(bench, durability) {
  const run = await fillOurs(bench, 0);
  const child = await start(
    "wake-ours",
    { library: bench.library, run, durability },
    bench.execArgv,
  );
  const store = await bench.openRun(run, { durability });
  const send = (id) => store.enqueue({ id, type: "common" });
  return { child, send, close: () => store.close() };
}

async function bare(bench) {
  const run = fillBare(bench, 0);
  const child = await start("wake-bare", { run });
  const send = (id) => {
    writeFileSync(`${run}/tmp/${id}`, TEXT);
    renameSync(`${run}/tmp/${id}`, `${run}/pending/${id}`);
  };
  return { child, send, close: () => {} };
}
