import { type FSWatcher, watch as watchFolder } from "node:fs";
import { isName } from "../../base/names.ts";
import { TASK_STATES, type TaskState } from "../states.ts";
import type { Change } from "../store.ts";
import { namesIn, statIfThere } from "./atomic.ts";
import { claimedTasks, claimWorkers, findClaim } from "./claimed.ts";
import { fileOf, folderOf } from "./layout.ts";
import { LedgerFollower } from "./ledger.ts";
import { type FsRun, nowIso } from "./run.ts";

/**
 * A stream of changes. Notifications of the filesystem say which names to look at; a rescan every
 * few seconds compares all folders with what was last reported, so that a notification that got
 * lost (the kernel drops them when its queue is full) costs seconds, not for ever.
 */
interface Where {
  state: TaskState;
  worker?: string;
}

export async function* watchRun(
  run: FsRun,
  options: { signal?: AbortSignal; rescanMs?: number },
): AsyncGenerator<Change> {
  const known = new Map<string, Where>();
  const queue: Change[] = [];
  let ring: () => void = () => {};
  const watchers = new Map<string, FSWatcher>();
  const suspects = new Set<string>();

  const look = (id: string) => {
    const now = whereIs(run, id);
    const before = known.get(id);
    if (now?.state === before?.state && now?.worker === before?.worker) return;
    if (now) known.set(id, now);
    else known.delete(id);
    queue.push({
      kind: "task",
      id,
      from: before?.state ?? null,
      to: now?.state ?? null,
      ...(now?.worker ? { worker: now.worker } : {}),
      at: nowIso(run),
    });
  };
  const { layout } = run.paths;
  const onName = (state: TaskState) => (name: string | null) => {
    const isClaim = layout.isFlat && state === "claimed";
    const id = isClaim ? layout.splitClaim(name ?? "")?.id : layout.idOf(state, name ?? "");
    if (isName(id)) suspects.add(id);
    ring();
  };
  const follow = (folder: string, onEvent: (name: string | null) => void) => {
    if (watchers.has(folder)) return;
    try {
      const watcher = watchFolder(folder, (_, name) => onEvent(name));
      // A folder that disappears ends its own watcher; the rescan sees what became of its tasks.
      watcher.on("error", () => watchers.delete(folder));
      watchers.set(folder, watcher);
    } catch {
      watchers.delete(folder); // out of watches or already gone: the rescan covers for it
    }
  };
  const ledger = new LedgerFollower(run.paths.ledger);
  ledger.skipPast(); // a watch tells what happens from now on
  let isLedgerNews = false;
  const readSteps = () => {
    isLedgerNews = false;
    for (const { line } of ledger.lines()) {
      if (line.event === "step" || line.event === "usage") queue.push({ kind: "ledger", line });
    }
  };
  const followWorkers = () => {
    if (layout.isFlat) return;
    for (const worker of claimWorkers(run.paths)) {
      if (isName(worker)) follow(folderOf(run.paths, worker), onName("claimed"));
    }
  };
  const rescan = () => {
    followWorkers();
    const seen = snapshot(run);
    for (const id of seen.keys()) if (!same(seen.get(id), known.get(id))) look(id);
    for (const id of [...known.keys()]) if (!seen.has(id)) look(id);
  };

  for (const [id, where] of snapshot(run)) known.set(id, where);
  for (const state of TASK_STATES) {
    if (layout.isFlat || state !== "claimed") follow(run.paths.state[state], onName(state));
  }
  follow(run.paths.state.claimed, () => {
    followWorkers();
    ring();
  });
  follow(run.paths.ledger, () => {
    isLedgerNews = true;
    ring();
  });
  followWorkers();
  // What moved between the snapshot and the first notification.
  rescan();
  const timer = setInterval(() => {
    isLedgerNews = true;
    rescan();
    ring();
  }, options.rescanMs ?? 2_000);
  const onAbort = () => ring();
  options.signal?.addEventListener("abort", onAbort);
  try {
    while (!options.signal?.aborted) {
      for (const id of suspects) look(id);
      suspects.clear();
      if (isLedgerNews) readSteps();
      if (queue.length > 0) {
        yield* queue.splice(0);
        continue;
      }
      await new Promise<void>((resolve) => {
        ring = resolve;
        if (options.signal?.aborted || suspects.size > 0 || queue.length > 0 || isLedgerNews)
          resolve();
      });
    }
    // What has happened until the signal is told, whoever sent it.
    rescan();
    for (const id of suspects) look(id);
    readSteps();
    yield* queue.splice(0);
  } finally {
    clearInterval(timer);
    options.signal?.removeEventListener("abort", onAbort);
    for (const watcher of watchers.values()) watcher.close();
  }
}

function same(a: Where | undefined, b: Where | undefined): boolean {
  return a?.state === b?.state && a?.worker === b?.worker;
}

function whereIs(run: FsRun, id: string): Where | null {
  // Forward order, twice: a task that moves while we look is met the second time.
  for (let round = 0; round < 2; round++) {
    for (const state of TASK_STATES) {
      if (state !== "claimed") {
        if (statIfThere(fileOf(run.paths, state, id))) return { state };
        continue;
      }
      const claim = findClaim(run.paths, id);
      if (isName(claim?.worker)) return { state, worker: claim.worker };
    }
  }
  return null;
}

function snapshot(run: FsRun): Map<string, Where> {
  const seen = new Map<string, Where>();
  for (const state of TASK_STATES) {
    if (state === "claimed") {
      for (const { id, worker } of claimedTasks(run.paths)) {
        if (isName(id) && isName(worker)) seen.set(id, { state, worker });
      }
      continue;
    }
    for (const name of namesIn(run.paths.state[state])) {
      const id = run.paths.layout.idOf(state, name);
      if (isName(id)) seen.set(id, { state });
    }
  }
  return seen;
}
