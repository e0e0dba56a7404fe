import { fingerprint } from "../../base/fingerprint.ts";
import { isNoWorkerLeft } from "../../queue/choke.ts";
import type { TaskFacts } from "./ledger-digest.ts";

export interface FailureGroup {
  kind: "choked" | "failed";
  /** Of the latest of them, in its own words. */
  reason: string;
  /** The latest first. */
  tasks: string[];
  /** When the latest failed; null: unknown. */
  at: string | null;
}

export interface FailedTask {
  id: string;
  /** When its file came to failed/. */
  since: string;
  facts: TaskFacts | undefined;
}

/** Failures that are the same are one entry; the largest group first, then the latest. */
export function groupFailures(failed: Iterable<FailedTask>): FailureGroup[] {
  const groups = new Map<string, FailureGroup>();
  for (const task of [...failed].sort((a, b) => (timeOf(a) < timeOf(b) ? 1 : -1))) {
    const { kind, reason, key } = described(task);
    const group = groups.get(key) ?? { kind, reason, tasks: [], at: timeOf(task) };
    groups.set(key, group);
    group.tasks.push(task.id);
  }
  const order = { choked: 0, failed: 1 };
  return [...groups.values()].sort(
    (a, b) =>
      order[a.kind] - order[b.kind] ||
      b.tasks.length - a.tasks.length ||
      ((a.at ?? "") < (b.at ?? "") ? 1 : -1),
  );
}

/** By the ledger, if that is where it saw the task last. */
export function timeOf({ facts, since }: FailedTask): string {
  return facts?.last?.to === "failed" ? facts.lastAt : since;
}

function described({ facts }: FailedTask) {
  const last = facts?.last?.to === "failed" ? facts.last : null;
  if (last === null) {
    const reason = "moved to failed/ by hand, or by another program";
    return { kind: "failed" as const, reason, key: reason };
  }
  const { note = "", outcome = "failed" } = last;
  const isChoke = isNoWorkerLeft(note) || /^choked\b/.test(note);
  const kind = isChoke ? ("choked" as const) : ("failed" as const);
  const mark = facts?.fingerprint ?? fingerprint({ outcome, exit: null, signal: null, tail: note });
  const isOfDependency = /^its dependency \S+ failed$/.test(note);
  const reason = isOfDependency ? "a dependency failed" : note || outcome;
  return { kind, reason, key: `${kind} ${isOfDependency ? reason : mark}` };
}
