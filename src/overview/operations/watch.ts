import type { OpContext } from "../../operation/op.ts";
import type { Change, Counts } from "../../queue/store.ts";

/** Changes as they happen, until the signal. A stream, so not an Op like the others. */
export function watchChanges({ store }: OpContext, signal: AbortSignal): AsyncIterable<Change> {
  return store.watch({ signal });
}

export function currentCounts({ store }: OpContext): Promise<Counts> {
  return store.counts();
}
