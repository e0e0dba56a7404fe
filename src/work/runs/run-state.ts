import type { Counts, Pause } from "../../queue/store.ts";

/** The state of a whole run, in one word. */
export const RUN_STATES = [
  "running", // a worker lives in it, or a task is claimed
  "paused",
  "open", // there are tasks to do, and no worker
  "review", // only people are waited for
  "finished",
  "empty",
  "archived",
  "interrupted", // an archiving or a removal was cut short
  "gone",
  "unreadable",
] as const;
export type RunState = (typeof RUN_STATES)[number];

export function runState(counts: Counts, workers: number, paused: Pause | null): RunState {
  const { claimed, pending, waiting, review, done, failed } = counts;
  if (paused !== null) return "paused";
  if (workers > 0 || claimed > 0) return "running";
  if (pending + waiting > 0) return "open";
  if (review > 0) return "review";
  return done + failed > 0 ? "finished" : "empty";
}

/** Is there nothing left that a worker could do, now or later? */
export function isFinished({ claimed, pending, waiting, review }: Counts): boolean {
  return claimed + pending + waiting + review === 0;
}
