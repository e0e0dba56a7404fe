import { heightsOf } from "./heights.ts";
import { orderLayers } from "./order.ts";
import { acyclic, type Digraph, digraph, groupsOf, ranksOf } from "./ranks.ts";
import { BEND_GAP, COLUMN_GAP, NODE_HEIGHT, ROW_GAP, rowsOf, SUBCOLUMN_GAP } from "./rows.ts";

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

/** Between a row and the edges that pass it. */
const PASS_GAP = 4;
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
  const groups = groupsOf(whole).map((nodes) => layOutGroup(nodes, ranks, forward, nodeWidth));
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
  const rows = rowsOf(orderLayers(graph, layers), isBend, nodeWidth);
  // A row stands and moves as one: its first node is its name.
  const rowOf = rank.map((_, node) => node);
  for (const row of rows.flat()) for (const node of row) rowOf[node] = row[0] ?? node;
  const columns = rows.map((layer) => layer.map(([first = 0]) => first));
  const y = heightsOf(
    digraph(
      rank.length,
      inner.map(([a, b]): [number, number] => [rowOf[a] ?? a, rowOf[b] ?? b]),
    ),
    columns,
    (a, b) => {
      const half = (node: number) => (isBend(node) ? BEND_GAP : NODE_HEIGHT + ROW_GAP) / 2;
      return half(a) + half(b);
    },
  );
  const top = Math.min(...columns.flat().map((node) => y[node] ?? 0));
  const place = new Array<Point>(rank.length).fill(ORIGIN);
  /** Of each layer: its left and right edge. */
  const sides: [number, number][] = [];
  const step = nodeWidth + SUBCOLUMN_GAP;
  let x = 0;
  for (const layer of rows) {
    for (const row of layer) {
      const height = Math.round(((y[row[0] ?? 0] ?? 0) - top) * 2) / 2;
      row.forEach((node, at) => {
        place[node] = { x: x + at * step, y: height };
      });
    }
    const right = x + (Math.max(...layer.map(({ length }) => length)) - 1) * step + nodeWidth;
    sides.push([x, right]);
    x = right + COLUMN_GAP;
  }
  /** Level, so that no edge runs behind a node: above the row on the way in, below it on the way out. */
  const passed = (node: number, from: number, to: number, by: number) => {
    const height = (place[node] ?? ORIGIN).y + NODE_HEIGHT / 2 + by;
    return from < to ? [from, to].map((x) => ({ x, y: height, group: 0 })) : [];
  };
  const pass = NODE_HEIGHT / 2 + PASS_GAP;
  const bends = new Map(
    [...chains].map(([edge, chain]) => {
      const [start = 0, end = 0] = (edges[edge] ?? []).map((node) => local.get(node) ?? 0);
      const [out, into] = [(place[start] ?? ORIGIN).x + step, (place[end] ?? ORIGIN).x];
      return [
        edge,
        [
          ...passed(start, out, sides[rank[start] ?? 0]?.[1] ?? 0, pass),
          ...chain.flatMap((node) => passed(node, ...(sides[rank[node] ?? 0] ?? [0, 0]), 0)),
          ...passed(end, sides[rank[end] ?? 0]?.[0] ?? 0, into - SUBCOLUMN_GAP, -pass),
        ],
      ];
    }),
  );
  return {
    nodes,
    places: new Map(nodes.map((node, at) => [node, place[at] ?? ORIGIN])),
    bends,
    width: x - COLUMN_GAP,
    height: Math.max(...place.map(({ y }) => y)) + NODE_HEIGHT,
    at: { x: 0, y: 0 },
  };
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

/** In shelves, the largest first; on a shelf, small groups one below the other. */
function pack(groups: Group[]): { places: Point[]; width: number; height: number } {
  const sorted = [...groups].sort((a, b) => b.nodes.length - a.nodes.length);
  const area = groups.reduce(
    (sum, { width, height }) => sum + (width + GROUP_GAP) * (height + GROUP_GAP),
    0,
  );
  // About as wide as a screen, compared to its height.
  const widest = Math.max(900, Math.sqrt(area * 1.9), ...groups.map(({ width }) => width));
  const shelf = { y: 0, height: 0 };
  const column = { x: 0, width: 0, height: 0 };
  let width = 0;
  for (const group of sorted) {
    const isBelow =
      column.height + group.height <= shelf.height &&
      column.x + Math.max(column.width, group.width) <= widest;
    if (!isBelow) {
      Object.assign(column, { x: column.x + column.width, width: 0, height: 0 });
      if (column.x > 0 && column.x + group.width > widest) {
        Object.assign(shelf, { y: shelf.y + shelf.height + GROUP_GAP, height: 0 });
        column.x = 0;
      }
    }
    group.at = { x: column.x, y: shelf.y + column.height };
    column.height += group.height + GROUP_GAP;
    column.width = Math.max(column.width, group.width + COLUMN_GAP);
    shelf.height = Math.max(shelf.height, column.height - GROUP_GAP);
    width = Math.max(width, group.at.x + group.width);
  }
  const places: Point[] = [];
  groups.forEach((group, number) => {
    for (const [node, { x, y }] of group.places) {
      places[node] = { x: x + group.at.x, y: y + group.at.y };
    }
    for (const bends of group.bends.values()) for (const bend of bends) bend.group = number;
  });
  return { places, width, height: shelf.y + shelf.height };
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
