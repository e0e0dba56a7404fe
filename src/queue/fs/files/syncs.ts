import { closeSync, constants, fsync } from "node:fs";
import { promisify } from "node:util";
import { openSync } from "../../../platform/files/beneath.ts";

/**
 * Syncs in the background, shared: a call during a sync gets the next one, together with all calls
 * until then. It begins after everything their callers have written.
 */
export class Syncs {
  readonly #running = new Map<string, Promise<void>>();
  readonly #next = new Map<string, Promise<void>>();
  readonly #sync: (path: string) => Promise<void>;

  constructor(sync = syncAt) {
    this.#sync = sync;
  }

  /** Of a file or a folder. */
  of(path: string): Promise<void> {
    const running = this.#running.get(path);
    if (running === undefined) return this.#begin(path);
    const begin = () => this.#begin(path);
    const next = this.#next.get(path) ?? running.then(begin, begin);
    this.#next.set(path, next);
    return next;
  }

  #begin(path: string): Promise<void> {
    this.#next.delete(path);
    const running = this.#sync(path).finally(() => {
      if (this.#running.get(path) === running) this.#running.delete(path);
    });
    this.#running.set(path, running);
    return running;
  }
}

async function syncAt(path: string): Promise<void> {
  const fd = openSync(path, constants.O_RDONLY);
  try {
    await promisify(fsync)(fd);
  } finally {
    closeSync(fd);
  }
}
