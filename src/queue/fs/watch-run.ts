import { isName } from "../../base/names.ts";
import { watchPaths } from "../../platform/files/watch.ts";
import { TASK_STATES, type TaskState } from "../states.ts";
import type { Change, WatchOptions } from "../store.ts";
import { claimWorkers, findClaim } from "./claims/claimed.ts";
import { isCancelled } from "./ends/cancelled.ts";
import { failedWith, namesIn, statIfThere } from "./files/atomic.ts";
import { type FsRun, nowIso } from "./fs-run.ts";
import { fileOf, folderOf, type Paths } from "./layout.ts";
import { RunLedgerFollower } from "./record/ledger-files.ts";

/**
 * A stream of changes. Notifications of the filesystem name the tasks to look at. Behind them, a
 * timer compares folders with their last listing, so that a lost notification (the kernel drops
 * them when its queue is full) costs seconds. The cost grows with the changes, not with the tasks: a
 * folder is listed only when it has changed, rarely if its notifications arrive, and done/ never,
 * because its tasks are missed where they came from.
 *
 * One watch serves all subscribers of a store.
 */
export async function* watchRun(run: FsRun, options: WatchOptions): AsyncGenerator<Change> {
  const { signal, rescanMs = RESCAN_MS } = options;
  const watch = watches.get(run) ?? new RunWatch(run);
  watches.set(run, watch);
  const subscriber = new Subscriber();
  const onAbort = () => subscriber.wake();
  signal?.addEventListener("abort", onAbort);
  try {
    watch.join(subscriber, rescanMs);
    while (!signal?.aborted) {
      yield* subscriber.take();
      if (!signal?.aborted) await subscriber.next();
    }
    // Changes before the signal are reported.
    await watch.catchUp();
    yield* subscriber.take();
  } finally {
    signal?.removeEventListener("abort", onAbort);
    watch.leave(subscriber);
  }
}

const RESCAN_MS = 2_000;
/** So many changes a reader may be behind. */
export const MOST_QUEUED = 10_000;
/** Done tasks with notifications that may still be under way. */
const MOST_FINISHED = 10_000;
/** Changes of a folder within one tick of the filesystem's clock leave one time. */
const TICK_MS = 50;

const watches = new WeakMap<FsRun, RunWatch>();

class Subscriber {
  #queue: Change[] = [];
  #missed: Extract<Change, { kind: "missed" }> | null = null;
  wake: () => void = () => {};

  push(change: Change): void {
    if (this.#queue.length >= MOST_QUEUED) {
      const times = [...this.#queue.map(timeOf), this.#missed?.since ?? timeOf(change)];
      const since = times.reduce((a, b) => (a < b ? a : b));
      const count = (this.#missed?.count ?? 0) + this.#queue.length;
      this.#missed = { kind: "missed", count, since };
      this.#queue = [];
    }
    this.#queue.push(change);
    this.wake();
  }

  *take(): Generator<Change> {
    while (this.#queue.length > 0) {
      const [missed, changes] = [this.#missed, this.#queue];
      this.#missed = null;
      this.#queue = [];
      if (missed) yield missed;
      yield* changes;
    }
  }

  next(): Promise<void> {
    return new Promise((resolve) => {
      this.wake = resolve;
      if (this.#queue.length > 0) resolve();
    });
  }
}

function timeOf(change: Change): string {
  if (change.kind === "ledger") return change.line.at;
  return change.kind === "task" ? change.at : change.since;
}

/** One object for each place: a hundred thousand tasks wait in one and the same. */
interface Place {
  state: TaskState;
  worker?: string;
  /** Of a worker: its tasks. */
  ids?: Set<string>;
}

/** A folder of tasks, as it was last seen. */
interface Watched {
  state: TaskState;
  ino: number;
  stop: () => void;
  /** Its change time at the last listing; null: another listing is due. */
  changed: number | null;
  listedAt: number;
  cost: number;
  /** Whether a notification has come since the last listing. */
  isNotified: boolean;
}

class RunWatch {
  readonly #run: FsRun;
  readonly #subscribers = new Map<Subscriber, number>();
  /** Where each task is that is not done. */
  readonly #known = new Map<string, Place>();
  readonly #finished = new Set<string>();
  readonly #places = new Map<string, Place>();
  readonly #folders = new Map<string, Watched>();
  readonly #stops: (() => void)[] = [];
  /** Tasks to look at, with the state of the folder that named them last. */
  readonly #suspects = new Map<string, TaskState>();
  readonly #ledger: RunLedgerFollower;
  #isLedgerNews = false;
  #soon: NodeJS.Immediate | undefined;
  #timer: NodeJS.Timeout | undefined;
  #rescanning: Promise<void> | null = null;

  constructor(run: FsRun) {
    this.#run = run;
    this.#ledger = new RunLedgerFollower(run.paths.ledger);
  }

  join(subscriber: Subscriber, rescanMs: number): void {
    const isFirst = this.#subscribers.size === 0;
    this.#subscribers.set(subscriber, rescanMs);
    if (isFirst) this.#start();
    this.#restartTimer();
  }

  leave(subscriber: Subscriber): void {
    this.#subscribers.delete(subscriber);
    this.#restartTimer();
    if (this.#subscribers.size > 0) return;
    for (const { stop } of this.#folders.values()) stop();
    for (const stop of this.#stops) stop();
    if (this.#soon) clearImmediate(this.#soon);
    watches.delete(this.#run);
  }

  /** Reports all changes until now. */
  async catchUp(): Promise<void> {
    await this.#rescanning;
    await this.#rescan(true);
  }

  #restartTimer(): void {
    clearInterval(this.#timer);
    if (this.#subscribers.size === 0) return;
    const rescanMs = Math.min(...this.#subscribers.values());
    this.#timer = setInterval(() => {
      this.#rescanning ??= this.#tryRescan();
    }, rescanMs);
  }

  async #tryRescan(): Promise<void> {
    await this.#rescan(false).catch(() => {}); // the next one comes
    this.#rescanning = null;
  }

  #start(): void {
    const { paths } = this.#run;
    const { isFlat } = paths.layout;
    this.#ledger.skipPast(); // a watch reports changes from now on
    for (const state of TASK_STATES) {
      if (state !== "claimed" || isFlat) this.#follow(paths.state[state], state);
    }
    const onWorkers = () => {
      try {
        this.#followWorkers();
      } catch {
        // The next rescan tries again.
      }
    };
    const onLedger = () => {
      this.#isLedgerNews = true;
      this.#lookSoon();
    };
    if (!isFlat) this.#stops.push(watchPaths([paths.state.claimed], onWorkers));
    this.#stops.push(watchPaths([paths.ledger], onLedger));
    this.#followWorkers();
    // After the watch is set, so that no change falls between it and the listing.
    for (const [folder, { state }] of this.#folders) {
      if (state === "done") continue;
      for (const { id, worker } of tasksIn(paths, state, folder, namesIn(folder))) {
        this.#settle(id, this.#place(state, worker));
      }
    }
  }

  #follow(folder: string, state: TaskState): void {
    if (this.#folders.has(folder)) return;
    const ino = statIfThere(folder)?.ino ?? 0;
    const stop = watchPaths([folder], (name) => {
      watched.isNotified = true;
      const [task] = tasksIn(this.#run.paths, state, folder, name === null ? [] : [name]);
      if (task) this.#suspects.set(task.id, state);
      this.#lookSoon();
    });
    const unseen = { changed: null, listedAt: 0, cost: 0, isNotified: false };
    const watched: Watched = { state, ino, stop, ...unseen };
    this.#folders.set(folder, watched);
  }

  #followWorkers(): void {
    const { paths } = this.#run;
    if (paths.layout.isFlat) return;
    for (const worker of claimWorkers(paths)) {
      if (isName(worker)) this.#follow(folderOf(paths, worker), "claimed");
    }
  }

  #lookSoon(): void {
    this.#soon ??= setImmediate(() => {
      this.#soon = undefined;
      try {
        this.#look();
      } catch {
        // A folder cannot be read just now: the rescan looks again.
      }
    });
  }

  /** After an error, the rest stays to be looked at. */
  #look(): void {
    for (const [id, hint] of [...this.#suspects]) {
      this.#lookAt(id, hint);
      this.#suspects.delete(id);
    }
    if (!this.#isLedgerNews) return;
    this.#isLedgerNews = false;
    for (const { line } of this.#ledger.lines((text) => /"(step|usage)"/.test(text))) {
      if (line.event === "step" || line.event === "usage") this.#emit({ kind: "ledger", line });
    }
  }

  #lookAt(id: string, hint: TaskState): void {
    const found = whereIs(this.#run, id, hint);
    const now = found && this.#place(found.state, found.worker);
    const before = this.#known.get(id) ?? (this.#wasDone(id, hint) ? this.#place("done") : null);
    if (now === before) return;
    this.#settle(id, now);
    const [from, to, at] = [before?.state ?? null, now?.state ?? null, nowIso(this.#run)];
    const cancelled = (to === "failed" && isCancelled(this.#run, id)) || undefined;
    this.#emit({ kind: "task", id, from, to, worker: now?.worker, at, cancelled });
  }

  /** Done tasks are not remembered for long: one that leaves done/ is known by its notification. */
  #wasDone(id: string, hint: TaskState): boolean {
    if (this.#finished.has(id)) return true;
    return hint === "done" && statIfThere(fileOf(this.#run.paths, "done", id)) === undefined;
  }

  #settle(id: string, place: Place | null): void {
    this.#known.get(id)?.ids?.delete(id);
    this.#known.delete(id);
    this.#finished.delete(id);
    if (place === null) return;
    if (place.state !== "done") {
      this.#known.set(id, place);
      place.ids?.add(id);
      return;
    }
    this.#finished.add(id);
    const [oldest] = this.#finished;
    if (this.#finished.size > MOST_FINISHED && oldest) this.#finished.delete(oldest);
  }

  #place(state: TaskState, worker?: string): Place {
    const key = worker === undefined ? state : `${state}/${worker}`;
    let place = this.#places.get(key);
    if (place === undefined) {
      place = worker === undefined ? { state } : { state, worker, ids: new Set() };
      this.#places.set(key, place);
    }
    return place;
  }

  #emit(change: Change): void {
    for (const subscriber of this.#subscribers.keys()) subscriber.push(change);
  }

  /** `all`: also folders that were listed a moment ago. */
  async #rescan(all: boolean): Promise<void> {
    this.#isLedgerNews = true;
    this.#dropLost();
    this.#followWorkers();
    for (const [folder, watched] of [...this.#folders]) {
      const changed = statIfThere(folder)?.mtimeMs ?? 0;
      if (watched.state === "done" || changed === watched.changed) continue;
      const begin = performance.now();
      const isTooSoon = watched.isNotified && begin < watched.listedAt + 100 * watched.cost;
      if (isTooSoon && !all) continue;
      const names = await namesLater(folder);
      watched.changed = Math.abs(Date.now() - changed) > TICK_MS ? changed : null;
      watched.listedAt = performance.now();
      watched.cost = watched.listedAt - begin;
      watched.isNotified = false;
      this.#compare(watched.state, folder, names);
    }
    this.#look();
  }

  /** Folders that were removed, or made anew, have no notifications any more. */
  #dropLost(): void {
    const { paths } = this.#run;
    for (const [folder, { state, ino, stop }] of [...this.#folders]) {
      if (statIfThere(folder)?.ino === ino) continue;
      stop();
      this.#folders.delete(folder);
      if (folder === paths.state[state]) this.#follow(folder, state);
      else this.#compare(state, folder, []);
    }
  }

  #compare(state: TaskState, folder: string, names: readonly string[]): void {
    const { paths } = this.#run;
    const seen = new Set<string>();
    for (const { id, worker } of tasksIn(paths, state, folder, names)) {
      seen.add(id);
      if (this.#known.get(id) !== this.#place(state, worker)) this.#suspects.set(id, state);
    }
    const ofWorker = state === "claimed" && !paths.layout.isFlat;
    const before = ofWorker
      ? (this.#place(state, workerOf(folder)).ids ?? [])
      : [...this.#known].flatMap(([id, place]) => (place.state === state ? [id] : []));
    for (const id of before) if (!seen.has(id)) this.#suspects.set(id, state);
  }
}

async function namesLater(folder: string): Promise<string[]> {
  try {
    const { readdir } = process.getBuiltinModule("node:fs/promises"); // slow to load
    return await readdir(folder);
  } catch (error) {
    if (failedWith(error, "ENOENT", "ENOTDIR")) return [];
    throw error;
  }
}

function workerOf(folder: string): string {
  return folder.slice(folder.lastIndexOf("/") + 1);
}

function* tasksIn(
  { layout }: Paths,
  state: TaskState,
  folder: string,
  names: readonly string[],
): Generator<{ id: string; worker?: string }> {
  const isClaimed = state === "claimed";
  for (const name of names) {
    if (isClaimed && layout.isFlat) {
      const claim = layout.splitClaim(name);
      if (isName(claim?.id) && isName(claim.worker)) yield claim;
      continue;
    }
    const id = layout.idOf(state, name);
    if (isName(id)) yield isClaimed ? { id, worker: workerOf(folder) } : { id };
  }
}

/** `hint`: where it probably is. */
function whereIs(run: FsRun, id: string, hint: TaskState): Place | null {
  if (hint !== "claimed" && statIfThere(fileOf(run.paths, hint, id))) return { state: hint };
  // Forward order, twice: a task that moves meanwhile is found the second time.
  for (const state of [...TASK_STATES, ...TASK_STATES]) {
    if (state !== "claimed") {
      if (statIfThere(fileOf(run.paths, state, id))) return { state };
      continue;
    }
    const claim = findClaim(run.paths, id);
    if (isName(claim?.worker)) return { state, worker: claim.worker };
  }
  return null;
}
