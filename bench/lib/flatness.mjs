// Does a task cost the same in a large queue as in a small one? Queues of every size, ours and
// bare, are filled first and then drained slice by slice in turns by one process for each; the
// small size is drained many times over, one fresh queue per turn. The cost is the time of the
// whole drain over its tasks, so what happens only now and then is in it.

import { start } from "./child.mjs";
import { fillBare, fillOurs, rearrangeBare } from "./fill.mjs";
import { sum } from "./samples.mjs";

const SMALL = 1_000;
const TARGET = { atMost: 1.3 };

/** Bare queues for all shapes: [{ size, runs }], the small size `small` times. */
export function bareQueues(bench, sizes, small) {
  return [SMALL, ...sizes].map((size) => {
    const count = size === SMALL ? small : 1;
    return { size, runs: Array.from({ length: count }, () => fillBare(bench, size)) };
  });
}

/** `claimed(size)` tasks of a queue of `size` are drained, in `turns` turns. */
export async function flatness(bench, { name, shape, types, bare, claimed, turns, queues }) {
  const contestants = [];
  for (const { size, runs } of queues) {
    for (const run of runs) rearrangeBare(run, shape);
    const config = { runs, worker: "w0", ...bare };
    contestants.push({ program: "bare", size, config, tasks: claimed(size) });
  }
  for (const {
    size,
    runs: { length },
  } of queues) {
    const runs = [];
    while (runs.length < length) runs.push(await fillOurs(bench, size, { shape }));
    const config = { library: bench.library, runs, worker: "w0", durability: "fast", types };
    contestants.push({ program: "ours", size, config, tasks: claimed(size) });
    bench.progress(`${name}: filled ${length} x ${size.toLocaleString("en-US")}`);
  }
  if (!bench.quick) bench.workspace.settle();
  for (const one of contestants) await open(bench, one);
  for (let turn = 0; turn < turns; turn++) {
    for (const one of contestants) await drainSlice(one, turn, turns);
  }
  for (const one of contestants) await one.child.stop();
  bench.progress(`${name}: drained`);
  report(bench, name, contestants);
}

/** What a store does once after it was opened is no cost of a task: the first one pays it. */
async function open(bench, one) {
  one.child = await start(one.program, one.config, one.program === "ours" ? bench.execArgv : []);
  for (let run = 0; run < one.config.runs.length; run++) await one.child.ask({ limit: 1, run });
  one.tasks--;
  one.drained = 0;
  one.slices = [];
}

/** A share of the one large queue, or the whole of the next small one. */
async function drainSlice(one, turn, turns) {
  const small = one.config.runs.length;
  const run = small > 1 ? Math.floor((turn * small) / turns) : 0;
  if (small > 1 && turn > 0 && run === Math.floor(((turn - 1) * small) / turns)) return;
  const limit = small > 1 ? one.tasks : Math.floor((one.tasks * (turn + 1)) / turns) - one.drained;
  const { count, begin, last } = await one.child.ask({ limit, run });
  if (count !== limit) throw new Error(`${one.program}: ${count} of ${limit}, size ${one.size}`);
  // The first small queue warms the code up: in a large one that does not weigh either.
  if (small > 1 && run === 0) return;
  one.drained += count;
  one.slices.push(last - begin);
}

function report(bench, name, contestants) {
  const find = (program, size) =>
    contestants.find((one) => one.program === program && one.size === size);
  const cost = ({ slices, drained }) => sum(slices) / drained / 1000;
  for (const { program, size } of contestants) {
    if (program !== "ours" || size === SMALL) continue;
    const ours = { large: find("ours", size), small: find("ours", SMALL) };
    const bare = { large: find("bare", size), small: find("bare", SMALL) };
    const factor = cost(ours.large) / cost(ours.small);
    const bareFactor = cost(bare.large) / cost(bare.small);
    bench.row({
      measure: `flat, ${name}: ${size.toLocaleString("en-US")} beside 1,000`,
      ours: cost(ours.large),
      peer: cost(ours.small),
      unit: "µs",
      ratio: factor,
      target: TARGET,
      samples: { ours: ours.large.slices, peer: ours.small.slices },
    });
    bench.row({
      measure: "  that factor beside the bare loop's",
      ours: factor,
      peer: bareFactor,
      unit: "x",
      ratio: factor / bareFactor,
      target: TARGET,
      samples: { large: bare.large.slices, small: bare.small.slices },
      bare: { large: cost(bare.large), small: cost(bare.small), unit: "µs" },
    });
  }
}
