/** What was last seen of somebody who works, and since when nothing has changed. */
export interface Progress {
  token: string;
  /** CPU time of its process tree, in ticks. */
  ticks: number;
  /** Size of its trace. */
  bytes: number;
  /** When both were first seen as they are. */
  since: number;
}
