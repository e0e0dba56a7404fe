import type { Clock } from "../base/clock.ts";
import { PRIORITIES, type Priority } from "../base/priority.ts";
import { firstOf, inOrder, roomFor, type Waiting } from "./order.ts";

/** At most `max` holders at a time; the others wait in line. */
export interface Gate {
  /**
   * Resolves when there is a slot, with the function that gives it back: for a `finally`, and
   * harmless when called twice. Rejects with the signal's reason when that is aborted first.
   */
  acquire(request: GateRequest): Promise<Release>;
  /** Null: no limit. Holders are never stopped. */
  setMax(max: number | null): void;
  view(): GateView;
  /** No holder, no waiter. */
  isIdle(): boolean;
  /** Called after each change. Returns the unsubscribe. */
  onChange(listener: () => void): () => void;
}

export interface GateRequest {
  /** For people. */
  name: string;
  /** Default: normal. */
  priority?: Priority;
  signal?: AbortSignal;
}

export type Release = () => void;

export interface GateView {
  max: number | null;
  /** Times are ISO. */
  holders: { name: string; since: string }[];
  /** The next one first. */
  queue: { name: string; priority: Priority; since: string; waiting_ms: number }[];
}

interface Waiter extends Waiting {
  name: string;
  /** The same on the wall clock. */
  at: number;
  enter(): void;
}

/** For one process. A freed slot goes to the first in line before any new request. */
export function gateInMemory(options: { max: number | null; clock: Clock }): Gate {
  const { clock } = options;
  let { max } = options;
  let arrivals = 0;
  const holders = new Set<{ name: string; at: number }>();
  const lines = new Map(PRIORITIES.map((priority) => [priority, [] as Waiter[]]));
  const listeners = new Set<() => void>();
  const uptimeMs = () => clock.uptime() * 1000;
  const changed = () => {
    for (const listener of [...listeners]) listener();
  };

  const hold = (name: string): Release => {
    const holder = { name, at: clock.now() };
    holders.add(holder);
    return () => {
      if (!holders.delete(holder)) return;
      letIn();
      changed();
    };
  };
  const letIn = () => {
    while (roomFor(max, holders.size) > 0) {
      const heads = [...lines.values()].flatMap((line) => line[0] ?? []);
      // Reading the clock takes longer than the rest.
      const next = heads.length > 1 ? firstOf(heads, uptimeMs()) : heads[0];
      if (next === undefined) return;
      lines.get(next.priority)?.shift();
      next.enter();
    }
  };

  return {
    acquire({ name, priority = "normal", signal }) {
      if (signal?.aborted) return Promise.reject(signal.reason);
      // With a free slot the line is empty: every release lets waiters in.
      if (roomFor(max, holders.size) > 0) {
        const release = hold(name);
        changed();
        return Promise.resolve(release);
      }
      return new Promise((resolve, reject) => {
        const times = { since: uptimeMs(), at: clock.now(), order: arrivals++ };
        const leave = () => {
          const others = lines.get(priority)?.filter((one) => one !== waiter);
          lines.set(priority, others ?? []);
          reject(signal?.reason);
          changed();
        };
        const enter = () => {
          signal?.removeEventListener("abort", leave);
          resolve(hold(name));
        };
        const waiter: Waiter = { name, priority, ...times, enter };
        signal?.addEventListener("abort", leave, { once: true });
        lines.get(priority)?.push(waiter);
        changed();
      });
    },
    setMax(next) {
      max = next;
      letIn();
      changed();
    },
    view() {
      const waiting = [...lines.values()].flat();
      const now = waiting.length === 0 ? 0 : uptimeMs();
      return {
        max,
        holders: [...holders].map(({ name, at }) => ({ name, since: iso(at) })),
        queue: inOrder(waiting, now).map(({ name, priority, since, at }) => ({
          ...{ name, priority, since: iso(at) },
          waiting_ms: Math.max(0, Math.round(now - since)),
        })),
      };
    },
    isIdle: () => holders.size === 0 && [...lines.values()].every((line) => line.length === 0),
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

const iso = (ms: number) => new Date(ms).toISOString();
