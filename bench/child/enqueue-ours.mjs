// Enqueues as many tasks as it is told, with enqueueMany from a generator.

import { now, serve, setting } from "../lib/child.mjs";
import { specs } from "../lib/fill.mjs";

const { library, run, durability } = setting();
const { openRun } = await import(library);
const store = await openRun(run, { create: true, durability });
let from = 0;

serve(
  async ({ limit }) => {
    const begin = now();
    const { enqueued } = await store.enqueueMany(specs(limit, "plain", from));
    const last = now();
    from += limit;
    return { count: enqueued, begin, last };
  },
  () => store.close(),
);
