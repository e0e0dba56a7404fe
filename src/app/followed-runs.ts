import { setImmediate as turn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import type { Port } from "../operation/operation.ts";
import { runIndexPort } from "../overview/page/index-port.ts";
import { RunIndex } from "../overview/page/run-index.ts";
import type { Store } from "../queue/store.ts";
import type { Provide } from "./invoke.ts";

/**
 * A heap of 100,000 tasks would grow to twice its size before it is cleaned, and stay so. Not from the
 * start: a small one is cleaned often then, and the first page waits for it. While it fills, 10 percent
 * cost 11.6 s of CPU time for the reading of 100,000 tasks, 30 percent 7 s.
 */
const GROWS_BY = { listed: 30, complete: 10 };

function growHeapSlowly(percent: number): void {
  setFlagsFromString(`--heap-growing-percent=${percent}`);
}

/**
 * Stores of a server with an index that follows the run until the store is closed. It lists the run at
 * once, so that the first page is there in a moment, and reads it with the first request: a server without
 * a page open needs no titles. Other callers read the run once for each answer.
 */
export function followedRuns(provide: Provide) {
  const indexes = new WeakMap<Store, RunIndex>();
  /** The index itself reads these, and waits for nothing. */
  const sources = new WeakMap<Store, Store>();

  /**
   * The index ends with the store. Other readings of the whole run come after its own: a page waits for
   * its first cards, and a report can wait.
   */
  const follow = (store: Store): Store => {
    const indexed = async () => {
      const index = indexIn(followed, store);
      await index.listed().catch(() => {}); // an answer that needs the index has the error
      if (index.isBegun) await index.complete().catch(() => {});
    };
    const followed: Store = {
      ...store,
      async counts() {
        // A stream of events counts as well, and begins when a page asks for its first cards.
        await indexIn(followed, store)
          .listed()
          .catch(() => {});
        await turn();
        return store.counts();
      },
      async *list(query) {
        if (query?.unopened) await indexed();
        yield* store.list(query);
      },
      async *ledger(query) {
        if (query?.task === undefined) await indexed();
        yield* store.ledger(query);
      },
      close: async (options) => {
        indexes.get(followed)?.stop();
        await store.close(options);
      },
    };
    sources.set(followed, store);
    indexIn(followed, store);
    return followed;
  };

  const indexIn = (followed: Store, store: Store): RunIndex => {
    const known = indexes.get(followed);
    if (known !== undefined) return known;
    const index = new RunIndex(store);
    indexes.set(followed, index);
    index.start(() => drop(followed, index));
    index.listed().then(
      () => growHeapSlowly(GROWS_BY.listed),
      () => {}, // an answer that needs the index has the error
    );
    return index;
  };

  /** A watch or a reading that has failed is begun anew with the next request. */
  const drop = (store: Store, index: RunIndex) => {
    index.stop();
    if (indexes.get(store) === index) indexes.delete(store);
  };

  const readIndex = (store: Store): RunIndex => {
    const index = indexIn(store, sources.get(store) ?? store);
    if (index.isBegun) return index;
    index.complete().then(
      () => growHeapSlowly(GROWS_BY.complete),
      () => drop(store, index),
    );
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
