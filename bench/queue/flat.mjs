// The cost of a task in a queue of 100,000 and 300,000 beside one of 1,000, in durability `fast`.

import { bareQueues, flatness } from "../lib/flatness.mjs";

export default async function flat(bench) {
  const queues = bench.quick
    ? bareQueues(bench, [10_000], 5)
    : bareQueues(bench, [100_000, 300_000], 12);
  const all = (size) => size;
  await flatness(bench, { name: "plain", shape: "plain", queues, claimed: all });
  await flatness(bench, {
    name: "half depend",
    shape: "dependents",
    bare: { dependents: true },
    queues,
    claimed: all,
  });
  await flatness(bench, {
    name: "1 type in 100",
    shape: "types",
    types: ["rare"],
    bare: { every: 100 },
    queues,
    claimed: (size) => size / 100,
  });
}
