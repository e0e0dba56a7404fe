/** How `done_when` ended, as it is kept in `artifacts/<id>.proof.json`. */
export interface Proof {
  attempt: number;
  command: string;
  exit: number | null;
  signal: string | null;
  timed_out: boolean;
  duration_ms: number;
  at: string;
  /** The end of what it printed; all of it is in the log. */
  output: string;
  /** Bytes that the log does not have. */
  dropped: number;
}

/** Why an attempt did not count, as it is kept for people and for the next attempt. */
export interface Evidence {
  attempt: number;
  worker: string;
  outcome: string;
  note: string;
  at: string;
  proof?: Proof;
}
