import { chokedWorkers } from "../queue/choke.ts";
import type { LedgerLine } from "../queue/ledger.ts";
import type { Store } from "../queue/store.ts";

/**
 * The tasks that went to failed/ since then and still are there, by whichever worker. A cancel by a person
 * is no failure; a task whose dependency failed, and one that no worker is left for, are.
 */
export async function failedSince(store: Store, since: string): Promise<string[]> {
  const moves = new Map<string, LedgerLine>();
  for await (const line of store.ledger({ since })) {
    if (line.task !== undefined && line.to === "failed") moves.set(line.task, line);
  }
  const failed: string[] = [];
  for (const [id, { event, outcome, note = "" }] of moves) {
    const view = await store.show(id);
    if (view?.state !== "failed") continue; // retried, or the line had no effect
    const isCancelled = event === "cancelled" || outcome === "cancelled";
    const isOfWorker = chokedWorkers(view.history).size > 0 || note.startsWith("its dependency ");
    if (!isCancelled || isOfWorker) failed.push(id);
  }
  return failed;
}
