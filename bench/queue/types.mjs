// What a worker of one type, which one task in a hundred has, pays for a task in a queue of 100,000,
// beside a worker that takes any type from the same kind of queue. Processor time counts: the time on
// the clock of so few tasks is mostly the disk's. Both drains end before the first scan of pending/
// is due: it is bounded to half a percent of a worker's time, whatever its types.

import { start } from "../lib/child.mjs";
import { fillOurs } from "../lib/fill.mjs";
import { median, pairedRatio, ROUNDS } from "../lib/samples.mjs";

const RARE = ["rare"];

export default async function types(bench) {
  const size = bench.quick ? 20_000 : 100_000;
  const samples = { cpu: { rare: [], any: [] }, clock: { rare: [], any: [] } };
  for (let round = 0; round < (bench.quick ? 1 : ROUNDS); round++) {
    const { rare, any } = await measure(bench, size);
    for (const what of ["cpu", "clock"]) {
      samples[what].rare.push(rare[what]);
      samples[what].any.push(any[what]);
    }
    bench.progress(`round ${round + 1}`);
  }
  const row = (name, { rare, any }, target) =>
    bench.row({
      measure: name,
      ours: median(rare),
      peer: median(any),
      unit: "µs",
      ratio: pairedRatio(rare, any),
      target,
      samples: { ours: rare, peer: any },
    });
  const what = `1 type in 100 of ${size.toLocaleString("en-US")}, beside any type`;
  row(`${what}: CPU`, samples.cpu, { atMost: 1.3 });
  row(`${what}: time`, samples.clock);
}

/** Microseconds for each task. */
async function measure(bench, size) {
  const setting = { library: bench.library, durability: "fast", worker: "w0", warmUp: 2_000 };
  const begin = async (types) => {
    const runs = [await fillOurs(bench, size, { shape: "types" })];
    if (!bench.quick) bench.workspace.settle();
    return start("ours", { ...setting, runs, types }, bench.execArgv);
  };
  const children = { rare: await begin(RARE), any: await begin() };
  const limit = size / 100 - 1;
  const costs = {};
  for (const [name, child] of Object.entries(children)) {
    await child.ask({ limit: 1 }); // pays for opening the queue
    const { count, begin, last, cpu } = await child.ask({ limit });
    if (count !== limit) throw new Error(`${name}: ${count} of ${limit} tasks were there`);
    costs[name] = { clock: (last - begin) / 1000 / limit, cpu: cpu / limit };
    await child.stop();
  }
  return costs;
}
