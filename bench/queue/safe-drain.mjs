// Emptying a queue in durability `safe`, where a finished task survives power loss: beside a loop
// of bare renames that waits for the disk as often.

import { duel } from "../lib/duel.mjs";
import { fillBare, fillOurs } from "../lib/fill.mjs";
import { ROUNDS } from "../lib/samples.mjs";
import { compareSyncs } from "../lib/syncs.mjs";

export default async function safeDrain(bench) {
  const limit = bench.quick ? 60 : 300;
  const rounds = bench.quick ? 3 : ROUNDS;
  const size = limit * (rounds + 1);
  const ours = async (count) => ({
    program: "ours",
    config: {
      library: bench.library,
      runs: [await fillOurs(bench, count)],
      worker: "w0",
      durability: "safe",
    },
  });
  const bare = (count) => ({
    program: "bare",
    config: { runs: [fillBare(bench, count)], worker: "w0", safe: true },
  });
  const pair = { ours: await ours(size), bare: bare(size) };
  bench.workspace.settle();
  await duel(bench, {
    measure: "safe: drain, 1 worker",
    ...pair,
    limit,
    rounds,
    target: { atLeast: 0.8 },
  });
  await compareSyncs(bench, "safe: syncs per drained task", ours, bare);
}
