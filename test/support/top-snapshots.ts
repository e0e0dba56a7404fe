import type { Snapshot, TaskRow } from "../../src/overview/top/snapshot.ts";
import type { TaskWord } from "../../src/queue/states.ts";

/** Snapshots for tests. */

export const NOW = Date.parse("2026-11-18T12:00:00Z");

export function taskRow(id: string, state: TaskWord, more: Partial<TaskRow> = {}): TaskRow {
  return { id, type: "fix", state, since: "2026-11-18T11:59:00Z", ...more };
}

export function snapshotOf(more: Partial<Snapshot> = {}): Snapshot {
  const counts = {
    ...{ waiting: 0, pending: 0, claimed: 0, review: 0, done: 0, failed: 0 },
    ...{ cancelled: 0, quarantined: 0 },
  };
  for (const { state } of more.tasks ?? []) counts[state]++;
  return {
    ...{ run_id: "night", run_dir: "/runs/night", at: new Date(NOW).toISOString() },
    ...{ counts, paused: null, note: null, events_per_minute: 42 },
    ...{ cost: { usd: 1.5, budget: 20 }, gate: { max: 4, held: 2, queued: 3 } },
    ...{ tasks: [], more: 0, workers: [], crew: null, parts: null, ...more },
  };
}
