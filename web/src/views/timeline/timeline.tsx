import { useMemo, useState } from "preact/hooks";
import { apiPath } from "../../live/api.ts";
import { now } from "../../live/clock.ts";
import type { TimelineAnswer } from "../../live/data-shapes.ts";
import { useResource } from "../../live/resource.ts";
import { Choice } from "../../parts/choice.tsx";
import { moment } from "../../parts/format.ts";
import { Failure, Panel } from "../../parts/panel.tsx";
import { useKeys } from "../../shell/keys.tsx";
import { param, setParams } from "../../shell/router.ts";
import { Main, TopBar } from "../../shell/top-bar.tsx";
import { NightLegend } from "../overview/night.tsx";
import { NoTask } from "../overview/no-task.tsx";
import { AttemptList } from "./attempt-list.tsx";
import { LaneChart } from "./lane-chart.tsx";
import { Marks } from "./marks.tsx";
import { MiniMap } from "./mini-map.tsx";
import { summaryOf } from "./summary.ts";
import "./timeline.css";
import { clampWindow, type TimeWindow, withRoom } from "./window.ts";

const HOUR = 3_600_000;
const PERIODS = ["12h", "24h", "7d"] as const;
const ALL = { label: "All", ms: 0 };
const ZOOMS = [{ label: "1h", ms: HOUR }, { label: "3h", ms: 3 * HOUR }, ALL];

/** Who worked when, on one axis with what ended when; a part of it, chosen on the strip above. */
export default function TimelineView() {
  const period = PERIODS.find((one) => one === param("since")) ?? "12h";
  const { data, error, refresh } = useResource<TimelineAnswer>(
    apiPath("timeline", { since: period }),
    {
      refreshOn: ["task", "ledger"],
      match: (event) => event.kind !== "ledger" || !["step", "usage"].includes(event.data.event),
      every: 1_500,
    },
  );
  const isList = param("view") === "list";
  const [chosen, choose] = useState<TimeWindow | null>(null);
  const whole = data && {
    from: firstOf(data),
    to: Math.max(now.value, Date.parse(data.until)),
  };
  const zoom = ZOOMS.find(({ label }) => label === param("zoom")) ?? ALL;
  const shown = whole && windowOf(whole, chosen, zoom.ms);
  const move = (by: number) =>
    shown &&
    whole &&
    choose(clampWindow({ from: shown.from + by, to: shown.to + by, isLive: false }, whole));
  const scale = (by: number) => {
    if (!shown || !whole) return;
    const middle = (shown.from + shown.to) / 2;
    const half = ((shown.to - shown.from) / 2) * by;
    choose(clampWindow({ from: middle - half, to: middle + half, isLive: false }, whole));
  };
  const part = shown ? (shown.to - shown.from) / 4 : 0;
  useKeys([
    { keys: ["ArrowLeft", "j"], label: "Earlier", run: () => move(-part) },
    { keys: ["ArrowRight", "k"], label: "Later", run: () => move(part) },
    { keys: ["+", "="], label: "Zoom in", run: () => scale(0.5) },
    { keys: ["-"], label: "Zoom out", run: () => scale(2) },
    { keys: ["0"], label: "Everything", run: () => choose(null) },
  ]);
  const isEmpty = data?.lanes.every(({ spans }) => spans.length === 0) === true;
  const summary = useMemo(
    () => (data && shown ? summaryOf(data, shown) : ""),
    [data, shown?.from, shown?.to],
  );
  return (
    <>
      <TopBar
        title="Timeline"
        sub={
          shown &&
          `lanes per worker, ${moment(shown.from)} to ${shown.isLive ? "now" : moment(shown.to)}`
        }
      >
        <Choice
          className="desk"
          label="Period"
          words={PERIODS}
          chosen={period}
          onChoose={(word) => {
            choose(null);
            setParams({ since: word === "12h" ? null : word });
          }}
        />
        <Choice
          label="Zoom"
          words={ZOOMS.map(({ label }) => label)}
          chosen={chosen === null ? zoom.label : null}
          onChoose={(word) => {
            choose(null);
            setParams({ zoom: word === "All" ? null : word });
          }}
        />
        <button
          type="button"
          class="btn quiet"
          aria-pressed={isList}
          onClick={() => setParams({ view: isList ? null : "list" })}
        >
          List
        </button>
      </TopBar>
      <Main>
        <div class="wrap wide">
          {error && <Failure error={error} retry={refresh} />}
          {isEmpty && (
            <NoTask
              title="No attempt yet"
              text="Each attempt becomes a bar in the lane of its worker."
            />
          )}
          {data && shown && whole && !isEmpty && (
            <>
              <section class="panel" aria-label="Lanes">
                <header>
                  <NightLegend />
                  <span class="grow desk" />
                  <span class="t2 sm cut">{summary}</span>
                </header>
                <MiniMap timeline={data} whole={whole} shown={shown} onChoose={choose} />
                {isList ? (
                  <AttemptList timeline={data} shown={shown} />
                ) : (
                  <LaneChart timeline={data} shown={shown} />
                )}
              </section>
              <Panel title="Marks" note={`since ${moment(data.since)}`}>
                <Marks timeline={data} />
              </Panel>
              {/* Of a chosen part; one that follows the time would speak again and again. */}
              <p class="unseen" aria-live="polite">
                {!shown.isLive && `${moment(shown.from)} to ${moment(shown.to)}: ${summary}`}
              </p>
            </>
          )}
        </div>
      </Main>
    </>
  );
}

/** Where something begins to be seen: a run of a minute does not need twelve hours. */
function firstOf({ since, lanes, until }: TimelineAnswer): number {
  const begins = lanes.flatMap(({ spans }) => (spans[0] ? [Date.parse(spans[0].from)] : []));
  const first = Math.max(Date.parse(since), Math.min(...begins, Date.parse(until)));
  const end = Date.parse(until);
  const least = Math.min(first, end - 90_000);
  return least - (end - least) * 0.02;
}

function windowOf(
  whole: { from: number; to: number },
  chosen: TimeWindow | null,
  zoom: number,
): TimeWindow {
  if (chosen !== null && !chosen.isLive) return chosen;
  const size = chosen === null ? zoom : chosen.to - chosen.from;
  const from = size === 0 ? whole.from : Math.max(whole.from, whole.to - size);
  return { ...withRoom({ from, to: whole.to }), isLive: true };
}
