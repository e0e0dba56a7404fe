import { formatDuration } from "../base/duration.ts";
import type { Pause } from "./store.ts";

/** One line for people: `paused by pia 5m ago: lunch (nothing is claimed; go on with: viv resume)`. */
export function pauseLine({ by, at, note }: Pause, now?: number): string {
  const since = now === undefined ? "" : ` ${formatDuration(now - Date.parse(at))} ago`;
  return `paused by ${by}${since}${note ? `: ${note}` : ""} (nothing is claimed; go on with: viv resume)`;
}

/** The same of one worker: `w1 is paused by pia 5m ago: lunch (it claims nothing; go on with: …)`. */
export function workerPauseLine(worker: string, { by, at, note }: Pause, now?: number): string {
  const since = now === undefined ? "" : ` ${formatDuration(now - Date.parse(at))} ago`;
  const go = `viv resume --worker ${worker}`;
  return `${worker} is paused by ${by}${since}${note ? `: ${note}` : ""} (it claims nothing; go on with: ${go})`;
}
