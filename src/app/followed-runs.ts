import type { Port } from "../operation/operation.ts";
import { runIndexPort } from "../overview/page/index-port.ts";
import { RunIndex } from "../overview/page/run-index.ts";
import type { Store } from "../queue/store.ts";
import type { Provide } from "./invoke.ts";

/**
 * Stores of a server with an index that follows the run from the first request for it until the store is
 * closed; other callers read the run once for each answer.
 */
export function followedRuns(provide: Provide) {
  const indexes = new WeakMap<Store, RunIndex>();

  /** The index ends with the store. */
  const follow = (store: Store): Store => {
    const followed: Store = {
      ...store,
      close: async (options) => {
        indexes.get(followed)?.stop();
        await store.close(options);
      },
    };
    return followed;
  };

  const indexOf = (store: Store): RunIndex => {
    const known = indexes.get(store);
    if (known !== undefined) return known;
    const index = new RunIndex(store);
    indexes.set(store, index);
    // A watch that has ended is begun anew with the next request.
    index.start(() => void indexes.delete(store));
    return index;
  };

  /** `kept`: the store that stays open after the request, whose copy `store` is. */
  const provideFor =
    (kept: Store | null): Provide =>
    async <T>(port: Port<T>, store: Store | null): Promise<T> =>
      kept !== null && port.name === runIndexPort.name
        ? (indexOf(kept) as T)
        : provide(port, store);

  return { follow, provideFor };
}
