// A worker of ours. Takes as many tasks as it is told, or all there are, from one run or, run by
// run, from several.

import { now, serve, setting } from "../lib/child.mjs";

const { library, runs, worker, durability, types } = setting();
const { openRun } = await import(library);
const stores = [];
for (const run of runs) {
  const store = await openRun(run, { durability });
  await store.register(worker, { types });
  stores.push(store);
}

serve(
  async ({ limit, run = 0 }) => {
    const store = stores[run];
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
    for (const store of stores) await store.close();
  },
);
