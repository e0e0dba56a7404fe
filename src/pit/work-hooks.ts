import type { Store } from "../queue/store.ts";
import type { LayoutHooks } from "../work/host.ts";
import { proveResults, provingFor } from "./prove-results.ts";
import { Tender } from "./tender.ts";

const TEND_EVERY_MS = 2_000;

/** What a pit adds to the work of a worker, and of each attempt. */
export function pitHooks(store: Store): LayoutHooks {
  const { pit } = store;
  if (pit === null) return {};
  return {
    cwd: store.location,
    claimFile: ({ worker, task }, artifact) => {
      const path = pit.claimPath(worker, task.task_id);
      return { path, env: { VIV_FOOD: path, VIV_RESULT: artifact } };
    },
    // Food may still have been being written when it was claimed.
    doneWhen: async ({ worker, task }) => (await pit.readClaimed(worker, task.task_id))?.done_when,
    hasUnproven: async () =>
      (await pit.handResults()).some(({ state }) => state === "gone" || state === "done"),
    beside: (host, options) =>
      new Tender({
        everyMs: TEND_EVERY_MS,
        prove: () => proveResults(store, host, provingFor(store, host, options)),
        onProven: (results) => {
          for (const result of results) options.onEvent?.({ kind: "proven", result });
        },
        onError: (error) => options.onEvent?.({ kind: "trouble", error }),
      }),
  };
}
