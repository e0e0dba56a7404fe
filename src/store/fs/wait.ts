import { existsSync, type FSWatcher, watch as watchFolder } from "node:fs";
import { isName } from "../../model/names.ts";
import { adopt } from "./adopt.ts";
import { namesIn, statIfThere } from "./atomic.ts";
import { readerFor } from "./claim.ts";
import { nextDue } from "./due.ts";
import { fileOf, idOf } from "./layout.ts";
import { promoteDependents, promoteDue } from "./promote.ts";
import type { FsRun } from "./run.ts";
import { promoteMet } from "./sweep.ts";

/**
 * Sleeping until there may be work. Woken by: a line on a lane (our enqueue), a name in pending/
 * (a foreign one), a name in done/ that somebody waits for (a foreign worker finished it), a new
 * status.json (swarm-lib says what is completed), the next due time, or at last the time-out, at
 * which the caller looks for itself.
 */
export async function waitForWork(
  run: FsRun,
  options: { timeoutMs: number; signal?: AbortSignal; types?: readonly string[] },
): Promise<boolean> {
  const types = options.types && options.types.length > 0 ? options.types : null;
  const reader = readerFor(run, types);
  const watchers: FSWatcher[] = [];
  let timer: NodeJS.Timeout | undefined;
  let onAbort: () => void = () => {};
  try {
    return await new Promise<boolean>((resolve, reject) => {
      const check = () => {
        try {
          if (hasWork(run, reader)) resolve(true);
        } catch (error) {
          reject(error);
        }
      };
      watch(watchers, run.paths.lanes, check);
      watch(watchers, run.paths.state.pending, check);
      watch(watchers, run.paths.state.done, (name) => {
        const id = name === null ? null : idOf(name);
        try {
          if (id !== null && isName(id) && existsSync(fileOf(run.paths.state.done, id))) {
            promoteDependents(run, id);
          }
        } catch (error) {
          reject(error);
        }
      });
      watch(watchers, run.paths.root, (name) => {
        if (name !== "status.json") return;
        try {
          promoteMet(run);
        } catch (error) {
          reject(error);
        }
      });
      onAbort = () => resolve(false);
      options.signal?.addEventListener("abort", onAbort);
      if (options.signal?.aborted) resolve(false);
      const due = nextDue(run);
      const untilDue = due === null ? Number.POSITIVE_INFINITY : due - run.machine.clock.now();
      const rest = Math.max(1, Math.min(options.timeoutMs, untilDue));
      timer = setTimeout(() => {
        try {
          promoteDue(run, true);
          promoteMet(run);
          resolve(hasWork(run, reader));
        } catch (error) {
          reject(error);
        }
      }, rest);
      // The watch is set: now look, so that nothing slips in between the last look and the watch.
      promoteDue(run, true);
      promoteMet(run);
      check();
    });
  } finally {
    clearTimeout(timer);
    options.signal?.removeEventListener("abort", onAbort);
    for (const watcher of watchers) watcher.close();
  }
}

function watch(list: FSWatcher[], folder: string, onEvent: (name: string | null) => void): void {
  if (!statIfThere(folder)) return;
  try {
    const watcher = watchFolder(folder, (_, name) => onEvent(name));
    watcher.on("error", () => {}); // the time-out behind it covers for a broken watch
    list.push(watcher);
  } catch {
    // No watches left on this machine (fs.inotify.max_user_watches): the time-out covers for it.
  }
}

function hasWork(run: FsRun, reader: ReturnType<typeof readerFor>): boolean {
  if (reader.peek((id) => existsSync(fileOf(run.paths.state.pending, id)))) return true;
  return namesIn(run.paths.state.pending).length > 0 && adopt(run, reader) > 0;
}
