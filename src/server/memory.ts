import { setFlagsFromString } from "node:v8";

/**
 * A server is there all day beside the agents. For a program that makes much and drops it at once, V8
 * lets the space for new objects grow to 48 MB, and keeps it. What a server makes in answers is either
 * kept for good or dropped within milliseconds, so the space can stay as small as it begins. (The flag
 * only steers how much it grows by the next time, so that it can be set in a process that runs.)
 *
 * Measured with 100,000 tasks and 100 streams, the most that it had while reports of all tasks, the
 * first scrape of the metrics and costs were made: 187 MB with it, 219 without; the limit is 200. The
 * listing of the run takes up to 4 % more CPU time.
 */
export function keepNewSpaceSmall(): void {
  setFlagsFromString("--semi-space-growth-factor=1");
}
