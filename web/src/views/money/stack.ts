import type { Money } from "../../live/data-shapes.ts";

export interface Stack {
  /** Midnight UTC of each day, in seconds; days without costs are there, too. */
  days: number[];
  /** By model, the running sum up to and with it. */
  tops: number[][];
  sums: number[];
}

const DAY_S = 86_400;
/** Shown even if the run is of today, but none before the period. */
const LEAST_DAYS = 14;

/** Up to the last day of the period. */
export function stackOf(
  days: Money["days"],
  models: readonly string[],
  period: { since: string; until: string },
): Stack {
  const dayOf = (time: string) => Math.floor(Date.parse(time) / 1000 / DAY_S) * DAY_S;
  const given = new Map(days.map((day) => [Date.parse(`${day.key}T00:00:00Z`) / 1000, day]));
  const times = [...given.keys()].filter((time) => !Number.isNaN(time));
  const last = Math.max(...times, dayOf(period.until));
  const least = Math.max(dayOf(period.since), last - (LEAST_DAYS - 1) * DAY_S);
  const first = Math.min(...times, least);
  const all: number[] = [];
  for (let day = first; day <= last && all.length < 400; day += DAY_S) all.push(day);
  let below = all.map(() => 0);
  const tops = models.map((model) => {
    below = below.map((sum, at) => {
      const day = given.get(all[at] ?? 0);
      return sum + (day?.models.find((one) => one.model === model)?.usd ?? 0);
    });
    return below;
  });
  return { days: all, tops, sums: all.map((day) => given.get(day)?.usd ?? 0) };
}
