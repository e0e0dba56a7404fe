import type { Digraph } from "./ranks.ts";

const SWEEPS = 12;

/**
 * The order of the nodes in each layer, so that few edges cross: each is put at the mean of its
 * neighbours in the layer before, then of those behind it, several times; the best order is kept.
 */
export function orderLayers(graph: Digraph, layers: readonly (readonly number[])[]): number[][] {
  let now = layers.map((layer) => [...layer]);
  let best = now.map((layer) => [...layer]);
  let fewest = crossings(graph, best);
  for (let sweep = 0; sweep < SWEEPS && fewest > 0; sweep++) {
    const isDown = sweep % 2 === 0;
    const near = isDown ? graph.into : graph.out;
    const place = placesIn(now, graph.size);
    const steps = isDown ? now.map((_, at) => at) : now.map((_, at) => now.length - 1 - at);
    now = [...now];
    for (const at of steps) {
      const sorted = byMean(now[at] ?? [], near, place);
      now[at] = sorted;
      sorted.forEach((node, index) => {
        place[node] = index / Math.max(1, sorted.length - 1);
      });
    }
    const crossed = crossings(graph, now);
    if (crossed >= fewest) continue;
    fewest = crossed;
    best = now.map((layer) => [...layer]);
  }
  return best;
}

function placesIn(layers: readonly (readonly number[])[], size: number): number[] {
  const place = new Array<number>(size).fill(0);
  for (const layer of layers) {
    layer.forEach((node, index) => {
      place[node] = index / Math.max(1, layer.length - 1);
    });
  }
  return place;
}

/** Nodes without a neighbour there keep their place; equal ones their order. */
function byMean(
  layer: readonly number[],
  near: readonly (readonly number[])[],
  place: readonly number[],
): number[] {
  const rows = layer.map((node, index) => {
    const all = near[node] ?? [];
    const sum = all.reduce((total, one) => total + (place[one] ?? 0), 0);
    return { node, index, mean: all.length === 0 ? (place[node] ?? 0) : sum / all.length };
  });
  return rows.sort((a, b) => a.mean - b.mean || a.index - b.index).map(({ node }) => node);
}

/** Of all neighbouring layers: pairs of edges that cross, counted with a tree of sums. */
export function crossings(graph: Digraph, layers: readonly (readonly number[])[]): number {
  const at = new Array<number>(graph.size).fill(0);
  for (const layer of layers) {
    layer.forEach((node, index) => {
      at[node] = index;
    });
  }
  let total = 0;
  for (let rank = 0; rank + 1 < layers.length; rank++) {
    const width = layers[rank + 1]?.length ?? 0;
    const tree = new Int32Array(width + 1);
    let added = 0;
    for (const node of layers[rank] ?? []) {
      const ends = (graph.out[node] ?? []).map((to) => at[to] ?? 0).sort((a, b) => a - b);
      for (const end of ends) {
        let before = 0;
        for (let i = end + 1; i > 0; i -= i & -i) before += tree[i] ?? 0;
        total += added - before;
      }
      for (const end of ends) {
        added++;
        for (let i = end + 1; i <= width; i += i & -i) tree[i] = (tree[i] ?? 0) + 1;
      }
    }
  }
  return total;
}
