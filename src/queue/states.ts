/** The states of a task, in the order in which a task usually passes through them. */
export const TASK_STATES = ["waiting", "pending", "claimed", "review", "done", "failed"] as const;
export type TaskState = (typeof TASK_STATES)[number];

/**
 * The words that people and programs read. A task that a person stopped lies in failed/, as in
 * swarm-lib, and is called cancelled.
 */
export const TASK_WORDS = [...TASK_STATES, "cancelled"] as const;
export type TaskWord = (typeof TASK_WORDS)[number];

export function wordOf<S extends string>(task: { state: S; cancelled?: true }): S | "cancelled" {
  return task.cancelled ? "cancelled" : task.state;
}

/** Each is one rename on disk. */
export const TASK_EVENTS = [
  "promote", // its dependencies are done and its time has come
  "claim",
  "complete",
  "fail",
  "defer", // an attempt ended, another one comes later
  "release", // the worker returns it untouched
  "abandon", // the worker is gone, the reaper returns it
  "approve",
  "reject",
  "cancel",
  "retry", // a person requeues a failed task
  "rework", // a done task goes back, because its work cannot land as it is
  "resolve", // a person has done the work of a failed task
] as const;
export type TaskEvent = (typeof TASK_EVENTS)[number];

/**
 * The whole state machine. An event without a target is refused in that state. Of two targets, the
 * task itself decides: `complete` moves a task with `review: true` to review; `retry` and `rework`
 * wait when the task has open dependencies or a later time; `abandon` fails a task that keeps losing workers.
 */
export const TRANSITIONS: Record<TaskState, Record<TaskEvent, readonly TaskState[]>> = {
  waiting: row({ promote: ["pending"], cancel: ["failed"] }),
  pending: row({ claim: ["claimed"], cancel: ["failed"] }),
  claimed: row({
    complete: ["done", "review"],
    fail: ["failed"],
    defer: ["waiting"],
    release: ["pending"],
    abandon: ["pending", "failed"],
    cancel: ["failed"],
  }),
  review: row({ approve: ["done"], reject: ["pending"], cancel: ["failed"] }),
  done: row({ rework: ["pending", "waiting"] }),
  failed: row({ retry: ["pending", "waiting"], resolve: ["done"] }),
};

function row(
  allowed: Partial<Record<TaskEvent, readonly TaskState[]>>,
): Record<TaskEvent, readonly TaskState[]> {
  const full = {} as Record<TaskEvent, readonly TaskState[]>;
  for (const event of TASK_EVENTS) full[event] = allowed[event] ?? [];
  return full;
}

export function isAllowed(from: TaskState, event: TaskEvent): boolean {
  return TRANSITIONS[from][event].length > 0;
}

/** The diagram in docs/spec/queue.md and README.md, generated from the table. */
export function mermaid(): string {
  const lines = ["stateDiagram-v2", "  [*] --> pending: enqueue", "  [*] --> waiting: enqueue"];
  for (const from of TASK_STATES) {
    for (const event of TASK_EVENTS) {
      for (const to of TRANSITIONS[from][event]) lines.push(`  ${from} --> ${to}: ${event}`);
    }
  }
  lines.push("  done --> [*]");
  return lines.join("\n");
}
