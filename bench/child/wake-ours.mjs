// Sleeps until there is work, claims it, says when it held it, finishes it.

import { now, serve, setting } from "../lib/child.mjs";

const { library, run, durability } = setting();
const { openRun } = await import(library);
const store = await openRun(run, { durability });
const worker = "w0";
await store.register(worker);

// One request, one task: the answer comes when the task was claimed.
serve(
  async () => {
    for (;;) {
      const [claim] = await store.claim({ worker });
      if (claim) {
        const at = now();
        await store.complete({ id: claim.task.task_id, worker, token: claim.token });
        return { at, id: claim.task.task_id };
      }
      await store.waitForWork({ timeoutMs: 10_000 });
    }
  },
  () => store.close(),
);
