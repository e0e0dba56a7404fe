import type { Port } from "../operation/operation.ts";
import { runIndexPort } from "../overview/page/index-port.ts";
import { RunIndex } from "../overview/page/run-index.ts";
import { giveBackMemory, keepHeapSmall } from "../platform/processes/give-back-memory.ts";
import type { Store } from "../queue/store.ts";
import type { Provide } from "./invoke.ts";

/**
 * Stores of a server with an index that follows the run until the store is closed. It lists the run at
 * once, so that the first page is there in a moment, and reads it with the first request: a server that
 * nobody looks at needs no titles. Other callers read the run once for each answer.
 */
export function followedRuns(provide: Provide) {
  const indexes = new WeakMap<Store, RunIndex>();
  keepHeapSmall();

  /** The index ends with the store. */
  const follow = (store: Store): Store => {
    const followed: Store = {
      ...store,
      close: async (options) => {
        indexes.get(followed)?.stop();
        await store.close(options);
      },
    };
    indexIn(followed);
    return followed;
  };

  const indexIn = (store: Store): RunIndex => {
    const known = indexes.get(store);
    if (known !== undefined) return known;
    const index = new RunIndex(store);
    indexes.set(store, index);
    index.start(() => drop(store, index));
    return index;
  };

  /** A watch or a reading that has failed is begun anew with the next request. */
  const drop = (store: Store, index: RunIndex) => {
    index.stop();
    if (indexes.get(store) === index) indexes.delete(store);
  };

  const readIndex = (store: Store): RunIndex => {
    const index = indexIn(store);
    if (index.isBegun) return index;
    index.complete().then(giveBackMemory, () => drop(store, index));
    return index;
  };

  /** `kept`: the store that stays open after the request, whose copy `store` is. */
  const provideFor =
    (kept: Store | null): Provide =>
    async <T>(port: Port<T>, store: Store | null): Promise<T> =>
      kept !== null && port.name === runIndexPort.name
        ? (readIndex(kept) as T)
        : provide(port, store);

  return { follow, provideFor };
}
