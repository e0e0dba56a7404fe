import type { TimelineAnswer } from "../../live/data-shapes.ts";
import { count, duration, moment } from "../../parts/format.ts";
import { Hatching, KillMark, LaneLabel, labelWidth, shownLanes } from "../../parts/lanes.tsx";
import { plain } from "../../parts/plain.ts";
import { useWidth } from "../../parts/use-width.ts";
import { taskHref } from "../../shell/router.ts";
import {
  type Frame,
  lookOf,
  strangersIn,
  ticksOf,
  tickText,
  xOf,
} from "../overview/night-drawing.ts";
import { Closed, Throughput } from "../overview/throughput.tsx";
import { MOST_LANES, type TimeWindow } from "./window.ts";

type Lane = TimelineAnswer["lanes"][number];

const BARS = 44;
const TOP = BARS + 22;
const CREW_GAP = 12;

/** Throughput on top of the lanes: one axis for both. */
export function LaneChart({ timeline, shown }: { timeline: TimelineAnswer; shown: TimeWindow }) {
  const { ref, width } = useWidth<HTMLDivElement>();
  return (
    <div class="lanes live" ref={ref}>
      {width > 0 && <Chart timeline={timeline} shown={shown} width={width} />}
    </div>
  );
}

function Chart({
  timeline,
  shown,
  width,
}: {
  timeline: TimelineAnswer;
  shown: TimeWindow;
  width: number;
}) {
  const left = labelWidth(width);
  const frame: Frame = {
    ...{ from: shown.from, to: shown.to, now: Date.parse(timeline.until) },
    ...{ left, width: Math.max(1, width - left - 8) },
  };
  const lanes = shownLanes(timeline.lanes, MOST_LANES);
  const high = lanes.length > 24 ? 14 : lanes.length > 14 ? 20 : 28;
  const pitch = high + (high > 20 ? 8 : 5);
  const firstCrew = lanes.findIndex(({ kind }) => kind === "crew");
  const y = (at: number) => TOP + at * pitch + (firstCrew > 0 && at >= firstCrew ? CREW_GAP : 0);
  const end = y(lanes.length - 1) + high;
  const closed = timeline.closed.filter(({ to }) => to === null || Date.parse(to) > shown.from);
  const closedY = (at: number) => end + 16 + at * 20;
  const bottom = closed.length === 0 ? end : closedY(closed.length - 1) + 14;
  const nowX = xOf(frame, frame.now);
  const label = `Attempts of ${count(lanes.length)} workers and crew members from ${moment(shown.from)} to ${moment(shown.to)}; List shows them as a table.`;
  return (
    <svg width={width} height={bottom + 26} role="group" aria-label={label}>
      <Hatching />
      {ticksOf(frame, 72).map((time, at, all) => (
        <g key={time}>
          <line class="grid" x1={xOf(frame, time)} x2={xOf(frame, time)} y1="2" y2={bottom + 4} />
          <text x={xOf(frame, time)} y={bottom + 19} text-anchor="middle">
            {tickText(frame, time, all[at - 1])}
          </text>
        </g>
      ))}
      <Throughput timeline={timeline} frame={frame} high={BARS} />
      {lanes.map((lane, at) => (
        <LaneRow
          key={`${lane.kind} ${lane.name}`}
          lane={lane}
          frame={frame}
          y={y(at)}
          high={high}
          kills={timeline.kills.filter(({ name }) => name === lane.name)}
        />
      ))}
      {closed.map((one, at) => (
        <Closed key={`${one.account} ${one.from}`} {...{ one, frame }} y={closedY(at)} high={14} />
      ))}
      {strangersIn(timeline.kills, lanes, frame).map(({ name, at, why, warrant }) => (
        <KillMark
          key={warrant}
          x={xOf(frame, Date.parse(at))}
          y={10}
          title={`${name} killed at ${moment(at)}: ${plain(why)}`}
        />
      ))}
      {shown.isLive && <line class="now" x1={nowX} x2={nowX} y1="2" y2={bottom + 4} />}
    </svg>
  );
}

function LaneRow({
  lane,
  frame,
  y,
  high,
  kills,
}: {
  lane: Lane;
  frame: Frame;
  y: number;
  high: number;
  kills: TimelineAnswer["kills"];
}) {
  return (
    <g>
      <LaneLabel name={lane.name} y={y} high={high} left={frame.left} />
      <rect class="lane" x={frame.left} y={y} width={frame.width} height={high} rx="2" />
      {lane.spans.map((span) => (
        <Bar
          key={`${span.task} ${span.from}`}
          span={span}
          lane={lane}
          frame={frame}
          y={y}
          high={high}
        />
      ))}
      {kills
        .filter(({ at }) => Date.parse(at) >= frame.from && Date.parse(at) <= frame.to)
        .map(({ at, why, warrant }) => (
          <KillMark
            key={warrant}
            x={xOf(frame, Date.parse(at))}
            y={y + high / 2}
            title={`${lane.name} killed at ${moment(at)}: ${plain(why)}`}
          />
        ))}
    </g>
  );
}

function Bar({
  span,
  lane,
  frame,
  y,
  high,
}: {
  span: Lane["spans"][number];
  lane: Lane;
  frame: Frame;
  y: number;
  high: number;
}) {
  const { task, from, to, outcome, attempt, count: many } = span;
  const begin = Date.parse(from);
  const end = to === null ? frame.now : Date.parse(to);
  if (end < frame.from || begin > frame.to) return null;
  const x = xOf(frame, begin);
  const wide = Math.max(1.5, xOf(frame, end) - x - 0.8);
  const look = lookOf(span);
  const word = `${outcome?.replace("_", " ") ?? "working"}${span.again ? ", tried again" : ""}`;
  const name = many > 1 ? `${count(many)} attempts` : task || "a tick";
  const title = `${lane.name}, ${name}: ${moment(from)}, ${duration(end - begin)}, ${word}${attempt > 1 ? `, attempt ${attempt}` : ""}`;
  const fits = many === 1 && high > 18 && wide > task.length * 7.2 + 12 && task !== "";
  const bar = (
    <>
      <rect class={`bar bar-${look}`} x={x} y={y} width={wide} height={high} rx="3">
        <title>{title}</title>
      </rect>
      {fits && (
        <text class={`on-bar ${look}`} x={x + 6} y={y + high / 2 + 4}>
          {task}
        </text>
      )}
    </>
  );
  if (task === "" || many > 1) return <g>{bar}</g>;
  return (
    <a href={taskHref(task)} tabindex={-1} aria-label={title}>
      {bar}
    </a>
  );
}
