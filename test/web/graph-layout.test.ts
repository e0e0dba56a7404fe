import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fitted, READABLE } from "../../web/src/views/graph/camera.ts";
import { spread } from "../../web/src/views/graph/heights.ts";
import { type Layout, layOut, pathOf } from "../../web/src/views/graph/layout.ts";
import { crossings, orderLayers } from "../../web/src/views/graph/order.ts";
import { digraph } from "../../web/src/views/graph/ranks.ts";
import { holds } from "../support/property.ts";

function overlaps({ nodes, node }: Layout): string[] {
  const all = [...nodes];
  return all.flatMap(([a, p], at) =>
    all.slice(at + 1).flatMap(([b, q]) => {
      const isApart = Math.abs(p.x - q.x) >= node.width || Math.abs(p.y - q.y) >= node.height;
      return isApart ? [] : [`${a} and ${b}`];
    }),
  );
}

/** Nodes that an edge runs behind: its path is looked at every few pixels. */
function runsBehind({ nodes, edges, node }: Layout): string[] {
  const all = [...nodes];
  return edges.flatMap(({ from, to, points }) =>
    all.flatMap(([id, { x, y }]) => {
      if (id === from || id === to) return [];
      const isBehind = points.slice(1).some((end, at) => {
        const start = points[at] ?? end;
        if (Math.max(start.x, end.x) <= x || Math.min(start.x, end.x) >= x + node.width)
          return false;
        return Array.from({ length: 41 }, (_, step) => step / 40).some((t) => {
          // As `pathOf` draws it: level at both ends, and turning half way between them.
          const [u, v] = [1.5 * t * (1 - t), t * t * (3 - 2 * t)];
          const px = start.x + (end.x - start.x) * (u + t * t * t);
          const py = start.y + (end.y - start.y) * v;
          return px > x && px < x + node.width && py > y && py < y + node.height;
        });
      });
      return isBehind ? [`${from} to ${to}: ${id}`] : [];
    }),
  );
}

/** Layers of tasks that need one or two near them in the layer before. */
function layered(layers: number, size: number) {
  const id = (layer: number, at: number) => `l.${layer}.${Math.min(size - 1, Math.max(0, at))}`;
  const ids = Array.from({ length: layers * size }, (_, n) => id(Math.floor(n / size), n % size));
  const edges = Array.from({ length: (layers - 1) * size }, (_, n): [string, string][] => {
    const [layer, at] = [1 + Math.floor(n / size), n % size];
    const to = id(layer, at);
    if ((n + layer) % 2) return [[id(layer - 1, at + ((n * n * 7) % 5) - 2), to]];
    return [at, at + 1].map((near) => [id(layer - 1, near), to]);
  }).flat();
  return { ids, edges };
}

/** Many tasks between a first and a last one; some need a second step, and all lead on. */
function fanned(size: number) {
  const ids = ["first", "sum", "last"];
  const edges: [string, string][] = [
    ["first", "last"],
    ["sum", "last"],
  ];
  for (let at = 0; at < size; at++) {
    ids.push(`w.${at}`);
    edges.push(["first", `w.${at}`], [`w.${at}`, "sum"]);
    if (at % 5 > 0) continue;
    ids.push(`again.${at}`);
    edges.push([`w.${at}`, `again.${at}`], ["first", `again.${at}`], [`again.${at}`, "last"]);
  }
  return { ids, edges };
}

const columnsIn = ({ nodes }: Layout) => new Set([...nodes.values()].map(({ x }) => x)).size;

/** A made-up plan: each task needs a few of those before it. */
function plan(size: number, seed = 1): { ids: string[]; edges: [string, string][] } {
  const ids = Array.from({ length: size }, (_, at) => `task.${at}`);
  const edges: [string, string][] = [];
  let x = seed;
  const random = () => {
    x = (Math.imul(x, 1_103_515_245) + 12_345) & 0x7fffffff;
    return x / 0x7fffffff;
  };
  for (let at = 1; at < size; at++) {
    for (let n = 0; n < 1 + Math.floor(random() * 2); n++) {
      const from = Math.max(0, at - 1 - Math.floor(random() ** 2 * 60));
      edges.push([`task.${from}`, `task.${at}`]);
    }
  }
  return { ids, edges };
}

const graphs = fc
  .tuple(fc.integer({ min: 0, max: 40 }), fc.array(fc.tuple(fc.nat(39), fc.nat(39))))
  .map(([size, pairs]) => ({
    ids: Array.from({ length: size }, (_, at) => `t.${at}`),
    edges: pairs.map(([a, b]): [string, string] => [`t.${a}`, `t.${b}`]),
  }));

describe("the drawing of a graph", () => {
  it("has no overlapping nodes, whatever depends on what", () => {
    holds(
      fc.property(graphs, ({ ids, edges }) => {
        const layout = layOut(ids, edges);
        expect([...layout.nodes.keys()]).toEqual(ids);
        expect(overlaps(layout)).toEqual([]);
        for (const { x, y } of layout.nodes.values()) {
          expect(x >= 0 && x + layout.node.width <= layout.width + 0.5).toBe(true);
          expect(y >= 0 && y + layout.node.height <= layout.height + 0.5).toBe(true);
        }
      }),
      { numRuns: 100 },
    );
  });

  it("leads every edge forward, but for those that close a ring", () => {
    holds(
      fc.property(graphs, ({ ids, edges }) => {
        const { nodes, edges: laid } = layOut(ids, edges);
        for (const { from, to, isBack, points } of laid) {
          const step = (nodes.get(to)?.x ?? 0) - (nodes.get(from)?.x ?? 0);
          expect(isBack ? -step : step).toBeGreaterThan(0);
          const xs = points.map(({ x }) => x);
          expect(xs).toEqual([...xs].sort((a, b) => a - b));
        }
      }),
      { numRuns: 100 },
    );
    const ring = layOut(
      ["a", "b", "c"],
      [
        ["a", "b"],
        ["b", "c"],
        ["c", "a"],
      ],
    );
    expect(ring.edges.filter(({ isBack }) => isBack)).toHaveLength(1);
  });

  it("is the same for the same graph", () => {
    const { ids, edges } = plan(300);
    expect(layOut(ids, edges)).toEqual(layOut(ids, edges));
  });

  it("draws 500 nodes at once, and not as one long line", () => {
    const { ids, edges } = plan(500);
    const { width, height, edges: laid } = layOut(ids, edges);
    expect(laid.length).toBeGreaterThan(500);
    expect(Math.max(width / height, height / width)).toBeLessThan(12);
    // A plan with 400 tasks between a first and a last one.
    const wide = Array.from({ length: 400 }, (_, at) => `w.${at}`);
    const fan = wide.flatMap((id): [string, string][] => [
      ["first", id],
      [id, "last"],
    ]);
    const drawn = layOut(["first", ...wide, "last"], fan);
    expect(Math.max(drawn.width / drawn.height, drawn.height / drawn.width)).toBeLessThan(8);
    expect(overlaps(drawn)).toEqual([]);
  });

  it("leads no edge behind a node, also where a layer stands in several columns", () => {
    holds(
      fc.property(graphs, ({ ids, edges }) => {
        expect(runsBehind(layOut(ids, edges))).toEqual([]);
      }),
      { numRuns: 30 },
    );
    for (const { ids, edges } of [layered(10, 50), layered(2, 150), fanned(200)]) {
      const layout = layOut(ids, edges);
      expect(runsBehind(layout)).toEqual([]);
      expect(overlaps(layout)).toEqual([]);
    }
  });

  it("draws layers of 50 tasks as one column each", () => {
    const { ids, edges } = layered(10, 50);
    for (const width of [88, 160]) {
      const layout = layOut(ids, edges, width);
      expect(columnsIn(layout)).toBe(10);
      expect(layout.height).toBeLessThan(2_300);
    }
  });

  it("draws the columns of one layer side by side, in rows", () => {
    const wide = Array.from({ length: 200 }, (_, at) => `w.${at}`);
    const edges = wide.flatMap((id): [string, string][] => [
      ["first", id],
      [id, "last"],
    ]);
    const { nodes, node } = layOut(["first", ...wide, "last"], edges);
    const xs = [...new Set(wide.map((id) => nodes.get(id)?.x ?? 0))].sort((a, b) => a - b);
    expect(xs.length).toBeGreaterThan(3);
    for (const [at, x] of xs.slice(1).entries()) {
      expect(x - (xs[at] ?? 0)).toBeGreaterThanOrEqual(node.width + 24);
    }
    const heightsAt = (x: number) => wide.map((id) => nodes.get(id)).filter((p) => p?.x === x);
    const rows = xs.map((x) => heightsAt(x).map((p) => p?.y));
    for (const row of rows) expect(row).toEqual(rows[0]?.slice(0, row.length));
    expect((rows[0]?.length ?? 0) - (rows.at(-1)?.length ?? 0)).toBeLessThanOrEqual(1);
  });

  it("puts small groups beside a large one below each other, where there is room", () => {
    const { ids, edges } = fanned(20);
    const pairs = Array.from({ length: 10 }, (_, at): [string, string] => [`a.${at}`, `b.${at}`]);
    const drawn = layOut([...ids, ...pairs.flat()], [...edges, ...pairs]);
    const alone = layOut(ids, edges);
    expect(drawn.height).toBe(alone.height);
    expect(drawn.width).toBeLessThan(alone.width + 3 * drawn.node.width + 100);
    expect(overlaps(drawn)).toEqual([]);
  });

  it("leaves fewer crossings than it found", () => {
    const graph = digraph(6, [
      [0, 5],
      [1, 4],
      [2, 3],
    ]);
    const before = [
      [0, 1, 2],
      [3, 4, 5],
    ];
    expect(crossings(graph, before)).toBe(3);
    expect(crossings(graph, orderLayers(graph, before))).toBe(0);
  });

  it("fits on a desk also when no name can be read then; a phone begins with names", () => {
    const drawing = { width: 1_480, height: 2_000 };
    const { y, zoom } = fitted(drawing, { width: 1_232, height: 800 });
    expect(y).toBeGreaterThan(0);
    expect(y + zoom * drawing.height).toBeLessThan(800);
    expect(zoom).toBeLessThan(READABLE);
    expect(fitted(drawing, { width: 390, height: 680 }).zoom).toBeGreaterThan(READABLE);
  });

  it("moves what would overlap as little as possible", () => {
    expect(spread([0, 0, 100], [0, 10, 10])).toEqual([-5, 5, 100]);
    expect(spread([30, 0], [0, 10])).toEqual([10, 20]);
    expect(
      pathOf([
        { x: 0, y: 0 },
        { x: 10, y: 4 },
      ]),
    ).toBe("M0 0C5 0 5 4 10 4");
  });
});
