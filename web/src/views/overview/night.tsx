import { useMemo } from "preact/hooks";
import type { Lane, Timeline } from "../../live/shapes.ts";
import { count, moment } from "../../parts/format.ts";
import { Hatching, KillMark, LaneLabel, labelWidth, shownLanes } from "../../parts/lanes.tsx";
import { useWidth } from "../../parts/use-width.ts";
import {
  type Frame,
  frameOf,
  lanePaths,
  type SpanLook,
  strangersIn,
  ticksOf,
  tickText,
  xOf,
} from "./night-drawing.ts";
import { Closed, Throughput } from "./throughput.tsx";

const LANE = 12;
const GAP = 5;
const BARS = 52;
const TOP = 76;
const MOST_LANES = 16;
const LOOKS: readonly SpanLook[] = ["ok", "again", "no", "run"];

/** What was done when, on top of who worked when: one axis for both. */
export function Night({ timeline }: { timeline: Timeline }) {
  const { ref, width } = useWidth<HTMLDivElement>();
  return (
    <div class="night live" ref={ref}>
      {width > 0 && <Drawing timeline={timeline} width={width} />}
    </div>
  );
}

function Drawing({ timeline, width }: { timeline: Timeline; width: number }) {
  const left = labelWidth(width);
  const frame = frameOf(timeline, left, width - left - 4);
  const lanes = useMemo(() => shownLanes(timeline.lanes, MOST_LANES), [timeline]);
  const crewGap = (index: number) => (lanes[index]?.kind === "crew" ? 8 : 0);
  const top = (index: number) => TOP + index * (LANE + GAP) + crewGap(index);
  const bottom = lanes.length === 0 ? TOP : top(lanes.length - 1) + LANE;
  const closed = timeline.closed.map((one, at) => ({ ...one, y: bottom + 8 + at * (LANE + GAP) }));
  const end = closed.length === 0 ? bottom : bottom + 8 + closed.length * (LANE + GAP) - GAP;
  const now = xOf(frame, Date.parse(timeline.until));
  const more = timeline.lanes.length - lanes.length;
  return (
    <svg width={width} height={end + 24} role="img" aria-label={sentenceOf(timeline)}>
      <Hatching />
      {ticksOf(frame).map((time, at, all) => (
        <g key={time}>
          <line
            class="grid"
            x1={xOf(frame, time)}
            x2={xOf(frame, time)}
            y1={TOP - 8}
            y2={end + 3}
          />
          <text x={xOf(frame, time)} y={end + 18} text-anchor={anchorOf(frame, time)}>
            {tickText(frame, time, all[at - 1])}
          </text>
        </g>
      ))}
      <Throughput timeline={timeline} frame={frame} high={BARS} />
      {lanes.map((lane, index) => (
        <LaneRow
          key={`${lane.kind} ${lane.name}`}
          lane={lane}
          frame={frame}
          y={top(index)}
          timeline={timeline}
        />
      ))}
      {closed.map((one) => (
        <Closed key={`${one.account} ${one.from}`} {...{ one, frame }} y={one.y} high={LANE} />
      ))}
      {strangersIn(timeline.kills, lanes, frame).map(({ name, at }) => (
        <KillMark
          key={`${name} ${at}`}
          x={xOf(frame, Date.parse(at))}
          y={TOP - 8}
          title={`${name} killed at ${moment(at)}`}
        />
      ))}
      <line class="now" x1={now} x2={now} y1={TOP - 8} y2={end + 3} />
      {more > 0 && (
        <text x={left} y={end + 18} class="more">
          {count(more)} more
        </text>
      )}
    </svg>
  );
}

function LaneRow({
  lane,
  frame,
  y,
  timeline,
}: {
  lane: Lane;
  frame: Frame;
  y: number;
  timeline: Timeline;
}) {
  const paths = useMemo(
    () => lanePaths(lane, frame, y, LANE),
    [lane, frame.from, frame.to, frame.width, y],
  );
  const kills = timeline.kills.filter(({ name }) => name === lane.name);
  return (
    <g>
      <LaneLabel name={lane.name} y={y} high={LANE} left={frame.left} />
      <rect class="lane" x={frame.left} y={y} width={frame.width} height={LANE} rx="2" />
      {LOOKS.map(
        (look) => paths[look] !== "" && <path key={look} class={`bar-${look}`} d={paths[look]} />,
      )}
      {kills.map(({ at }) => (
        <KillMark
          key={at}
          x={xOf(frame, Date.parse(at))}
          y={y + LANE / 2}
          title={`${lane.name} killed at ${moment(at)}`}
        />
      ))}
    </g>
  );
}

function anchorOf(frame: Frame, time: number): "start" | "middle" | "end" {
  const x = xOf(frame, time);
  if (x < frame.left + 16) return "start";
  return x > frame.left + frame.width - 16 ? "end" : "middle";
}

function sentenceOf({ since, lanes, buckets, kills }: Timeline): string {
  const sum = (key: "proven" | "done" | "failed") => buckets.reduce((n, one) => n + one[key], 0);
  return `Since ${moment(since)}: ${count(sum("proven"))} proven, ${count(sum("done"))} done without proof, ${count(sum("failed"))} failed, ${lanes.length} lanes of who worked when, ${kills.length} killed.`;
}

export function NightLegend() {
  return (
    <div class="legend desk">
      <span class="s-done">
        <i class="swatch soft" />
        done
      </span>
      <span class="s-none">
        <i class="swatch soft" />
        tried again
      </span>
      <span class="s-failed">
        <i class="swatch" />
        failed
      </span>
      <span class="s-working">
        <i class="swatch" />
        now
      </span>
      <span class="s-review">
        <i class="swatch hatch" />
        account closed
      </span>
      <span class="s-failed">
        <svg width="10" height="10" viewBox="-5 -5 10 10" aria-hidden="true">
          <path class="kill" d="M-3-3l6 6M3-3l-6 6" />
        </svg>
        killed
      </span>
    </div>
  );
}
