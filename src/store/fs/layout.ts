import { join } from "node:path";
import type { TaskState } from "../../model/states.ts";

/**
 * Every name on disk, in one place. The top level is the contract with swarm-lib and with people
 * who use `ls`; everything below `.viv/` is derived and can be rebuilt by `viv doctor --fix`.
 */
export interface Paths {
  readonly root: string;
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
  /** `<task>`: who waits for this task. */
  readonly dependents: string;
  /** `<minute>/<ms>.<task>`: who rests until when. */
  readonly due: string;
  /** `<task>.jsonl`: ended attempts of tasks that did not succeed at once. */
  readonly attempts: string;
  /** `<worker>.json`: the process behind a long-lived worker. */
  readonly workers: string;
  /** `<task>.json`: the process tree that works on a claim. */
  readonly processes: string;
  /** How far the ledger has been carried over into status.json. */
  readonly projection: string;
}

export function pathsOf(root: string): Paths {
  const viv = join(root, ".viv");
  const state = {} as Record<TaskState, string>;
  for (const name of ["waiting", "pending", "claimed", "review", "done", "failed"] as const) {
    state[name] = join(root, name);
  }
  return {
    root,
    state,
    viv,
    status: join(root, "status.json"),
    statusLock: join(root, ".status.lock"),
    artifacts: join(root, "artifacts"),
    ledger: join(root, "ledger"),
    quarantine: join(root, "quarantine"),
    tmp: join(viv, "tmp"),
    ids: join(viv, "ids"),
    lanes: join(viv, "lanes"),
    cursors: join(viv, "cursors"),
    dependents: join(viv, "dependents"),
    due: join(viv, "due"),
    attempts: join(viv, "attempts"),
    workers: join(viv, "workers"),
    processes: join(viv, "processes"),
    projection: join(viv, "projection.json"),
  };
}

/** The folders of a run, parents first. */
export function foldersOf(paths: Paths): string[] {
  return [
    paths.root,
    ...Object.values(paths.state),
    paths.artifacts,
    paths.ledger,
    paths.quarantine,
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
  ];
}

export const HEARTBEAT = ".heartbeat";
const SUFFIX = ".json";

export function fileOf(folder: string, id: string): string {
  return `${folder}/${id}${SUFFIX}`;
}

/** The id a file name stands for, or null when the name is not a task's (hidden files are not). */
export function idOf(name: string): string | null {
  if (!name.endsWith(SUFFIX) || name.startsWith(".")) return null;
  return name.slice(0, -SUFFIX.length);
}
