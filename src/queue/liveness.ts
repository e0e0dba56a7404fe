/**
 * Signs that the worker of a claim is alive, strongest first: the registered process (same host
 * only), the heartbeat, and the claim's own age when there is none.
 */
export interface VitalSigns {
  /** The registered long-lived process; "none" for one-shot commands and foreign workers. */
  process: "alive" | "gone" | "unknown" | "none";
  /** Milliseconds since the last heartbeat; null when there never was one. */
  heartbeatAge: number | null;
  /** Milliseconds since the youngest claim was made. */
  claimAge: number;
}

export type Liveness = { alive: true } | { alive: false; reason: "gone" | "stale" };

export function judgeWorker(
  signs: VitalSigns,
  options: { staleAfterMs: number; heartbeatOnly?: boolean },
): Liveness {
  if (options.heartbeatOnly) {
    const fresh = signs.heartbeatAge !== null && signs.heartbeatAge < options.staleAfterMs;
    return fresh ? { alive: true } : { alive: false, reason: "stale" };
  }
  // A process seen to be gone needs no grace. A living one still has to beat: it may be stuck.
  if (signs.process === "gone") return { alive: false, reason: "gone" };
  const age = signs.heartbeatAge ?? signs.claimAge;
  return age < options.staleAfterMs ? { alive: true } : { alive: false, reason: "stale" };
}
