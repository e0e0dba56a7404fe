/** Time comes in through this port, so that tests can move it. */
export interface Clock {
  /** Wall clock in milliseconds since the epoch. May jump. */
  now(): number;
  /** Seconds since boot. Does not jump; comparable between processes of one boot. */
  uptime(): number;
}

/** Identifies one process for good: a pid alone is reused. */
export interface ProcessIdentity {
  host: string;
  boot: string;
  pid: number;
  started: string;
}

/** The process tree that works on a claim: a leader, and all that carry the claim's mark. */
export interface ClaimTree extends ProcessIdentity {
  /** What its processes have in VIV_CLAIM. */
  claim: string;
}

/** The machine, as far as the queue needs to know it. */
export interface Machine {
  readonly clock: Clock;
  self(): ProcessIdentity;
  /** "unknown" for a process of another host or of an earlier boot of a host that is not this one. */
  vitality(process: ProcessIdentity): "alive" | "gone" | "unknown";
  bootId(): string;
  /**
   * Kills a tree of this host and boot (SIGKILL), waits until it is gone, and returns the pids that
   * are still there. Without it, trees that outlive their workers are not ended by others.
   */
  leftovers?: { end(tree: ClaimTree): Promise<number[]> };
}
