/** The last signs of work on a claim, and since when they have not changed. */
export interface Progress {
  token: string;
  /** CPU time of its process tree, in ticks. */
  ticks: number;
  /** Size of its trace. */
  bytes: number;
  /** When both were first seen with these values. */
  since: number;
}
