import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
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
