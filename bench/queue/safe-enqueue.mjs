// Enqueueing many tasks in durability `safe`: beside a loop that writes files in groups of a
// hundred and syncs each group side by side, as enqueueMany does.

import { duel } from "../lib/duel.mjs";
import { fillBare } from "../lib/fill.mjs";
import { ROUNDS } from "../lib/samples.mjs";
import { compareSyncs } from "../lib/syncs.mjs";

export default async function safeEnqueue(bench) {
  const ours = () => ({
    program: "enqueue-ours",
    config: { library: bench.library, run: bench.workspace.fresh("ours"), durability: "safe" },
  });
  const bare = () => ({ program: "enqueue-bare", config: { run: fillBare(bench, 0) } });
  await duel(bench, {
    measure: "safe: enqueueMany, groups of 100",
    ours: ours(),
    bare: bare(),
    limit: bench.quick ? 300 : 2_000,
    rounds: bench.quick ? 3 : ROUNDS,
    target: { atLeast: 0.8 },
  });
  await compareSyncs(bench, "safe: syncs per enqueued task", ours, bare);
}
