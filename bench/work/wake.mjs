// From the call of enqueue to the first thing a handler does, when the worker is idle.

import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fillOurs, idOf } from "../lib/fill.mjs";
import { percentile } from "../lib/samples.mjs";
import { startWorker } from "../lib/work.mjs";

export default async function wake(bench) {
  const times = bench.quick ? 30 : 200;
  const run = await fillOurs(bench, 0);
  const handler = join(run, "handler.sh");
  // The time of the file is when the handler began: asking a clock would cost another process.
  writeFileSync(handler, '#!/bin/sh\n: > "$VIV_ARTIFACT_PATH"\n', { mode: 0o755 });
  const worker = startWorker(bench, run, ["--handler", handler]);
  await worker.said("started");
  const store = await bench.openRun(run, { durability: "fast" });
  const samples = [];
  for (let i = -5; i < times; i++) {
    await sleep(5 + Math.random() * 20);
    const id = idOf(i + 6);
    const ended = worker.said("ended");
    const begin = performance.timeOrigin + performance.now();
    await store.enqueue({ id, type: "common" });
    await ended;
    const began = statSync(join(run, "artifacts", `${id}.md`)).mtimeMs;
    if (i >= 0) samples.push(Math.round((began - begin) * 1000) / 1000);
  }
  await store.close();
  await worker.stop();
  for (const percent of [50, 99]) {
    bench.row({
      measure: `work: from enqueue to the handler, p${percent} of ${times}`,
      ours: percentile(samples, percent),
      unit: "ms",
      judged: "ours",
      ...(percent === 50 ? { target: { under: 10 }, samples: { ours: samples } } : {}),
    });
  }
}
