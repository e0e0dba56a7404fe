import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Graph } from "../../live/data-shapes.ts";
import { count } from "../../parts/format.ts";
import { COLUMN_LABEL, Glyph } from "../../parts/glyph.tsx";
import { Icon } from "../../parts/icons.tsx";
import { plain } from "../../parts/plain.ts";
import { useKeys } from "../../shell/keys.tsx";
import { showTask } from "../../shell/router.ts";
import { type Camera, fitted, panned, READABLE, shownAt, zoomed } from "./camera.ts";
import type { Kin } from "./kin.ts";
import { type Layout, pathOf } from "./layout.ts";
import { neighbourOf } from "./steer.ts";

interface Props {
  graph: Graph;
  layout: Layout;
  kin: Kin | null;
  selected: string | null;
  onSelect: (id: string | null) => void;
}

/** The drawing, to be moved and zoomed; each task is a button, reached with the arrow keys. */
export function Drawing({ graph, layout, kin, selected, onSelect }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [camera, setCamera] = useState<Camera | null>(null);
  const [focused, setFocused] = useState<string | null>(null);
  useLayoutEffect(() => {
    if (box.current === null) return;
    const watcher = new ResizeObserver(([entry]) => {
      const { width = 0, height = 0 } = entry?.contentRect ?? {};
      setSize({ width, height });
    });
    watcher.observe(box.current);
    return () => watcher.disconnect();
  }, []);
  const fit = () => setCamera(null);
  useEffect(fit, [layout]);
  const now = camera ?? fitted(layout, size);
  const zoom = (by: number, x = size.width / 2, y = size.height / 2) =>
    setCamera(zoomed(now, by, x, y));
  useDragging(box, now, setCamera);
  const toNode = (id: string | null) => {
    if (id === null) return;
    setFocused(id);
    const at = layout.nodes.get(id);
    if (at) setCamera(shownAt(now, at, layout.node, size));
    box.current?.querySelector<SVGGElement>(`[data-node="${CSS.escape(id)}"]`)?.focus();
  };
  const active = focused ?? selected ?? graph.nodes[0]?.id ?? null;
  useKeys([
    { keys: ["+", "="], label: "Zoom in", run: () => zoom(1.25) },
    { keys: ["-"], label: "Zoom out", run: () => zoom(0.8) },
    { keys: ["0"], label: "Fit the graph", run: fit },
    {
      ...{ keys: ["j", "k"], label: "Next task, task before" },
      run: ({ key }) => toNode(neighbourOf(graph, layout, active, key === "j" ? "down" : "up")),
    },
    { keys: ["Escape"], label: "Close", when: () => selected !== null, run: () => onSelect(null) },
  ]);
  const onKeyDown = (event: KeyboardEvent) => {
    const way = ARROWS[event.key];
    if (way !== undefined) {
      event.preventDefault();
      toNode(neighbourOf(graph, layout, active, way));
    }
    if (event.key === "Enter" && active !== null) {
      event.preventDefault();
      if (selected === active) showTask(active);
      else onSelect(active);
    }
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the buttons inside take the focus
    <div
      class={`canvas ${kin === null ? "" : "has-kin"} ${now.zoom < READABLE ? "far" : ""}`}
      ref={box}
      onKeyDown={onKeyDown}
      onDblClick={(event) => zoom(1.5, event.offsetX, event.offsetY)}
    >
      {size.width > 0 && (
        <svg width={size.width} height={size.height} role="group" aria-label={sentenceOf(graph)}>
          <g transform={`translate(${now.x} ${now.y}) scale(${now.zoom})`}>
            <Edges layout={layout} kin={kin} selected={selected} graph={graph} />
            {graph.nodes.map((node) => (
              <Node
                key={node.id}
                node={node}
                layout={layout}
                look={lookOf(node.id, selected, kin)}
                isActive={node.id === active}
                onSelect={() => {
                  setFocused(node.id);
                  onSelect(node.id === selected ? null : node.id);
                }}
              />
            ))}
          </g>
        </svg>
      )}
      <div class="zoom">
        <button type="button" class="btn icon" aria-label="Zoom in" onClick={() => zoom(1.25)}>
          <Icon name="plus" size={14} />
        </button>
        <button type="button" class="btn icon" aria-label="Zoom out" onClick={() => zoom(0.8)}>
          <span aria-hidden="true">−</span>
        </button>
        <button type="button" class="btn" onClick={fit}>
          Fit
        </button>
      </div>
    </div>
  );
}

const ARROWS: Record<string, "left" | "right" | "up" | "down" | undefined> = {
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "up",
  ArrowDown: "down",
};

function lookOf(id: string, selected: string | null, kin: Kin | null): string {
  if (id === selected) return "on kin";
  return kin !== null && (kin.needs.has(id) || kin.neededBy.has(id)) ? "kin" : "";
}

function sentenceOf({ nodes, edges }: Graph): string {
  return `${count(nodes.length)} tasks with ${count(edges.length)} dependencies. The arrow keys go to what a task needs and to what needs it; Enter selects.`;
}

/** Edges that lead to or from the selected task, above the others. */
function Edges({ layout, kin, selected, graph }: Omit<Props, "onSelect">) {
  const paths = useMemo(() => layout.edges.map(({ points }) => pathOf(points)), [layout]);
  const toneOf = useMemo(() => new Map(graph.nodes.map(({ id, column }) => [id, column])), [graph]);
  const isHot = (from: string, to: string) =>
    kin !== null &&
    ((kin.needs.has(from) && (kin.needs.has(to) || to === selected)) ||
      (kin.neededBy.has(to) && (kin.neededBy.has(from) || from === selected)));
  const hot = layout.edges.map(({ from, to }) => isHot(from, to));
  const cold = paths.filter((_, at) => !hot[at] && layout.edges[at]?.isBack !== true).join("");
  return (
    <g>
      <path class="edge" d={cold} />
      {layout.edges.map(({ from, to, isBack }, at) => {
        if (!hot[at] && !isBack) return null;
        const isMet = toneOf.get(from) === "done";
        const own = toneOf.get(selected ?? "");
        const tone = isMet ? "done" : ((own === "done" ? toneOf.get(from) : own) ?? "waiting");
        const look = hot[at] ? `edge hot s-${tone}` : "edge back";
        return <path key={`${from} ${to}`} class={look} d={paths[at]} />;
      })}
    </g>
  );
}

function Node({
  node,
  layout,
  look,
  isActive,
  onSelect,
}: {
  node: Graph["nodes"][number];
  layout: Layout;
  look: string;
  isActive: boolean;
  onSelect: () => void;
}) {
  const { id, column, title } = node;
  const { x, y } = layout.nodes.get(id) ?? { x: 0, y: 0 };
  const { width, height } = layout.node;
  const most = Math.floor((width - 34) / 7.2);
  const name = plain(id);
  const short = name.length > most ? `${name.slice(0, most - 1)}…` : name;
  const state = column === null ? "not there" : COLUMN_LABEL[column];
  return (
    <g
      class={`node s-${column ?? "none"} ${look}`}
      data-node={id}
      role="button"
      // In SVG, an attribute's letters count.
      tabindex={isActive ? 0 : -1}
      aria-label={`${name}, ${state}${title === "" ? "" : `: ${plain(title)}`}`}
      aria-pressed={look.startsWith("on")}
      transform={`translate(${x} ${y})`}
      onClick={onSelect}
    >
      <title>{title === "" ? name : `${name}: ${plain(title)}`}</title>
      <rect width={width} height={height} rx="5" />
      <g transform="translate(7 6)">
        <Glyph tone={column ?? "none"} />
      </g>
      <text x="28" y="17">
        {short}
      </text>
    </g>
  );
}

/** Dragging moves, the wheel moves, with Ctrl (and by pinching) it zooms. */
function useDragging(
  box: { current: HTMLDivElement | null },
  now: Camera,
  set: (camera: Camera) => void,
): void {
  const latest = useRef(now);
  latest.current = now;
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const pointers = new Map<number, { x: number; y: number }>();
    const onWheel = (event: WheelEvent) => {
      event.preventDefault();
      const { left, top } = element.getBoundingClientRect();
      const isZoom = event.ctrlKey || event.metaKey;
      const by = Math.exp(-event.deltaY / (event.ctrlKey ? 120 : 240));
      set(
        isZoom
          ? zoomed(latest.current, by, event.clientX - left, event.clientY - top)
          : panned(latest.current, -event.deltaX, -event.deltaY),
      );
    };
    const onDown = (event: PointerEvent) => {
      if (event.button !== 0 || (event.target as Element).closest(".zoom")) return;
      pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    };
    const onMove = (event: PointerEvent) => {
      const last = pointers.get(event.pointerId);
      if (last === undefined) return;
      const at = { x: event.clientX, y: event.clientY };
      const moved = Math.abs(at.x - last.x) + Math.abs(at.y - last.y);
      if (pointers.size === 1 && moved > 3 && !element.hasPointerCapture(event.pointerId)) {
        element.setPointerCapture(event.pointerId);
      }
      const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
      if (other !== undefined) {
        const far = (p: { x: number; y: number }) => Math.hypot(p.x - other.x, p.y - other.y);
        const { left, top } = element.getBoundingClientRect();
        const [x, y] = [(at.x + other.x) / 2 - left, (at.y + other.y) / 2 - top];
        set(zoomed(latest.current, far(at) / Math.max(1, far(last)), x, y));
      } else if (element.hasPointerCapture(event.pointerId)) {
        set(panned(latest.current, at.x - last.x, at.y - last.y));
      } else return;
      pointers.set(event.pointerId, at);
    };
    const onUp = (event: PointerEvent) => void pointers.delete(event.pointerId);
    element.addEventListener("wheel", onWheel, { passive: false });
    element.addEventListener("pointerdown", onDown);
    element.addEventListener("pointermove", onMove);
    for (const end of ["pointerup", "pointercancel"] as const) element.addEventListener(end, onUp);
    return () => {
      element.removeEventListener("wheel", onWheel);
      element.removeEventListener("pointerdown", onDown);
      element.removeEventListener("pointermove", onMove);
      for (const end of ["pointerup", "pointercancel"] as const) {
        element.removeEventListener(end, onUp);
      }
    };
  }, []);
}
