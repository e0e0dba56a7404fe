import type { Progress } from "./progress.ts";

/**
 * Is a live snake stuck? It is if neither the CPU time of its process tree nor the size of its trace
 * has changed for as long as the time-out. (A busy loop is caught by its route's time limit.)
 */
export interface Look {
  token: string;
  ticks: number;
  bytes: number;
  at: number;
}

/** The progress after this look. A clock that was set back restarts the wait. */
export function afterLook(before: Progress | undefined, { at, ...now }: Look): Progress {
  const isSame =
    before !== undefined &&
    before.token === now.token &&
    before.ticks === now.ticks &&
    before.bytes === now.bytes &&
    before.since <= at;
  return { ...now, since: isSame ? before.since : at };
}

export function isStuck(progress: Progress, at: number, limitMs: number): boolean {
  return at - progress.since >= limitMs;
}
