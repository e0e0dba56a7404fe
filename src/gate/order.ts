import { PRIORITIES, type Priority } from "../base/priority.ts";

/**
 * The order at a gate: first come, first served within a priority. A waiter rises one priority every
 * five minutes, to high at most, where only earlier arrivals are before it: so no waiter starves.
 */
export interface Waiting {
  priority: Priority;
  /** Ms on a clock that does not jump. */
  since: number;
  /** Of arrival. */
  order: number;
}

export const RAISE_AFTER_MS = 5 * 60_000;

/** 0 for the most urgent. */
function rankOf({ priority, since }: Waiting, now: number): number {
  const steps = Math.floor(Math.max(0, now - since) / RAISE_AFTER_MS);
  return Math.max(0, PRIORITIES.indexOf(priority) - steps);
}

/** The next one of the first of each priority. */
export function firstOf<T extends Waiting>(
  heads: Iterable<T | undefined>,
  now: number,
): T | undefined {
  let first: T | undefined;
  for (const head of heads) {
    if (head === undefined) continue;
    const after = first ? rankOf(head, now) - rankOf(first, now) || head.order - first.order : -1;
    if (after < 0) first = head;
  }
  return first;
}

/** All of them, in the order in which they would enter now. */
export function inOrder<T extends Waiting>(waiting: Iterable<T>, now: number): T[] {
  const lines = PRIORITIES.map((priority) => ({ priority, all: [] as T[], next: 0 }));
  for (const one of waiting) lines.find((line) => line.priority === one.priority)?.all.push(one);
  // A line per priority: even if times contradict it, none passes an equal that came earlier.
  for (const { all } of lines) all.sort((a, b) => a.order - b.order);
  const order: T[] = [];
  for (;;) {
    const heads = lines.map(({ all, next }) => all[next]);
    const first = firstOf(heads, now);
    if (first === undefined) return order;
    order.push(first);
    for (const line of lines) if (line.all[line.next] === first) line.next++;
  }
}

/** Free slots. None when the maximum was lowered below the number of holders. */
export function roomFor(max: number | null, holders: number): number {
  return max === null ? Number.POSITIVE_INFINITY : Math.max(0, max - holders);
}

/** The waiters that may enter now, in order. */
export function mayEnter<T extends Waiting>(gate: {
  waiting: Iterable<T>;
  holders: number;
  max: number | null;
  now: number;
}): T[] {
  const room = roomFor(gate.max, gate.holders);
  return room === 0 ? [] : inOrder(gate.waiting, gate.now).slice(0, room);
}
