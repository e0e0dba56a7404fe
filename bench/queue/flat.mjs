// The cost of a task in a queue of 100,000 and 300,000 beside one of 1,000, in durability `fast`.

import { flatness } from "../lib/flatness.mjs";

export default async function flat(bench) {
  const common = bench.quick
    ? { sizes: [20_000], turns: 20, small: 10 }
    : { sizes: [100_000, 300_000], turns: 100, small: 50 };
  await flatness(bench, { ...common, name: "plain", shape: "plain", claimed: (size) => size });
  await flatness(bench, {
    ...common,
    name: "half depend",
    shape: "dependents",
    bare: { dependents: true },
    claimed: (size) => size,
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
