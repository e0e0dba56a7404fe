import { useMemo, useState } from "preact/hooks";
import { apiPath } from "../../live/api.ts";
import type { Graph } from "../../live/data-shapes.ts";
import { useResource } from "../../live/resource.ts";
import { Empty } from "../../parts/empty.tsx";
import { count, counted } from "../../parts/format.ts";
import { COLUMN_LABEL, COLUMNS, Glyph } from "../../parts/glyph.tsx";
import { Icon } from "../../parts/icons.tsx";
import { Failure } from "../../parts/panel.tsx";
import { param, setParams } from "../../shell/router.ts";
import { Main, TopBar } from "../../shell/top-bar.tsx";
import { FilterField } from "../filter-field.tsx";
import { Dock } from "./dock.tsx";
import { Drawing } from "./drawing.tsx";
import "./graph.css";
import { kinOf } from "./kin.ts";
import { layOut } from "./layout.ts";

const LESSONS = [
  { title: "A task that needs another", command: "viv enqueue --type sum --depends-on fix.1" },
  { title: "A whole plan, one task per line", command: "viv enqueue --jsonl plan.jsonl" },
];

/** Tasks and what they need, from left to right. */
export default function GraphView() {
  const filter = param("filter");
  const around = param("around");
  const { data, error, refresh } = useResource<Graph>(apiPath("graph", { filter, around }), {
    refreshOn: ["task", "landed", "conflict"],
    every: 1_500,
  });
  // The drawing stays while only states change: its shape is that of the ids and edges.
  const shape = data === null ? "" : JSON.stringify([data.nodes.map(({ id }) => id), data.edges]);
  const layout = useMemo(() => (data === null ? null : layOutGraph(data)), [shape]);
  const [selected, select] = useState<string | null>(null);
  const chosen = data?.nodes.find(({ id }) => id === selected) ?? null;
  const kin = useMemo(() => (chosen === null ? null : kinOf(data, chosen.id)), [data, chosen?.id]);
  const isEmpty = data !== null && data.nodes.length === 0;
  return (
    <>
      <TopBar title="Graph" sub={subOf(data, around)}>
        <div class="legend desk">
          {COLUMNS.map((column) => (
            <span key={column}>
              <Glyph tone={column} />
              {COLUMN_LABEL[column]}
            </span>
          ))}
        </div>
      </TopBar>
      <Main className="graph">
        <search class="filters">
          <FilterField placeholder="Filter: type:fix worker:ada" label="Filter tasks" />
          {around !== "" && (
            <button
              type="button"
              class="pick"
              aria-pressed
              onClick={() => setParams({ around: null })}
            >
              around <bdi class="id">{around}</bdi>
              <Icon name="close" size={12} />
            </button>
          )}
        </search>
        {error && <Failure error={error} retry={refresh} />}
        {isEmpty && <Nothing filter={filter} />}
        {data && layout && !isEmpty && (
          <Drawing graph={data} layout={layout} kin={kin} selected={selected} onSelect={select} />
        )}
        {chosen && kin && <Dock node={chosen} kin={kin} onClose={() => select(null)} />}
      </Main>
    </>
  );
}

function layOutGraph({ nodes, edges }: Graph) {
  const longest = Math.max(...nodes.map(({ id }) => [...id].length), 8);
  const width = Math.min(190, Math.max(88, Math.round(longest * 7.3 + 36)));
  return layOut(
    nodes.map(({ id }) => id),
    edges,
    width,
  );
}

function subOf(data: Graph | null, around: string): string {
  if (data === null) return "";
  const shown = counted(data.nodes.length, "task");
  const more = data.more > 0 ? `, ${count(data.more)} more` : "";
  return around === "" ? `${shown}${more}` : `${shown} around ${around}${more}`;
}

function Nothing({ filter }: { filter: string }) {
  if (filter !== "") return <Empty title="No task with dependencies matches" />;
  return (
    <Empty title="No task needs another" lessons={LESSONS}>
      A task that depends on others waits until they are done. Then they are drawn here.
    </Empty>
  );
}
