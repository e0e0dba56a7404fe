/** The states of a task, in the order in which a task usually passes through them. */
export const TASK_STATES = ["waiting", "pending", "claimed", "review", "done", "failed"] as const;
export type TaskState = (typeof TASK_STATES)[number];

/** What can happen to a task. Every one of them is one rename on disk. */
export const TASK_EVENTS = [
  "promote", // its dependencies are done and its time has come
  "claim",
  "complete",
  "fail",
  "defer", // an attempt ended, another one comes later
  "release", // the worker gives it back untouched
  "abandon", // the worker is gone, the reaper gives it back
  "approve",
  "reject",
  "cancel",
  "retry", // a person sends a failed task round again
] as const;
export type TaskEvent = (typeof TASK_EVENTS)[number];

/**
 * The whole state machine. A missing target means the event is refused in that state. Two targets
 * mean that the task itself decides: `complete` parks a task with `review: true`; `retry`
 * waits when there is something to wait for; `abandon` gives up on a task that keeps
 * losing its workers.
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
  done: row({}),
  failed: row({ retry: ["pending", "waiting"] }),
};

function row(
  allowed: Partial<Record<TaskEvent, readonly TaskState[]>>,
): Record<TaskEvent, readonly TaskState[]> {
  const full = {} as Record<TaskEvent, readonly TaskState[]>;
  for (const event of TASK_EVENTS) full[event] = allowed[event] ?? [];
  return full;
}

export function isAllowed(from: TaskState, event: TaskEvent, to?: TaskState): boolean {
  const targets = TRANSITIONS[from][event];
  return to === undefined ? targets.length > 0 : targets.includes(to);
}

/** The picture in docs/spec/queue.md and README.md, made from the table so that it cannot drift from it. */
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
