import { join } from "node:path";
import { canonicalJson } from "../../base/json.ts";
import type { HistoryRecord } from "../attempt.ts";
import type { Choke } from "../choke.ts";
import type { TaskSpec } from "../spec.ts";
import { TASK_STATES, type TaskState } from "../states.ts";
import type { ExtensionKey } from "../store.ts";
import { parseTask, type Task } from "../task.ts";
import type { Examination } from "./doctor/examination.ts";
import type { Places } from "./doctor/places.ts";
import type { FsRun } from "./fs-run.ts";

/** A layout that a run may have: enough to recognise one, and to load the rest for it. */
export interface LayoutOffer {
  readonly kind: string;
  /** The end of a sentence: how to create one. */
  howToMake(path: string): string;
  /** Folders that prove that a directory has this layout; the first is that of pending tasks. */
  readonly signs: readonly [pending: string, ...string[]];
  load(): Promise<Layout>;
}

/**
 * How a run lies on disk: the folder of each state, the name of a task's file there, and how its
 * text is read. RUN_LAYOUT is swarm-lib's; others are passed to `openFsRun`.
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
  /** Of a task without a max_attempts of its own; undefined: 1. */
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
  /** Offers of its store beyond the queue. */
  extensions?(run: FsRun): readonly Extension[];
}

/** swarm-lib's layout: JSON, a folder for each state and for each worker. */
export const RUN_LAYOUT: Layout = {
  kind: "run",
  folders: {
    waiting: "waiting",
    pending: "pending",
    claimed: "claimed",
    review: "review",
    done: "done",
    failed: "failed",
  },
  record: "",
  others: [],
  derived: [],
  suffix: ".json",
  isFlat: false,
  reservedTypes: [],
  staleAfterSeconds: 300,
  idOf: (_, name) => withoutSuffix(name, ".json"),
  isBeside: () => false,
  splitClaim: () => null,
  whyNotId: () => null,
  whyNotWorker: () => null,
  parse: parseTask,
  write: canonicalJson,
};

export const RUN_OFFER: LayoutOffer = {
  kind: RUN_LAYOUT.kind,
  howToMake: (path) => `create it with: viv enqueue --run ${path} --type TYPE`,
  signs: ["pending"],
  load: async () => RUN_LAYOUT,
};

export interface Extension {
  key: ExtensionKey<unknown>;
  value: unknown;
}

/** The layout's part in transitions and checks. Every step is safe to repeat. */
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
  /** The worker whose attempt this claim is, if another process holds it to prove the result. */
  creditOf(run: FsRun, claim: { id: string; worker: string }): string | null;
  /** Is its work done, and waits for its proof? Then no worker takes it. */
  waitsForProof(run: FsRun, id: string): boolean;
  /** A claim of a process that is gone and was only there to prove a result: true if it was undone. */
  giveBackProof(run: FsRun, claim: { id: string; worker: string; path: string }): boolean;
  /** Tasks that count as done though their file is in no state; `path` has what is known. */
  doneByHand(run: FsRun): readonly { id: string; path: string; why: string }[];
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
 * and with users of `ls`; everything below `.viv/` is derived and can be rebuilt by `viv
 * doctor --fix`.
 */
export type Paths = Readonly<ReturnType<typeof pathsOf>>;

export function pathsOf(root: string, layout: Layout) {
  const viv = join(root, ".viv");
  const record = join(root, layout.record);
  const state = {} as Record<TaskState, string>;
  for (const one of TASK_STATES) state[one] = join(root, layout.folders[one]);
  return {
    root,
    layout,
    state,
    viv,
    status: join(record, "status.json"),
    statusLock: join(record, ".status.lock"),
    /** While it is there, no task is claimed. */
    paused: join(record, "paused.json"),
    artifacts: join(record, "artifacts"),
    ledger: join(record, "ledger"),
    quarantine: join(record, "quarantine"),
    /** Half-written files, before they are published. */
    tmp: join(viv, "tmp"),
    /** One hard link per task ever enqueued by us: it makes an id unique for good. */
    ids: join(viv, "ids"),
    /** `<priority>.log`: the order in which tasks became pending. */
    lanes: join(viv, "lanes"),
    /** How far each kind of claimer has read a lane. */
    cursors: join(viv, "cursors"),
    /** `<task>`: the tasks that wait for this one. */
    dependents: join(viv, "dependents"),
    /** `<minute>/<ms>.<task>`: the tasks that rest until a time. */
    due: join(viv, "due"),
    /** `<task>.jsonl`: ended attempts of tasks that did not succeed at once. */
    attempts: join(viv, "attempts"),
    /** `<worker>.json`: the process behind a long-lived worker. */
    workers: join(viv, "workers"),
    /** `<task>.json`: the process tree that works on a claim. */
    processes: join(viv, "processes"),
    /** `<task>`: the tasks in failed/ that a person stopped. */
    cancelled: join(viv, "cancelled"),
    /** Our own lines about heartbeats; all of them where workers have no folders of their own. */
    heartbeats: join(viv, "heartbeats"),
    /** How far the ledger has been carried over into status.json. */
    projection: join(viv, "projection.json"),
  };
}

/** The folders of a run, parents first. */
export function foldersOf(paths: Paths): string[] {
  const { layout, root } = paths;
  const { record, others } = layout;
  const folders = [...Object.values(layout.folders), ...others, ...(record === "" ? [] : [record])];
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

/** The folders that can be rebuilt, parents first. */
export function derivedFolders({ viv, layout, ...paths }: Paths): string[] {
  const { tmp, ids, lanes, cursors, dependents, due, attempts, workers, processes } = paths;
  return [
    ...[viv, tmp, ids, lanes, cursors, dependents, due, attempts, workers, processes],
    paths.heartbeats,
    paths.cancelled,
    ...layout.derived.map((folder) => join(viv, folder)),
  ];
}

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
  const { heartbeats, layout, state } = paths;
  return layout.isFlat ? `${heartbeats}/${worker}` : `${state.claimed}/${worker}/.heartbeat`;
}

const PAUSED = ".paused";

/** While it is there, that worker claims nothing. Workers of a pit have no folders of their own. */
export function workerPauseOf({ layout, state }: Paths, worker: string): string {
  const name = layout.isFlat ? `${PAUSED}.${worker}` : `${worker}/${PAUSED}`;
  return `${state.claimed}/${name}`;
}

/** The worker whose pause this file in claimed/ of a pit is. */
export function pausedIn(name: string): string | null {
  return name.startsWith(`${PAUSED}.`) ? name.slice(PAUSED.length + 1) : null;
}

/** Where our own lines about a heartbeat are. */
export function beatOf({ heartbeats }: Paths, worker: string): string {
  return `${heartbeats}/${worker}`;
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
function withoutSuffix(name: string, suffix: string): string | null {
  if (!name.endsWith(suffix) || name.startsWith(".")) return null;
  return name.slice(0, -suffix.length);
}

/** The path below the run. */
export function below(paths: Paths, path: string): string {
  return path.slice(paths.root.length + 1);
}
