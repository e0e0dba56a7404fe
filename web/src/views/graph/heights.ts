import type { Digraph } from "./ranks.ts";

const PASSES = 10;

/**
 * The height of each node: as near to its neighbours as its place in the layer allows. `apart`: how
 * far two neighbours in a layer are at least.
 */
export function heightsOf(
  graph: Digraph,
  layers: readonly (readonly number[])[],
  apart: (a: number, b: number) => number,
): number[] {
  const y = new Array<number>(graph.size).fill(0);
  for (const layer of layers) {
    let at = 0;
    layer.forEach((node, index) => {
      const before = layer[index - 1];
      at += before === undefined ? 0 : apart(before, node);
      y[node] = at;
    });
    // Around the middle, so that layers of different sizes begin balanced.
    for (const node of layer) y[node] = (y[node] ?? 0) - at / 2;
  }
  for (let pass = 0; pass < PASSES; pass++) {
    const isDown = pass % 2 === 0;
    const both = pass >= PASSES - 2;
    for (const layer of isDown ? layers : layers.toReversed()) {
      const wanted = layer.map((node) => {
        const near = both
          ? [...(graph.into[node] ?? []), ...(graph.out[node] ?? [])]
          : ((isDown ? graph.into[node] : graph.out[node]) ?? []);
        return near.length === 0 ? (y[node] ?? 0) : median(near.map((one) => y[one] ?? 0));
      });
      const placed = spread(
        wanted,
        layer.map((node, at) => apartFrom(layer, at, node, apart)),
      );
      layer.forEach((node, at) => {
        y[node] = placed[at] ?? 0;
      });
    }
  }
  return y;
}

function apartFrom(
  layer: readonly number[],
  at: number,
  node: number,
  apart: (a: number, b: number) => number,
): number {
  const before = layer[at - 1];
  return before === undefined ? 0 : apart(before, node);
}

function median(values: number[]): number {
  values.sort((a, b) => a - b);
  const middle = values.length >> 1;
  const high = values[middle] ?? 0;
  return values.length % 2 === 1 ? high : ((values[middle - 1] ?? 0) + high) / 2;
}

/**
 * The places nearest to the wanted ones (least squares) that keep the order and the distances: runs
 * that would overlap are moved together (pool adjacent violators).
 */
export function spread(wanted: readonly number[], gaps: readonly number[]): number[] {
  const offset: number[] = [];
  let sum = 0;
  for (const gap of gaps) {
    sum += gap;
    offset.push(sum);
  }
  const runs: { mean: number; count: number }[] = [];
  wanted.forEach((value, at) => {
    runs.push({ mean: value - (offset[at] ?? 0), count: 1 });
    for (;;) {
      const last = runs.at(-1);
      const before = runs.at(-2);
      if (last === undefined || before === undefined || before.mean <= last.mean) return;
      runs.pop();
      const count = before.count + last.count;
      before.mean = (before.mean * before.count + last.mean * last.count) / count;
      before.count = count;
    }
  });
  const flat = runs.flatMap(({ mean, count }) => new Array<number>(count).fill(mean));
  return flat.map((mean, at) => mean + (offset[at] ?? 0));
}
