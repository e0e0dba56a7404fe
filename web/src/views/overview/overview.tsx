import type { Report } from "../../../../src/overview/report/report-shape.ts";
import { apiPath } from "../../live/api.ts";
import { useResource } from "../../live/resource.ts";
import { session } from "../../live/session.ts";
import type { Timeline } from "../../live/shapes.ts";
import { Choice } from "../../parts/choice.tsx";
import { clock, count, counted, dollars, moment } from "../../parts/format.ts";
import { Failure, Panel } from "../../parts/panel.tsx";
import { copy } from "../../shell/act.ts";
import { NIGHT, useReport } from "../../shell/nav-counts.ts";
import { NewTaskButton } from "../../shell/new-task.tsx";
import { param, setParams } from "../../shell/router.ts";
import { Main, TopBar } from "../../shell/top-bar.tsx";
import { Failures, Killed, Landed, Stuck } from "./below.tsx";
import { Cost, Funnel, tasksIn } from "./figures.tsx";
import { Latest } from "./latest.tsx";
import { needRows } from "./needs.ts";
import { NeedsList } from "./needs-list.tsx";
import { Night, NightLegend } from "./night.tsx";
import { NoTask } from "./no-task.tsx";
import "./overview.css";

const PERIODS = [
  { since: NIGHT, label: "Night", title: "The night" },
  { since: "24h", label: "24h", title: "The day" },
  { since: "7d", label: "7d", title: "The week" },
] as const;

/** Lines of news beside the figures, by the number of needs above them. */
const ROOM_FOR_NEWS = [8, 8, 7, 5, 4];

/** What needs a person first; then done, proven, landed, cost, and the night as a strip. */
export function Overview() {
  const period = PERIODS.find(({ since }) => since === param("since")) ?? PERIODS[0];
  const { data: report, error, refresh } = useReport(period.since);
  const timeline = useResource<Timeline>(apiPath("timeline", { since: period.since }), {
    refreshOn: ["claimed", "ended", "task"],
    every: 5_000,
  });
  const isEmpty = report !== null && tasksIn(report) === 0 && report.done.count === 0;
  const sub = report ? `${session.value?.name ?? ""}, since ${moment(report.since)}` : "";
  return (
    <>
      <TopBar title="Overview" sub={sub}>
        <Choice
          label="Period"
          words={PERIODS.map(({ label }) => label)}
          chosen={period.label}
          onChoose={(word) => {
            const since = PERIODS.find(({ label }) => label === word)?.since;
            setParams({ since: since === NIGHT ? null : since });
          }}
        />
        <button
          type="button"
          class="btn desk"
          title="Copy the command of the report"
          onClick={() => void copy(`viv report --since ${period.since}`)}
        >
          Copy report
        </button>
        <span class="desk">
          <NewTaskButton />
        </span>
      </TopBar>
      <Main>
        {error && report === null && (
          <div class="wrap">
            <Failure error={error} retry={refresh} />
          </div>
        )}
        {isEmpty && report.needs_you.length === 0 && (
          <NoTask text="The run is there, and empty. This page fills by itself as soon as a task is there." />
        )}
        {report !== null && !(isEmpty && report.needs_you.length === 0) && (
          <Loaded report={report} timeline={timeline.data} title={period.title} />
        )}
      </Main>
    </>
  );
}

function Loaded({
  report,
  timeline,
  title,
}: {
  report: Report;
  timeline: Timeline | null;
  title: string;
}) {
  const needs = needRows(report.needs_you);
  const news = ROOM_FOR_NEWS[needs.length];
  return (
    <div class="wrap">
      <Lead report={report} />
      <div class="cols-2">
        <div class="needs-side">
          <NeedsList rows={needs} total={report.needs_you.length} />
          {news !== undefined && <Latest most={news} />}
        </div>
        <div class="stack fills">
          <Funnel report={report} />
          <Cost report={report} />
        </div>
      </div>
      {timeline && timeline.lanes.length > 0 && (
        <Panel title={title} note="done, and who worked when" controls={<NightLegend />}>
          <div class="pad">
            <Night timeline={timeline} />
          </div>
        </Panel>
      )}
      <div class="cols-3">
        <Stuck />
        <Landed report={report} />
        <Failures report={report} />
      </div>
      <Killed report={report} />
      {report.notes.map((text) => (
        <p key={text} class="note">
          <bdi>{text}</bdi>
        </p>
      ))}
    </div>
  );
}

/** One sentence that answers: done, proven, landed, cost, how many things need you. */
function Lead({ report }: { report: Report }) {
  const { done, landed, cost, since, counts, needs_you } = report;
  const day = cost.budgets.find(({ of, unit }) => of === "day" && unit === "usd");
  const needs = needs_you.length;
  return (
    <div>
      <p class="lead">
        <b>{count(done.count)} done</b> since {moment(since)}, <b>{count(done.proven)} proven</b>,{" "}
        <b>{count(landed.count)} landed</b>. {dollars(day?.spent ?? cost.usd)}
        {day && ` of ${dollars(day.limit, Number.isInteger(day.limit) ? 0 : 2)}`}.{" "}
        <b>
          {needs === 0
            ? "Nothing needs you."
            : `${counted(needs, "thing")} ${needs === 1 ? "needs" : "need"} you.`}
        </b>
      </p>
      <p class="t3">
        {counts.claimed + counts.pending + counts.waiting === 0
          ? "The queue is empty."
          : `${counted(counts.claimed, "task")} at work, ${count(counts.pending)} ready, ${count(counts.waiting)} waiting.`}
        {emptyAt(report)}
      </p>
    </div>
  );
}

/** When the queue would be empty at the pace since the first work of the period, while work goes on. */
function emptyAt({ counts, done, since, until, worked }: Report): string {
  const left = counts.pending + counts.waiting + counts.claimed;
  if (counts.claimed === 0 || done.count < 3) return "";
  const now = Date.parse(until);
  const began = Math.max(
    Date.parse(since),
    Math.min(...worked.map(({ from }) => Date.parse(from)), now),
  );
  const at = now + (left / done.count) * (now - began);
  // A clock without seconds says nothing about the next minute.
  if (at - now < 60_000 || at - now > 7 * 86_400_000) return "";
  const time = at - now < 86_400_000 ? clock(at) : moment(at, now);
  return ` At this rate the queue is empty at ${time}.`;
}
