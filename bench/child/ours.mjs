// A worker of ours. Takes as many tasks as it is told, or all there are, from one run or, run by
// run, from several.

import { now, serve, setting } from "../lib/child.mjs";
import { idOf } from "../lib/fill.mjs";

const { library, runs, worker, durability, types, warmUp = 0 } = setting();
const { openRun } = await import(library);
const stores = new Map();
if (warmUp > 0) await drainScratch(warmUp);
await storeOf(0);

serve(
  async ({ limit, run = 0 }) => drain(await storeOf(run), limit),
  async () => {
    for (const store of stores.values()) await store.close();
  },
);

async function drain(store, limit) {
  const request = { worker, types };
  let count = 0;
  const before = process.cpuUsage();
  const begin = now();
  let last = begin;
  while (count < limit) {
    const [claim] = await store.claim(request);
    if (claim === undefined) break;
    await store.complete({ id: claim.task.task_id, worker, token: claim.token });
    last = now();
    count++;
  }
  const { user, system } = process.cpuUsage(before);
  return { count, begin, last, end: now(), cpu: user + system };
}

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

async function drainScratch(size) {
  const scratch = await openRun(`${runs[0]}-${worker}-${process.pid}`, {
    create: true,
    durability: "fast",
  });
  const type = types?.[0] ?? "common";
  await scratch.enqueueMany(Array.from({ length: size }, (_, i) => ({ id: idOf(i + 1), type })));
  await scratch.register(worker, { types });
  await drain(scratch, size);
  await scratch.close();
}
