import { join } from "node:path";
import type { HistoryRecord } from "../attempt.ts";
import type { Choke } from "../choke.ts";
import type { TaskSpec } from "../spec.ts";
import type { TaskState } from "../states.ts";
import type { ExtensionKey } from "../store.ts";
import type { Task } from "../task.ts";
import type { Examination } from "./doctor/doctor.ts";
import type { Places } from "./doctor/places.ts";
import type { FsRun } from "./run.ts";

/** A layout that a run may have: enough to recognise one, and to load the rest for it. */
export interface LayoutOffer {
  readonly kind: string;
  /** The end of a sentence that says how one is made. */
  howToMake(path: string): string;
  /** Folders that prove that a directory has this layout; the first holds what is pending. */
  readonly signs: readonly [pending: string, ...string[]];
  load(): Promise<Layout>;
}

/**
 * How a run lies on disk: which folder is which state, what a task's file is called there, and how
 * its text is read. layouts/run-layout.ts is swarm-lib's; others are handed to `openFsRun`.
 */
export interface Layout {
  readonly kind: string;
  /** Folders of the states, below the root. */
  readonly folders: Readonly<Record<TaskState, string>>;
  /** Where the ledger, artifacts, status.json and the quarantine are, below the root. */
  readonly record: string;
  /** Further folders that belong to it, below the root. */
  readonly others: readonly string[];
  /** Further folders below .viv/. */
  readonly derived: readonly string[];
  readonly suffix: string;
  /** Claims lie in one folder, as `<worker>.<id>`, and not in a folder of each worker. */
  readonly isFlat: boolean;
  /** Of a task that does not say how often it may be tried; undefined: once. */
  readonly maxAttempts?: number;
  /** Types that are claimed only on request. */
  readonly reservedTypes: readonly string[];
  /** How long a worker that never registered may show no sign of life. */
  readonly staleAfterSeconds: number;
  /** The id that a listed file stands for, or null when it is no task's. */
  idOf(state: TaskState, name: string): string | null;
  /** Not a task, but it may lie there. */
  isBeside(state: TaskState, name: string): boolean;
  /** Only where claims lie in one folder. */
  splitClaim(name: string): { worker: string; id: string } | null;
  /** Why it cannot be used here, beyond the rules for all names; null when it can. */
  whyNotId(id: string): string | null;
  whyNotWorker(name: string): string | null;
  /** Throws CORRUPT. */
  parse(text: string, id: string, context: { runId: string; createdAt: string }): Task;
  write(task: Task): string;
  readonly hooks?: LayoutHooks;
  /** What its store offers beyond the queue. */
  extensions?(run: FsRun): readonly Extension[];
}

export interface Extension {
  key: ExtensionKey<unknown>;
  value: unknown;
}

/** What a layout adds to transitions and checks. Every step is safe to repeat. */
export interface LayoutHooks {
  newId(run: FsRun, spec: TaskSpec): string;
  /** After a task was published, or adopted. */
  onNew(run: FsRun, task: Task): void;
  /** Before the file of a task comes to done/. Returns the undo step. */
  beforeDone(
    run: FsRun,
    id: string,
    by: { worker: string; attempt: number; token: string } | null,
  ): () => void;
  /** Before the end of an attempt that did not count is recorded. */
  beforeFailure(run: FsRun, id: string): void;
  /** Before a task that a worker choked on goes back. */
  beforeChoke(run: FsRun, task: Task, choke: Choke, history: readonly HistoryRecord[]): void;
  /** After a task came to failed/ and no person sent it there. */
  onStuck(run: FsRun, id: string): void;
  onCancelled(run: FsRun, id: string): void;
  /** A worker's claim is in no state any more. */
  onVanished(run: FsRun, id: string, worker: string): void;
  /** Has it come to failed/ since its last retry? */
  wasStuck(run: FsRun, id: string): boolean;
  onSweep(run: FsRun): Promise<void>;
  /** When a worker that never registered last did something, in ms since the epoch; 0: unknown. */
  lastActivity(run: FsRun, worker: string): number;
  /** Checks of `doctor` that only this layout needs. */
  examine(examination: Examination, places: Places): Promise<void>;
  /** A task in no state, though its link in ids/ is there. Null: that is in order. */
  vanished(run: FsRun, id: string): { repair: string; fix(): boolean } | null;
}

/**
 * Every name on disk, in one place. The top level is the contract with swarm-lib (or the snake pit)
 * and with people who use `ls`; everything below `.viv/` is derived and can be rebuilt by `viv
 * doctor --fix`.
 */
export interface Paths {
  readonly root: string;
  readonly layout: Layout;
  readonly status: string;
  readonly statusLock: string;
  readonly state: Record<TaskState, string>;
  readonly artifacts: string;
  readonly ledger: string;
  readonly quarantine: string;
  readonly viv: string;
  /** Half-written files, before they are published. */
  readonly tmp: string;
  /** One hard link per task ever enqueued by us: what makes an id unique for good. */
  readonly ids: string;
  /** `<priority>.log`: the order in which tasks became pending. */
  readonly lanes: string;
  /** How far each kind of claimer has read a lane. */
  readonly cursors: string;
  /** `<task>`: the tasks that wait for this one. */
  readonly dependents: string;
  /** `<minute>/<ms>.<task>`: which task rests until when. */
  readonly due: string;
  /** `<task>.jsonl`: ended attempts of tasks that did not succeed at once. */
  readonly attempts: string;
  /** `<worker>.json`: the process behind a long-lived worker. */
  readonly workers: string;
  /** `<task>.json`: the process tree that works on a claim. */
  readonly processes: string;
  /** Heartbeats, where workers have no folders of their own for them. */
  readonly heartbeats: string;
  /** How far the ledger has been carried over into status.json. */
  readonly projection: string;
}

export function pathsOf(root: string, layout: Layout): Paths {
  const viv = join(root, ".viv");
  const record = join(root, layout.record);
  const state = {} as Record<TaskState, string>;
  for (const [name, folder] of Object.entries(layout.folders)) {
    state[name as TaskState] = join(root, folder);
  }
  return {
    root,
    layout,
    state,
    viv,
    status: join(record, "status.json"),
    statusLock: join(record, ".status.lock"),
    artifacts: join(record, "artifacts"),
    ledger: join(record, "ledger"),
    quarantine: join(record, "quarantine"),
    tmp: join(viv, "tmp"),
    ids: join(viv, "ids"),
    lanes: join(viv, "lanes"),
    cursors: join(viv, "cursors"),
    dependents: join(viv, "dependents"),
    due: join(viv, "due"),
    attempts: join(viv, "attempts"),
    workers: join(viv, "workers"),
    processes: join(viv, "processes"),
    heartbeats: join(viv, "heartbeats"),
    projection: join(viv, "projection.json"),
  };
}

/** The folders of a run, parents first. */
export function foldersOf(paths: Paths): string[] {
  const { layout, root } = paths;
  const folders = [
    ...Object.values(layout.folders),
    ...layout.others,
    ...(layout.record === "" ? [] : [layout.record]),
  ];
  const parents = folders.filter((f) => f.includes("/")).map((f) => f.slice(0, f.indexOf("/")));
  return [
    root,
    ...[...new Set([...parents, ...folders])].map((folder) => join(root, folder)),
    paths.artifacts,
    paths.ledger,
    paths.quarantine,
    ...derivedFolders(paths),
  ];
}

/** What can be rebuilt, parents first. */
export function derivedFolders(paths: Paths): string[] {
  return [
    paths.viv,
    paths.tmp,
    paths.ids,
    paths.lanes,
    paths.cursors,
    paths.dependents,
    paths.due,
    paths.attempts,
    paths.workers,
    paths.processes,
    ...paths.layout.derived.map((folder) => join(paths.viv, folder)),
  ];
}

const HEARTBEAT = ".heartbeat";

/** A task's file in a state other than claimed. */
export function fileOf(paths: Paths, state: TaskState, id: string): string {
  return `${paths.state[state]}/${id}${paths.layout.suffix}`;
}

export function claimOf(paths: Paths, worker: string, id: string): string {
  const separator = paths.layout.isFlat ? "." : "/";
  return `${paths.state.claimed}/${worker}${separator}${id}${paths.layout.suffix}`;
}

/** The folder that a worker's claims lie in. */
export function folderOf(paths: Paths, worker: string): string {
  return paths.layout.isFlat ? paths.state.claimed : `${paths.state.claimed}/${worker}`;
}

export function heartbeatOf(paths: Paths, worker: string): string {
  return paths.layout.isFlat
    ? `${paths.heartbeats}/${worker}`
    : `${paths.state.claimed}/${worker}/${HEARTBEAT}`;
}

export function idLinkOf(paths: Paths, id: string): string {
  return `${paths.ids}/${id}${paths.layout.suffix}`;
}

export function quarantinedOf(paths: Paths, id: string): string {
  return `${paths.quarantine}/${id}${paths.layout.suffix}`;
}

/** The id of a name in ids/. */
export function idOfLink(paths: Paths, name: string): string | null {
  return withoutSuffix(name, paths.layout.suffix);
}

/** The id, or worker, that a note of ours below .viv/ is about. */
export function idOfNote(name: string): string | null {
  return withoutSuffix(name, ".json");
}

/** Null for hidden names: those are no tasks. */
export function withoutSuffix(name: string, suffix: string): string | null {
  if (!name.endsWith(suffix) || name.startsWith(".")) return null;
  return name.slice(0, -suffix.length);
}

/** As people know it: its path below the run. */
export function below(paths: Paths, path: string): string {
  return path.slice(paths.root.length + 1);
}
