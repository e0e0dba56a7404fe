/** What the strip of the overview and the timeline share: lanes with labels, marks and a hatching. */

interface AnyLane {
  name: string;
  kind: string;
  spans: readonly { to: string | null }[];
}

/** Workers first, then the crew; of more than `most`, those that worked last. */
export function shownLanes<L extends AnyLane>(lanes: readonly L[], most: number): L[] {
  const last = ({ spans }: L) => spans.at(-1)?.to ?? "9";
  const kept =
    lanes.length <= most
      ? lanes
      : lanes.toSorted((a, b) => (last(a) < last(b) ? 1 : -1)).slice(0, most);
  const rank = ({ kind }: L) => (kind === "crew" ? 1 : 0);
  return kept.toSorted((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1));
}

export function labelWidth(width: number): number {
  return width < 600 ? 52 : 96;
}

/** As wide as a letter of a label on average; what does not fit is cut in its middle. */
const LETTER = 6.6;

export function LaneLabel({
  name,
  y,
  high,
  left,
}: {
  name: string;
  y: number;
  high: number;
  left: number;
}) {
  const most = Math.floor((left - 6) / LETTER);
  const short =
    name.length > most ? `${name.slice(0, (most >> 1) - 1)}…${name.slice(-(most >> 1))}` : name;
  return (
    <text class="lane-label" x="0" y={y + high / 2 + 4}>
      {short}
      {short !== name && <title>{name}</title>}
    </text>
  );
}

export function KillMark({ x, y, title }: { x: number; y: number; title: string }) {
  return (
    <g class="killed" transform={`translate(${x} ${y})`}>
      <circle class="kill-bg" r="8" />
      <path class="kill" d="M-3.2-3.2l6.4 6.4M3.2-3.2l-6.4 6.4" />
      <title>{title}</title>
    </g>
  );
}

/** For `fill="url(#shut)"`: an account that is closed. */
export function Hatching() {
  return (
    <defs>
      <pattern
        id="shut"
        width="5"
        height="5"
        patternUnits="userSpaceOnUse"
        patternTransform="rotate(45)"
      >
        <rect class="hatch" width="1.2" height="5" />
      </pattern>
    </defs>
  );
}
