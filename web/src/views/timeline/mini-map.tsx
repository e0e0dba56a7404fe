import { useMemo, useRef } from "preact/hooks";
import type { TimelineAnswer } from "../../live/data-shapes.ts";
import { moment } from "../../parts/format.ts";
import { labelWidth, shownLanes } from "../../parts/lanes.tsx";
import { useWidth } from "../../parts/use-width.ts";
import {
  type Frame,
  lanePaths,
  type SpanLook,
  ticksOf,
  tickText,
  xOf,
} from "../overview/night-drawing.ts";
import { clampWindow, MOST_LANES, type TimeWindow, withRoom } from "./window.ts";

const LOOKS: readonly SpanLook[] = ["ok", "again", "no", "run"];

/** The whole period, small; a drag over it chooses the part that is shown below. */
export function MiniMap({
  timeline,
  whole,
  shown,
  onChoose,
}: {
  timeline: TimelineAnswer;
  whole: { from: number; to: number };
  shown: TimeWindow;
  onChoose: (window: TimeWindow | null) => void;
}) {
  const { ref, width } = useWidth<HTMLDivElement>();
  const left = labelWidth(width);
  const frame: Frame = {
    ...{ ...withRoom(whole), now: Date.parse(timeline.until) },
    ...{ left, width: Math.max(1, width - left - 8) },
  };
  const lanes = shownLanes(timeline.lanes, MOST_LANES);
  const pitch = Math.max(2, Math.min(5, 60 / Math.max(1, lanes.length)));
  const high = Math.max(18, lanes.length * pitch);
  const paths = useMemo(
    () => lanes.map((lane, at) => lanePaths(lane, frame, 4 + at * pitch, pitch - 1)),
    [timeline, frame.width, whole.from, Math.round(whole.to / 5_000)],
  );
  const drag = useRef<{ time: number; window: TimeWindow; isMove: boolean } | null>(null);
  const timeAt = (event: PointerEvent) => {
    const { left: edge } = (ref.current as HTMLElement).getBoundingClientRect();
    const padding = 16;
    const share = (event.clientX - edge - padding - left) / frame.width;
    return frame.from + Math.min(1, Math.max(0, share)) * (frame.to - frame.from);
  };
  const onDown = (event: PointerEvent) => {
    const time = timeAt(event);
    const isInside = time > shown.from && time < shown.to;
    const isMove = isInside && shown.to - shown.from < (whole.to - whole.from) * 0.95;
    drag.current = { time, window: shown, isMove };
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
  };
  const onMove = (event: PointerEvent) => {
    if (drag.current === null) return;
    const { time, window, isMove } = drag.current;
    const to = timeAt(event);
    const by = to - time;
    const next = isMove
      ? { from: window.from + by, to: window.to + by }
      : { from: Math.min(time, to), to: Math.max(time, to) };
    if (Math.abs(by) > (whole.to - whole.from) / 200) {
      onChoose(clampWindow({ ...next, isLive: false }, whole));
    }
  };
  const onUp = () => {
    drag.current = null;
  };
  const x0 = xOf(frame, shown.from);
  const x1 = xOf(frame, shown.to);
  return (
    <div class="mini desk" ref={ref}>
      {width > 0 && (
        <svg
          width={width}
          height={high + 24}
          role="img"
          aria-label={`From ${moment(whole.from)} to ${moment(whole.to)}; shown is ${moment(shown.from)} to ${moment(shown.to)}. The arrow keys move, plus and minus zoom.`}
          onPointerDown={onDown}
          onPointerMove={onMove}
          onPointerUp={onUp}
          onPointerCancel={onUp}
          onDblClick={() => onChoose(null)}
        >
          {paths.map((lane, at) =>
            LOOKS.map(
              (look) =>
                lane[look] !== "" && (
                  <path key={`${at} ${look}`} class={`bar-${look}`} d={lane[look]} />
                ),
            ),
          )}
          {timeline.kills.map(({ at, warrant }) => (
            <path
              key={warrant}
              class="kill"
              transform={`translate(${xOf(frame, Date.parse(at))} 6)`}
              d="M-3-3l6 6M3-3l-6 6"
            />
          ))}
          {ticksOf(frame, 84).map((time, at, all) => (
            <text key={time} x={xOf(frame, time)} y={high + 19} text-anchor="middle">
              {tickText(frame, time, all[at - 1])}
            </text>
          ))}
          <rect class="brush" x={x0} y="1" width={Math.max(4, x1 - x0)} height={high + 5} rx="3" />
        </svg>
      )}
    </div>
  );
}
