import type { TimelineAnswer } from "../../live/data-shapes.ts";

export type Lane = TimelineAnswer["lanes"][number];

/** Beyond so many, a lane is too low to be read. */
const MOST_LANES = 64;

/** Workers first, then the crew; of very many, those that worked last. */
export function lanesOf({ lanes }: TimelineAnswer): Lane[] {
  const last = ({ spans }: Lane) => spans.at(-1)?.to ?? "9";
  const kept =
    lanes.length <= MOST_LANES
      ? lanes
      : lanes.toSorted((a, b) => (last(a) < last(b) ? 1 : -1)).slice(0, MOST_LANES);
  const rank = ({ kind }: Lane) => (kind === "crew" ? 1 : 0);
  return kept.toSorted((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1));
}

export function labelWidth(width: number): number {
  return width < 600 ? 52 : 72;
}
