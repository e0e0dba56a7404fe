// The cost of a task in a queue of 100,000 and 300,000 beside one of 1,000, in durability `fast`.

import { bareQueues, flatness } from "../lib/flatness.mjs";

export default async function flat(bench) {
  const sizes = bench.quick ? [10_000] : [100_000, 300_000];
  const turns = bench.quick ? 10 : 100;
  const queues = bareQueues(bench, sizes, bench.quick ? 5 : 25);
  const common = { turns, queues, claimed: (size) => size };
  await flatness(bench, { ...common, name: "plain", shape: "plain" });
  await flatness(bench, {
    ...common,
    name: "half depend",
    shape: "dependents",
    bare: { dependents: true },
  });
  await flatness(bench, {
    ...common,
    name: "1 type in 100",
    shape: "types",
    types: ["rare"],
    bare: { every: 100 },
    claimed: (size) => size / 100,
  });
}
