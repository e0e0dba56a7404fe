import { type FSWatcher, mkdirSync, statSync, watch } from "node:fs";

export interface WatchOptions {
  /** Also calls back at this interval, for changes without a notification. Default: never. */
  rescanMs?: number;
  /** Waits so long after a change, so that a burst of them is one call. */
  settleMs?: number;
  /** Then watching does not keep the process alive. */
  isBackground?: boolean;
  /** A path cannot be watched, or no longer. */
  onLost?: () => void;
}

/**
 * Calls back when a file has changed, or the names in a folder; with the name if the system gives it.
 * Returns what ends that. Only a hint: there are no notifications for a path that comes later, on
 * network file systems, and when the machine has no watches left.
 */
export function watchPaths(
  paths: readonly string[],
  act: (name: string | null) => void,
  { rescanMs, settleMs = 0, isBackground = false, onLost = () => {} }: WatchOptions = {},
): () => void {
  let settling: NodeJS.Timeout | undefined;
  const notice = (name: string | null) => {
    if (settleMs === 0) return act(name);
    settling ??= setTimeout(() => {
      settling = undefined;
      act(null);
    }, settleMs);
  };
  const watchers = paths.flatMap((path): FSWatcher[] => {
    try {
      const watcher = watch(path, { persistent: !isBackground }, (_, name) => notice(name));
      watcher.on("error", () => {
        watcher.close();
        onLost();
      });
      return [watcher];
    } catch {
      onLost();
      return [];
    }
  });
  const rescan = rescanMs === undefined ? undefined : setInterval(() => act(null), rescanMs);
  if (isBackground) rescan?.unref();
  return () => {
    clearTimeout(settling);
    clearInterval(rescan);
    for (const watcher of watchers) watcher.close();
  };
}

/** Soon enough for people, and seldom enough for a burst of changes. */
const SETTLE_MS = 50;

/** As `watchPaths`; folders that are missing are made. */
export function watchFolders(folders: readonly string[], act: () => void): () => void {
  for (const folder of folders) {
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
    } catch {
      // then it cannot be watched either
    }
  }
  return watchPaths(folders, act, { settleMs: SETTLE_MS });
}

const RESCAN_MS = 2_000;

/** Calls back when one of these files has another size, in the background. */
export function watchSizes(paths: readonly string[], act: () => void): () => void {
  if (paths.length === 0) return () => {};
  let last = JSON.stringify(sizesOf(paths));
  const look = () => {
    const sizes = JSON.stringify(sizesOf(paths));
    if (sizes === last) return;
    last = sizes;
    act();
  };
  return watchPaths(paths, look, { rescanMs: RESCAN_MS, isBackground: true });
}

/** A file that is not there, or may not be looked at, has the size 0. */
export function sizesOf(paths: readonly string[]): Record<string, number> {
  return Object.fromEntries(paths.map((path) => [path, sizeOf(path)]));
}

function sizeOf(path: string): number {
  try {
    return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  } catch {
    return 0;
  }
}

/** Another text when the file was changed, or came, or went. */
export function stampOf(path: string): string {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats ? `${stats.ino}.${stats.mtimeMs}.${stats.size}` : "-";
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code); // when that changes, it may be readable
  }
}
