import { useEffect } from "preact/hooks";
import { apiPath } from "../../live/api.ts";
import type { Fleet } from "../../live/data-shapes.ts";
import { useResource } from "../../live/resource.ts";
import { Empty } from "../../parts/empty.tsx";
import { counted } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { Failure } from "../../parts/panel.tsx";
import { act, once } from "../../shell/act.ts";
import { useReport } from "../../shell/nav-counts.ts";
import { Main, TopBar } from "../../shell/top-bar.tsx";
import { useRowKeys } from "../row-keys.ts";
import { Crew } from "./crew.tsx";
import "./fleet.css";
import { GatePanel } from "./gate.tsx";
import { Parts, Schedules } from "./parts.tsx";
import { Workers } from "./workers.tsx";

/** Heartbeats and ticks make no event. */
const LOOK_MS = 5_000;

const LESSONS = [
  { title: "Start a worker", command: "viv work --handler ./do.sh" },
  { title: "Or everything that viv.toml declares", command: "viv up" },
  { title: "A crew of standing agents", command: "viv crew up crew.org" },
];

/** Workers and crew: what each does now, behind one gate. */
export default function FleetView() {
  const { data, error, refresh } = useResource<Fleet>(apiPath("fleet"), {
    refreshOn: ["task", "ledger"],
    every: 700,
  });
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) refresh();
    }, LOOK_MS);
    return () => clearInterval(timer);
  }, []);
  useRowKeys(".fl tbody tr", "row");
  const members = data?.crew?.members ?? [];
  const workers = data?.workers ?? [];
  const isEmpty = data !== null && workers.length + members.length === 0 && !data.parts?.running;
  return (
    <>
      <TopBar title="Fleet" sub={data === null ? "" : subOf(data)}>
        <RunPause />
      </TopBar>
      <Main>
        <div class="wrap">
          {error && <Failure error={error} retry={refresh} />}
          {data?.gate && <GatePanel gate={data.gate} fleet={data} />}
          {isEmpty && (
            <Empty title="No worker here yet" lessons={LESSONS}>
              A worker claims ready tasks and runs a handler for each. It appears here at once.
            </Empty>
          )}
          {workers.length > 0 && <Workers workers={workers} onChange={refresh} />}
          {data?.crew && <Crew crew={data.crew} onChange={refresh} />}
          {data && (data.parts?.running || data.schedules) && (
            <div class="cols-even">
              {data.parts?.running && <Parts parts={data.parts} />}
              {data.schedules && <Schedules list={data.schedules} onChange={refresh} />}
            </div>
          )}
        </div>
      </Main>
    </>
  );
}

function subOf({ workers, crew, gate }: Fleet): string {
  const words = [counted(workers.length, "worker")];
  if (crew !== null) words.push(`${crew.members.length} crew`);
  const { max, holders } = gate?.machine ?? { max: null, holders: [] };
  if (max !== null && holders.length >= max) words.push("gate full");
  return words.join(", ");
}

/** Of the whole run: claims stop, work under way goes on. */
function RunPause() {
  const { data, refresh } = useReport();
  const isPaused =
    data?.needs_you.some(({ kind, subject }) => kind === "paused" && subject === "") === true;
  const change = async () => {
    const said = isPaused ? "The run goes on" : "Nothing is claimed any more; work goes on";
    if (await act(isPaused ? "resume" : "pause", {}, { said })) refresh();
  };
  return (
    <button
      type="button"
      class={isPaused ? "btn primary" : "btn quiet"}
      title={isPaused ? "viv resume" : "viv pause"}
      onClick={once(change)}
    >
      <Icon name={isPaused ? "play" : "pause"} size={14} />
      {isPaused ? "Resume claims" : "Pause claims"}
    </button>
  );
}
