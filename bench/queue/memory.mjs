// The most memory a process holds that enqueues, or drains, 100,000 tasks: beside a node that does
// nothing but answer us.

import { start } from "../lib/child.mjs";
import { fillBare } from "../lib/fill.mjs";

export default async function memory(bench) {
  const size = bench.quick ? 10_000 : 100_000;
  const run = bench.workspace.fresh("ours");
  const common = { library: bench.library, durability: "fast" };
  const peaks = {
    enqueueMany: await peak("enqueue-ours", { ...common, run }, size, bench.execArgv),
    drain: await peak("ours", { ...common, runs: [run], worker: "w0" }, size, bench.execArgv),
  };
  const idle = await peak("bare", { runs: [fillBare(bench, 0)], worker: "w0" }, 0);
  for (const [verb, mb] of Object.entries(peaks)) {
    bench.row({
      measure: `memory: ${verb} ${size.toLocaleString("en-US")}, peak`,
      ours: mb,
      peer: idle,
      unit: "MB",
      ratio: mb / idle,
      judged: "ours",
      target: { under: 150 },
    });
  }
}

async function peak(program, config, limit, execArgv) {
  const child = await start(program, config, execArgv);
  const { count } = await child.ask({ limit });
  if (count !== limit) throw new Error(`${program}: ${count} tasks instead of ${limit}`);
  return (await child.stop()).peakMb;
}
