import { type FSWatcher, mkdirSync, statSync, watch } from "node:fs";

/** Another text when the file was changed, or came, or went. */
export function stampOf(path: string): string {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats ? `${stats.ino}.${stats.mtimeMs}.${stats.size}` : "-";
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code); // who may not look sees when that changes
  }
}

/** Soon enough for people, and seldom enough for a burst of changes. */
const SETTLES_MS = 50;

/**
 * Calls back when something in one of these folders has changed. Only a hint: where there are no
 * notifications (or no more of them), whoever listens must look for itself now and then.
 */
export function watchFolders(folders: readonly string[], act: () => void): () => void {
  const watchers: FSWatcher[] = [];
  let timer: NodeJS.Timeout | undefined;
  const ring = () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      act();
    }, SETTLES_MS);
  };
  for (const folder of folders) {
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const watcher = watch(folder, ring);
      watcher.on("error", () => watcher.close());
      watchers.push(watcher);
    } catch {
      // see above
    }
  }
  return () => {
    clearTimeout(timer);
    for (const watcher of watchers) watcher.close();
  };
}
