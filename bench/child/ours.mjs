// A worker of ours. Takes as many tasks as it is told, or all there are, from one run or, run by
// run, from several.

import { now, serve, setting } from "../lib/child.mjs";

const { library, runs, worker, durability, types } = setting();
const { openRun } = await import(library);
const stores = new Map();
await storeOf(0);

// A worker lives for hours; its first tenth of a second, in which node compiles it, is not what is
// measured. The bare loop needs none of it: it is compiled after a few renames.
const scratch = await openRun(`${runs[0]}-warm-${worker}`, { create: true, durability: "fast" });
await scratch.enqueueMany(Array.from({ length: 1_500 }, (_, i) => ({ id: `t.${i}`, type: "x" })));
await scratch.register("warm");
for (let [claim] = await scratch.claim({ worker: "warm" }); claim; ) {
  await scratch.complete({ id: claim.task.task_id, worker: "warm", token: claim.token });
  [claim] = await scratch.claim({ worker: "warm" });
}
await scratch.close();

serve(
  async ({ limit, run = 0 }) => {
    const store = await storeOf(run);
    const request = { worker, types };
    let count = 0;
    const begin = now();
    let last = begin;
    while (count < limit) {
      const [claim] = await store.claim(request);
      if (claim === undefined) break;
      await store.complete({ id: claim.task.task_id, worker, token: claim.token });
      last = now();
      count++;
    }
    return { count, begin, last, end: now() };
  },
  async () => {
    for (const store of stores.values()) await store.close();
  },
);

/** Opened when it is needed first: a store that lies idle has things to catch up with. */
async function storeOf(run) {
  let store = stores.get(run);
  if (store === undefined) {
    store = await openRun(runs[run], { durability });
    await store.register(worker, { types });
    stores.set(run, store);
  }
  return store;
}
