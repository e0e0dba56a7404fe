import { heightsOf } from "./heights.ts";
import { orderLayers } from "./order.ts";
import { acyclic, type Digraph, digraph, groupsOf, ranksOf } from "./ranks.ts";

/**
 * A layered drawing from left to right: dependencies left of the tasks that need them. By itself, in
 * milliseconds, and always the same for the same input.
 */
export interface Layout {
  nodes: Map<string, Point>;
  edges: LaidEdge[];
  width: number;
  height: number;
  node: { width: number; height: number };
}

export interface Point {
  x: number;
  y: number;
}

export interface LaidEdge {
  from: string;
  to: string;
  /** From the right edge of one to the left edge of the other. */
  points: Point[];
  /** It closes a ring. */
  isBack: boolean;
}

const NODE_HEIGHT = 26;
const ROW_GAP = 12;
const BEND_GAP = 6;
const COLUMN_GAP = 56;
const SUBCOLUMN_GAP = 14;
const GROUP_GAP = 28;
/** Edges over many layers bend at each; beyond so many bends they go straight. */
const MOST_BENDS = 4000;

export function layOut(
  ids: readonly string[],
  edges: readonly (readonly [string, string])[],
  nodeWidth = 112,
): Layout {
  const number = new Map(ids.map((id, at) => [id, at]));
  const given = edges.flatMap(([a, b]): [number, number][] => {
    const [from, to] = [number.get(a), number.get(b)];
    return from === undefined || to === undefined || from === to ? [] : [[from, to]];
  });
  const { edges: forward, isTurned } = acyclic(ids.length, given);
  const whole = digraph(ids.length, forward);
  const ranks = ranksOf(whole);
  const most = Math.max(24, Math.ceil(Math.sqrt(ids.length * 2.2)));
  const groups = groupsOf(whole).map((nodes) =>
    layOutGroup(nodes, ranks, forward, nodeWidth, most),
  );
  const { places, width, height } = pack(groups);
  const nodes = new Map(ids.map((id, at) => [id, places[at] ?? { x: 0, y: 0 }]));
  const bends = new Map(groups.flatMap((one) => [...one.bends]));
  const laid = forward.map(([a, b], at): LaidEdge => {
    const between = (bends.get(at) ?? []).map(({ x, y, group }) => ({
      x: x + (groups[group]?.at.x ?? 0),
      y: y + (groups[group]?.at.y ?? 0),
    }));
    const [start, end] = [places[a] ?? ORIGIN, places[b] ?? ORIGIN];
    const middle = NODE_HEIGHT / 2;
    const points = [
      { x: start.x + nodeWidth, y: start.y + middle },
      ...between,
      { x: end.x, y: end.y + middle },
    ];
    const [from, to] = isTurned[at] ? [b, a] : [a, b];
    return { from: ids[from] ?? "", to: ids[to] ?? "", points, isBack: isTurned[at] === true };
  });
  return { nodes, edges: laid, width, height, node: { width: nodeWidth, height: NODE_HEIGHT } };
}

const ORIGIN: Point = { x: 0, y: 0 };

interface Group {
  /** Of the whole graph. */
  nodes: readonly number[];
  places: Map<number, Point>;
  /** By edge. */
  bends: Map<number, { x: number; y: number; group: number }[]>;
  width: number;
  height: number;
  /** Where it stands in the whole. */
  at: Point;
}

function layOutGroup(
  nodes: readonly number[],
  ranks: readonly number[],
  edges: readonly (readonly [number, number])[],
  nodeWidth: number,
  most: number,
): Group {
  const first = Math.min(...nodes.map((node) => ranks[node] ?? 0));
  const local = new Map(nodes.map((node, at) => [node, at]));
  const rank = nodes.map((node) => (ranks[node] ?? 0) - first);
  const inner: [number, number][] = [];
  const chains = new Map<number, number[]>();
  edges.forEach(([a, b], at) => {
    const [from, to] = [local.get(a), local.get(b)];
    if (from === undefined || to === undefined) return;
    const chain: number[] = [];
    let last = from;
    const span = (rank[to] ?? 0) - (rank[from] ?? 0);
    const isBent = rank.length - nodes.length + span <= MOST_BENDS;
    for (let r = (rank[from] ?? 0) + 1; isBent && r < (rank[to] ?? 0); r++) {
      const bend = rank.length;
      rank.push(r);
      inner.push([last, bend]);
      chain.push(bend);
      last = bend;
    }
    if (isBent) inner.push([last, to]);
    chains.set(at, chain);
  });
  const graph = digraph(rank.length, inner);
  const depth = Math.max(...rank) + 1;
  const layers: number[][] = Array.from({ length: depth }, () => []);
  for (const node of deepFirst(graph)) layers[rank[node] ?? 0]?.push(node);
  const isBend = (node: number) => node >= nodes.length;
  const ordered = orderLayers(graph, layers).flatMap((layer) => columnsOf(layer, isBend, most));
  const columns = ordered.map(({ nodes }) => nodes);
  const apart = (a: number, b: number) => {
    const half = (node: number) => (isBend(node) ? BEND_GAP / 2 : (NODE_HEIGHT + ROW_GAP) / 2);
    return half(a) + half(b);
  };
  const y = heightsOf(graph, columns, apart);
  let x = 0;
  const columnX = ordered.map(({ isFirst }, at) => {
    if (at > 0) x += nodeWidth + (isFirst ? COLUMN_GAP : SUBCOLUMN_GAP);
    return x;
  });
  const top = Math.min(...y);
  const place = new Array<Point>(rank.length).fill(ORIGIN);
  columns.forEach((column, at) => {
    for (const node of column) {
      place[node] = { x: columnX[at] ?? 0, y: Math.round(((y[node] ?? 0) - top) * 2) / 2 };
    }
  });
  const bends = new Map(
    [...chains].map(([edge, chain]) => [
      edge,
      chain.map((node) => {
        const { x, y } = place[node] ?? ORIGIN;
        return { x: x + nodeWidth / 2, y: y + NODE_HEIGHT / 2, group: 0 };
      }),
    ]),
  );
  return {
    nodes,
    places: new Map(nodes.map((node, at) => [node, place[at] ?? ORIGIN])),
    bends,
    width: x + nodeWidth,
    height: Math.max(...nodes.map((_, at) => place[at]?.y ?? 0)) + NODE_HEIGHT,
    at: { x: 0, y: 0 },
  };
}

/** A layer with very many nodes stands in several columns: a drawing is about as wide as high. */
function columnsOf(
  layer: readonly number[],
  isBend: (node: number) => boolean,
  most: number,
): { nodes: number[]; isFirst: boolean }[] {
  const real = layer.filter((node) => !isBend(node)).length;
  const count = Math.max(1, Math.ceil(real / most));
  const size = Math.ceil(layer.length / count);
  return Array.from({ length: count }, (_, at) => ({
    nodes: layer.slice(at * size, (at + 1) * size),
    isFirst: at === 0,
  })).filter(({ nodes }) => nodes.length > 0);
}

/** A first order in which what hangs together is near: depth first from what needs nothing. */
function deepFirst({ size, out, into }: Digraph): number[] {
  const seen = new Uint8Array(size);
  const order: number[] = [];
  const visit = (root: number) => {
    const stack = [root];
    for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
      if (seen[node]) continue;
      seen[node] = 1;
      order.push(node);
      stack.push(...(out[node] ?? []).toReversed());
    }
  };
  for (let node = 0; node < size; node++) if (into[node]?.length === 0) visit(node);
  return order;
}

/** Groups one below the other, the largest first; small ones side by side. */
function pack(groups: Group[]): { places: Point[]; width: number; height: number } {
  const sorted = [...groups].sort((a, b) => b.nodes.length - a.nodes.length);
  const area = groups.reduce(
    (sum, { width, height }) => sum + (width + GROUP_GAP) * (height + GROUP_GAP),
    0,
  );
  // About as wide as a screen, compared to its height.
  const widest = Math.max(900, Math.sqrt(area * 1.9), ...groups.map(({ width }) => width));
  let [x, y, shelf, width] = [0, 0, 0, 0];
  for (const group of sorted) {
    if (x > 0 && x + group.width > widest) {
      y += shelf + GROUP_GAP;
      x = 0;
      shelf = 0;
    }
    group.at = { x, y };
    x += group.width + GROUP_GAP;
    shelf = Math.max(shelf, group.height);
    width = Math.max(width, x - GROUP_GAP);
  }
  const places: Point[] = [];
  groups.forEach((group, number) => {
    for (const [node, { x, y }] of group.places) {
      places[node] = { x: x + group.at.x, y: y + group.at.y };
    }
    for (const bends of group.bends.values()) for (const bend of bends) bend.group = number;
  });
  return { places, width, height: y + shelf };
}

/** A smooth path through the points: level at each. */
export function pathOf(points: readonly Point[]): string {
  const [first, ...rest] = points;
  if (first === undefined) return "";
  let path = `M${first.x} ${first.y}`;
  let last = first;
  for (const point of rest) {
    const half = (last.x + point.x) / 2;
    path += `C${half} ${last.y} ${half} ${point.y} ${point.x} ${point.y}`;
    last = point;
  }
  return path;
}
