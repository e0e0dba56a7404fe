import type { WireLine } from "./wire-line.ts";

const MOST_MINUTES = 120;
const LEAST_MINUTES = 20;
const HIGH = 30;

/** Bars of events per minute, as two paths: all, and what failed among them. */
export function rateBars(lines: readonly WireLine[], minute: number) {
  // From the oldest line that is known: before it there may have been others.
  const oldest = Math.floor(Date.parse(lines.at(-1)?.at ?? "") / 60_000) || minute;
  const size = Math.min(MOST_MINUTES, Math.max(LEAST_MINUTES, minute - oldest + 1));
  const counts = new Array<number>(size).fill(0);
  const failed = new Array<number>(size).fill(0);
  for (const { at, tone } of lines) {
    const index = size - 1 - (minute - Math.floor(Date.parse(at) / 60_000));
    if (!(index >= 0 && index < size)) continue;
    counts[index] = (counts[index] ?? 0) + 1;
    if (tone === "failed") failed[index] = (failed[index] ?? 0) + 1;
  }
  const most = Math.max(1, ...counts);
  let all = "";
  let bad = "";
  counts.forEach((n, index) => {
    const high = (n / most) * HIGH;
    const red = ((failed[index] ?? 0) / most) * HIGH;
    if (n > 0) all += `M${index} 32v${(-high).toFixed(1)}h.86V32z`;
    if (red > 0) bad += `M${index} ${(32 - high).toFixed(1)}h.86v${red.toFixed(1)}h-.86z`;
  });
  return { counts, most, all, bad };
}
