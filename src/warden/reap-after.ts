import type { Store } from "../queue/store.ts";

/** Opens a run for writing. */
export type OpenRun = (path: string) => Promise<Store>;

/**
 * After an execution of a worker: what it held goes back to the queue at once, and the attempts that
 * ended so since then name the receipt, whoever ended them. Returns their tasks; the same when it is
 * done again.
 */
export async function reapAfter(
  open: OpenRun,
  { worker, run, receipt, since }: ReapRequest,
): Promise<string[]> {
  const store = await open(run);
  try {
    await store.reap({ worker, execution: { receipt, since } });
    const tasks = new Set<string>();
    // A day earlier: a clock may have been set back meanwhile.
    const from = new Date(Date.parse(since) - 86_400_000).toISOString();
    for await (const { task, receipt: named } of store.ledger({ since: from })) {
      if (task !== undefined && named === receipt) tasks.add(task);
    }
    return [...tasks];
  } finally {
    await store.close();
  }
}

export interface ReapRequest {
  worker: string;
  /** Absolute: the run's directory. */
  run: string;
  /** Absolute: the receipt's path. */
  receipt: string;
  /** ISO: when the execution began. */
  since: string;
}
