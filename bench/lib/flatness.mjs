// Does a task cost the same in a large queue as in a small one? Queues of every size, ours and
// bare, are filled first and then drained slice by slice in turns by one process for each; the
// small size is drained many times over, one fresh queue per turn. The cost is the time of the
// whole drain over its tasks, so what happens only now and then is in it.

import { start } from "./child.mjs";
import { fillBare, fillOurs } from "./fill.mjs";
import { sum } from "./samples.mjs";

const SMALL = 1_000;
const TARGET = { atMost: 1.3 };

/**
 * `claimed(size)` tasks of a queue of `size` are drained in `turns` turns; the small queues take
 * part in `small` of these.
 */
export async function flatness(bench, { name, shape, types, bare, claimed, sizes, turns, small }) {
  const contestants = [];
  for (const kind of ["ours", "bare"]) {
    for (const size of [SMALL, ...sizes]) {
      const count = size === SMALL ? small : 1;
      contestants.push(
        await prepare(bench, { kind, size, count, shape, types, bare, tasks: claimed(size) }),
      );
      bench.progress(`${name}: filled ${kind} ${count} x ${size.toLocaleString("en-US")}`);
    }
  }
  bench.workspace.settle();
  for (const one of contestants) {
    one.child = await start(one.program, one.config, one.kind === "ours" ? bench.execArgv : []);
    one.slices = [];
    // What a store does once after it was opened is no cost of a task: it is paid before.
    for (let run = 0; run < one.config.runs.length; run++) await one.child.ask({ limit: 1, run });
  }
  bench.progress(`${name}: draining`);
  for (let turn = 0; turn < turns; turn++) {
    for (const one of contestants) await drainSlice(one, turn, turns);
  }
  for (const one of contestants) {
    one.peakMb = (await one.child.stop()).peakMb;
    // In microseconds.
    one.cost = sum(one.slices) / one.drained / 1000;
  }
  report(bench, name, contestants, sizes);
}

async function prepare(bench, { kind, size, count, shape, types, bare, tasks }) {
  const runs = [];
  for (let i = 0; i < count; i++) {
    runs.push(
      kind === "ours" ? await fillOurs(bench, size, { shape }) : fillBare(bench, size, { shape }),
    );
  }
  const config =
    kind === "ours"
      ? { library: bench.library, runs, worker: "w0", durability: "fast", types }
      : { runs, worker: "w0", ...bare };
  return { kind, size, program: kind, config, tasks: tasks - 1, drained: 0 };
}

/** A share of the one large queue, or the whole of the next small one. */
async function drainSlice(one, turn, turns) {
  const queues = one.config.runs.length;
  let limit;
  let run = 0;
  if (queues > 1) {
    run = Math.floor((turn * queues) / turns);
    if (turn > 0 && run === Math.floor(((turn - 1) * queues) / turns)) return;
    limit = one.tasks;
  } else limit = Math.floor((one.tasks * (turn + 1)) / turns) - one.drained;
  const { count, begin, last } = await one.child.ask({ limit, run });
  if (count !== limit) throw new Error(`${one.kind}: ${count} of ${limit} tasks, size ${one.size}`);
  // The first small queue warms the code up, so that both sizes are measured warm.
  if (queues > 1 && run === 0) return;
  one.drained += count;
  one.slices.push(last - begin);
}

function report(bench, name, contestants, sizes) {
  const cost = (kind, size) => contestants.find((c) => c.kind === kind && c.size === size).cost;
  const samples = (size) =>
    Object.fromEntries(
      contestants
        .filter((c) => c.size === size || c.size === SMALL)
        .map((c) => [`${c.kind} ${c.size} (slices, ns)`, c.slices]),
    );
  for (const size of sizes) {
    const ours = cost("ours", size) / cost("ours", SMALL);
    const bare = cost("bare", size) / cost("bare", SMALL);
    const at = size.toLocaleString("en-US");
    bench.row({
      measure: `flat, ${name}: a task at ${at} / at 1,000`,
      ours: cost("ours", size),
      peer: cost("ours", SMALL),
      unit: "µs",
      ratio: ours,
      target: TARGET,
      samples: samples(size),
    });
    bench.row({
      measure: `flat, ${name}: that factor / the bare loop's`,
      ours,
      peer: bare,
      unit: "x",
      ratio: ours / bare,
      target: TARGET,
    });
  }
}
