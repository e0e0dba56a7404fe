// Does a task cost the same in a large queue as in a small one? A worker drains the large queue in
// slices, and after each slice another one drains a small queue that was opened just then; so both
// meet the same weather. The slices are large, because a store that pauses has things to catch up
// with. The cost in the large queue is the time of all slices over their tasks: what happens only
// now and then is in it. In the small ones it is the median: they are too short for that. The same
// is done with bare renames, for which ext4 itself gets slower with larger folders.

import { start } from "./child.mjs";
import { fillBare, fillOurs, rearrangeBare } from "./fill.mjs";
import { median, sum } from "./samples.mjs";

const SMALL = 1_000;
/** Both workers drain a scratch queue of this size first, so that both are measured warm. */
const WARM_UP = 2_000;
const TARGET = { atMost: 1.3 };

/** Bare queues for all shapes: for each size the large one and `slices` small ones. */
export function bareQueues(bench, sizes, slices) {
  return sizes.map((size) => ({
    size,
    large: fillBare(bench, size),
    small: Array.from({ length: slices }, () => fillBare(bench, SMALL)),
  }));
}

/** `claimed(size)` tasks of a queue of `size` are drained. */
export async function flatness(bench, { name, shape, types, bare, claimed, queues }) {
  for (const { size, large, small } of queues) {
    for (const run of [large, ...small]) rearrangeBare(run, shape);
    const ours = { large: await fillOurs(bench, size, { shape }), small: [] };
    for (const _ of small) ours.small.push(await fillOurs(bench, SMALL, { shape }));
    bench.progress(`${name}: filled ${size.toLocaleString("en-US")}`);
    if (!bench.quick) bench.workspace.settle();
    const tasks = { large: claimed(size), small: claimed(SMALL) };
    const setting = { library: bench.library, durability: "fast", types };
    const costs = {
      ours: await compare("ours", ours, setting, tasks, bench.execArgv),
      bare: await compare("bare", { large, small }, bare, tasks),
    };
    report(bench, `flat, ${name}: ${size.toLocaleString("en-US")} beside 1,000`, costs);
    bench.progress(`${name}: drained ${size.toLocaleString("en-US")}`);
  }
}

async function compare(program, { large, small }, setting, tasks, execArgv) {
  const config = { ...setting, worker: "w0", warmUp: WARM_UP };
  const children = {
    large: await start(program, { ...config, runs: [large] }, execArgv),
    small: await start(program, { ...config, runs: small }, execArgv),
  };
  const times = { large: [], small: [] };
  const slice = async (which, run, limit) => {
    const { count, begin, last } = await children[which].ask({ limit, run });
    if (count !== limit) throw new Error(`${program}: ${count} of ${limit} tasks were there`);
    times[which].push(last - begin);
  };
  // The first task pays for what a store does once after it was opened, and does not count.
  await children.large.ask({ limit: 1, run: 0 });
  let left = tasks.large - 1;
  for (const [i] of small.entries()) {
    const share = Math.floor(left / (small.length - i));
    left -= share;
    await slice("large", 0, share);
    await children.small.ask({ limit: 1, run: i });
    await slice("small", i, tasks.small - 1);
  }
  await children.large.stop();
  await children.small.stop();
  return {
    large: sum(times.large) / (tasks.large - 1) / 1000,
    small: median(times.small) / (tasks.small - 1) / 1000,
    samples: times,
  };
}

function report(bench, measure, { ours, bare }) {
  const factor = ours.large / ours.small;
  const bareFactor = bare.large / bare.small;
  bench.row({
    measure,
    ours: ours.large,
    peer: ours.small,
    unit: "µs",
    ratio: factor,
    target: TARGET,
    samples: ours.samples,
  });
  bench.row({
    measure: "  that factor beside the bare loop's",
    ours: factor,
    peer: bareFactor,
    unit: "x",
    ratio: factor / bareFactor,
    target: TARGET,
    bare: { large: bare.large, small: bare.small, unit: "µs" },
    samples: bare.samples,
  });
}
