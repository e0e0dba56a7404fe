// How many tasks a second `viv work` gets through when the handler does nothing: beside a node that
// only starts /bin/true with pipes, as many at a time.

import { now, start } from "../lib/child.mjs";
import { fillOurs } from "../lib/fill.mjs";
import { median, pairedRatio, ROUNDS, takeTurns } from "../lib/samples.mjs";
import { startWorker } from "../lib/work.mjs";

export default async function rate(bench) {
  const size = bench.quick ? 100 : 400;
  for (const [durability, concurrency, target] of [
    ["safe", 1],
    ["safe", 2, { atLeast: 0.8 }],
    ["fast", 1, { atLeast: 0.8 }],
    ["fast", 2, { atLeast: 0.8 }],
  ]) {
    const setting = { size, concurrency, durability };
    const samples = await takeTurns(
      { ours: () => ours(bench, setting), bare: () => bare(setting) },
      bench.quick ? 3 : ROUNDS,
    );
    bench.row({
      measure: `work: /bin/true, ${concurrency} at a time, ${durability}`,
      ours: median(samples.ours),
      peer: median(samples.bare),
      unit: "/s",
      ratio: pairedRatio(samples.ours, samples.bare),
      target,
      samples: { ours: samples.ours, peer: samples.bare },
    });
  }
}

async function ours(bench, { size, concurrency, durability }) {
  const run = await fillOurs(bench, size);
  const flags = ["--handler", "/bin/true", "--max-tasks", String(size)];
  const worker = startWorker(bench, run, [
    ...flags,
    ...["--concurrency", String(concurrency), "--durability", durability],
  ]);
  await worker.said("claimed");
  const begin = now();
  await worker.said("finished");
  const took = now() - begin;
  await worker.exited;
  return Math.round((size * 1e9) / took);
}

async function bare({ size, concurrency }) {
  const child = await start("spawn-bare", { concurrency });
  const { begin, last } = await child.ask({ limit: size });
  await child.stop();
  return Math.round((size * 1e9) / (last - begin));
}
