import type { Progress } from "./progress.ts";

/**
 * Is a snake that is alive still getting anywhere? What can be seen from outside: the CPU time of
 * its process tree and the size of its trace. Both standing still for as long as the time-out means
 * that it is stuck. (One that spins is not caught here: its route's time limit is for that.)
 */
export interface Look {
  token: string;
  ticks: number;
  bytes: number;
  at: number;
}

/** What is known after this look. A clock that was set back begins the wait anew. */
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
