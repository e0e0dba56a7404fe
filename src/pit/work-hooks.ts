import type { Store } from "../queue/store.ts";
import type { LayoutHooks } from "../work/host.ts";
import { WORK_SITE } from "../work/site.ts";
import { proveResults, provingFor } from "./prove-results.ts";
import { Tender } from "./tender.ts";

const TEND_EVERY_MS = 2_000;

/** What a pit adds to the work of a worker, and of each attempt. */
export function pitHooks(store: Store): LayoutHooks {
  const site = store.extension(WORK_SITE);
  if (site === null) return {};
  return {
    cwd: site.folder,
    claimFile: ({ worker, task }, artifact) => {
      const path = site.taskFile(worker, task.task_id);
      return { path, env: { VIV_FOOD: path, VIV_RESULT: artifact } };
    },
    // Food may still have been being written when it was claimed.
    doneWhen: async ({ worker, task }) => (await site.readClaimed(worker, task.task_id))?.done_when,
    hasUnproven: () => site.hasUnprovenResults(),
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
