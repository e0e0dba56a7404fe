import { formatDuration } from "../base/duration.ts";
import type { Pause } from "./store.ts";

/** One line for people: `paused by pia 5m ago: lunch (nothing is claimed; go on with: viv resume)`. */
export function pauseLine({ by, at, note }: Pause, now?: number): string {
  const since = now === undefined ? "" : ` ${formatDuration(now - Date.parse(at))} ago`;
  return `paused by ${by}${since}${note ? `: ${note}` : ""} (nothing is claimed; go on with: viv resume)`;
}
