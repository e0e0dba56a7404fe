export interface Growth {
  first: number;
  longest: number;
  /** 2 if not given. */
  factor?: number;
}

/** The pause before the n-th try in a row (from 1): the first, then longer each time, up to the longest. */
export function growingPause(n: number, { first, longest, factor = 2 }: Growth): number {
  return Math.min(longest, first * factor ** Math.min(Math.max(n - 1, 0), 60));
}

/** A random half to whole of it, so that clients that failed together do not retry together. */
export function withJitter(ms: number, random: number): number {
  return Math.round(ms / 2 + (ms / 2) * random);
}
