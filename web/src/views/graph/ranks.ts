/** The graph by numbers: nodes are 0 … n-1. */
export interface Digraph {
  size: number;
  /** Of each node: where its edges lead, and where they come from. */
  out: number[][];
  into: number[][];
}

export function digraph(size: number, edges: readonly (readonly [number, number])[]): Digraph {
  const out: number[][] = Array.from({ length: size }, () => []);
  const into: number[][] = Array.from({ length: size }, () => []);
  const seen = new Set<number>();
  for (const [a, b] of edges) {
    const key = a * size + b;
    if (a === b || seen.has(key)) continue;
    seen.add(key);
    out[a]?.push(b);
    into[b]?.push(a);
  }
  return { size, out, into };
}

/**
 * The edges with those turned round that close a ring: a dependency may be on itself, by way of
 * others. Depth first, without recursion: a chain may be longer than the stack.
 */
export function acyclic(
  size: number,
  edges: readonly (readonly [number, number])[],
): { edges: [number, number][]; isTurned: boolean[] } {
  const of: number[][] = Array.from({ length: size }, () => []);
  edges.forEach(([a], at) => {
    of[a]?.push(at);
  });
  const state = new Uint8Array(size); // 1: on the way, 2: left
  const isTurned = edges.map(() => false);
  for (let root = 0; root < size; root++) {
    if (state[root] !== 0) continue;
    const path = [{ node: root, next: 0 }];
    state[root] = 1;
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const edge = of[top.node]?.[top.next++];
      if (edge === undefined) {
        state[top.node] = 2;
        path.pop();
        continue;
      }
      const to = edges[edge]?.[1] ?? 0;
      if (state[to] === 1) isTurned[edge] = true;
      else if (state[to] === 0) {
        state[to] = 1;
        path.push({ node: to, next: 0 });
      }
    }
  }
  const turned = edges.map(([a, b], at): [number, number] => (isTurned[at] ? [b, a] : [a, b]));
  return { edges: turned, isTurned };
}

/** Each node behind all that it needs, as far left as that allows; what needs nothing, beside its first user. */
export function ranksOf({ size, out, into }: Digraph): number[] {
  const rank = new Array<number>(size).fill(0);
  const left = into.map((all) => all.length);
  const order: number[] = [];
  for (let node = 0; node < size; node++) if (left[node] === 0) order.push(node);
  for (let at = 0; at < order.length; at++) {
    const node = order[at] ?? 0;
    for (const to of out[node] ?? []) {
      rank[to] = Math.max(rank[to] ?? 0, (rank[node] ?? 0) + 1);
      left[to] = (left[to] ?? 0) - 1;
      if (left[to] === 0) order.push(to);
    }
  }
  for (const node of order.toReversed()) {
    const users = out[node] ?? [];
    if (into[node]?.length !== 0 || users.length === 0) continue;
    rank[node] = Math.min(...users.map((to) => rank[to] ?? 0)) - 1;
  }
  return rank;
}

/** Which nodes hang together: of each, the number of its group. */
export function groupsOf({ size, out, into }: Digraph): number[][] {
  const seen = new Uint8Array(size);
  const groups: number[][] = [];
  for (let root = 0; root < size; root++) {
    if (seen[root]) continue;
    seen[root] = 1;
    const group = [root];
    for (let at = 0; at < group.length; at++) {
      const node = group[at] ?? 0;
      for (const near of [...(out[node] ?? []), ...(into[node] ?? [])]) {
        if (seen[near]) continue;
        seen[near] = 1;
        group.push(near);
      }
    }
    groups.push(group);
  }
  return groups;
}
