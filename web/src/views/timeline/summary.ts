import type { TimelineAnswer } from "../../live/data-shapes.ts";
import { count, took as tookText } from "../../parts/format.ts";
import { lookOf } from "../overview/night-drawing.ts";
import type { TimeWindow } from "./window.ts";

/** `87 proven, 4 tried again, 1 failed; median 7m 43s`: of the workers' attempts that ended there. */
export function summaryOf({ lanes }: TimelineAnswer, { from, to }: TimeWindow): string {
  const counts = { ok: 0, again: 0, no: 0, run: 0 };
  const took: number[] = [];
  for (const { kind, spans } of lanes) {
    if (kind !== "worker") continue;
    for (const span of spans) {
      const end = span.to === null ? Number.POSITIVE_INFINITY : Date.parse(span.to);
      if (end < from || (span.to !== null && end > to)) continue;
      counts[lookOf(span)] += span.count;
      if (span.to !== null) took.push((end - Date.parse(span.from)) / span.count);
    }
  }
  took.sort((a, b) => a - b);
  const median = took[took.length >> 1];
  const words = [
    `${count(counts.ok)} done`,
    counts.again > 0 ? `${count(counts.again)} tried again` : "",
    counts.no > 0 ? `${count(counts.no)} failed` : "",
  ];
  const end = median === undefined ? "" : `; median ${tookText(median)}`;
  return `${words.filter(Boolean).join(", ")}${end}`;
}
