import { type FSWatcher, statSync, watch } from "node:fs";

/** Sizes of files whose growth is progress. One that is not there has none. */
export function sizesOf(paths: readonly string[]): Record<string, number> {
  return Object.fromEntries(paths.map((path) => [path, sizeOf(path)]));
}

function sizeOf(path: string): number {
  try {
    return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  } catch {
    return 0; // who may not look sees nothing grow
  }
}

const LOOK_EVERY_MS = 2_000;

/** Calls back when one of them has another size. Returns what ends it. */
export function watchSizes(paths: readonly string[], act: () => void): () => void {
  if (paths.length === 0) return () => {};
  let last = JSON.stringify(sizesOf(paths));
  const look = () => {
    const sizes = JSON.stringify(sizesOf(paths));
    if (sizes === last) return;
    last = sizes;
    act();
  };
  const watchers = paths.flatMap((path) => watcherOf(path, look));
  const timer = setInterval(look, LOOK_EVERY_MS); // for what comes later, and for file systems that do not tell
  timer.unref();
  return () => {
    clearInterval(timer);
    for (const each of watchers) each.close();
  };
}

function watcherOf(path: string, look: () => void): FSWatcher[] {
  try {
    const watcher = watch(path, { persistent: false }, look);
    watcher.on("error", () => watcher.close());
    return [watcher];
  } catch {
    return []; // not there yet, or no more notifications: it is looked at now and then
  }
}
