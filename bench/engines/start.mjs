// What our wrapper adds to the start of a vendor's program: from the enqueue to its first action,
// beside the same program as a plain handler.

import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fillOurs, idOf } from "../lib/fill.mjs";
import { percentile } from "../lib/samples.mjs";
import { startWorker } from "../lib/work.mjs";

export default async function start(bench) {
  const times = bench.quick ? 20 : 100;
  const engine = await samplesOf(bench, times, "engine");
  const handler = await samplesOf(bench, times, "handler");
  bench.row({
    measure: "engines: what the wrapper adds to a start, p50",
    ours: percentile(engine, 50) - percentile(handler, 50),
    unit: "ms",
    judged: "ours",
    target: { under: 30 },
    samples: { ours: engine, peer: handler },
  });
}

async function samplesOf(bench, times, kind) {
  const path = await fillOurs(bench, 0);
  const home = `${path}-home`;
  mkdirSync(home);
  const result = {
    type: "result",
    subtype: "success",
    is_error: false,
    result: "x",
    session_id: "0c0ffee0-1111-4222-8333-444455556666",
    total_cost_usd: 0,
    modelUsage: {},
  };
  writeFileSync(
    join(home, "vendor.sh"),
    `#!/bin/sh\n: > "$VIV_ARTIFACT_PATH"\ncat > /dev/null\necho '${JSON.stringify(result)}'\n`,
    { mode: 0o755 },
  );
  writeFileSync(join(home, "prompt.md"), "{{task_id}}\n");
  const engine = 'engine = "claude"\nbinary = "./vendor.sh"\nprompt = "prompt.md"';
  const route = kind === "engine" ? engine : 'handler = "./vendor.sh"';
  writeFileSync(join(home, "viv.toml"), `run = "${path}"\n[handlers.default]\n${route}\n`);
  const worker = startWorker(bench, path, [], { cwd: home });
  await worker.said("started");
  const store = await bench.openRun(path, { durability: "fast" });
  const samples = [];
  for (let i = -3; i < times; i++) {
    await sleep(5 + Math.random() * 20);
    const id = idOf(i + 4);
    const ended = worker.said("ended");
    const begin = performance.timeOrigin + performance.now();
    await store.enqueue({ id, type: "common" });
    await ended;
    const began = statSync(join(path, "artifacts", `${id}.md`)).mtimeMs;
    if (i >= 0) samples.push(Math.round((began - begin) * 1000) / 1000);
  }
  await store.close();
  await worker.stop();
  return samples;
}
