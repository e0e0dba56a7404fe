import type { Timeline } from "../../live/shapes.ts";
import { count, duration, moment } from "../../parts/format.ts";
import { LaneLabel } from "../../parts/lanes.tsx";
import { type Frame, xOf } from "./night-drawing.ts";

/** What ended when, as bars above the lanes. */
export function Throughput({
  timeline: { buckets },
  frame,
  high,
}: {
  timeline: Timeline;
  frame: Frame;
  high: number;
}) {
  const [first, second] = buckets;
  if (first === undefined) return null;
  const step = second ? Date.parse(second.at) - Date.parse(first.at) : 600_000;
  const seen = buckets.filter(({ at }) => {
    const time = Date.parse(at);
    return time + step > frame.from && time < frame.to;
  });
  const most = Math.max(1, ...seen.map(({ proven, done, failed }) => proven + done + failed));
  const base = high + 8;
  return (
    <g>
      <text x="0" y={base - high + 8}>
        {count(most)}
      </text>
      <text x="0" y={base}>
        0
      </text>
      <line
        class="grid"
        x1={frame.left}
        x2={frame.left + frame.width}
        y1={base + 0.5}
        y2={base + 0.5}
      />
      {seen.map(({ at, proven, done, failed }) => {
        const x = xOf(frame, Date.parse(at));
        const wide = Math.max(1, xOf(frame, Date.parse(at) + step) - x - 1.5);
        const good = ((proven + done) / most) * high;
        const bad = (failed / most) * high;
        return (
          <g key={at}>
            <rect class="bar-ok" x={x} y={base - good} width={wide} height={good} />
            {bad > 0 && (
              <rect class="bar-no" x={x} y={base - good - bad - 1} width={wide} height={bad} />
            )}
            <title>{`${moment(at)}, ${duration(step, true)}: ${proven} proven, ${done} done without proof, ${failed} failed`}</title>
          </g>
        );
      })}
    </g>
  );
}

/** An account that was closed, as a lane with a hatching. */
export function Closed({
  one: { account, from, to },
  frame,
  y,
  high,
}: {
  one: Timeline["closed"][number];
  frame: Frame;
  y: number;
  high: number;
}) {
  const x = xOf(frame, Date.parse(from));
  const end = to === null ? frame.left + frame.width : xOf(frame, Date.parse(to));
  const until = to === null ? ", until a person opens it" : ` until ${moment(to)}`;
  return (
    <g>
      <LaneLabel name={account} y={y} high={high} left={frame.left} />
      <rect class="lane" x={frame.left} y={y} width={frame.width} height={high} rx="2" />
      <rect x={x} y={y} width={Math.max(2, end - x)} height={high} fill="url(#shut)">
        <title>{`${account} closed since ${moment(from)}${until}`}</title>
      </rect>
    </g>
  );
}
