import type { Graph } from "../../live/data-shapes.ts";

/** What a task needs, directly or not, and what waits for it. */
export interface Kin {
  needs: Set<string>;
  neededBy: Set<string>;
  /** Of those that need it: how many are not done. */
  waiting: number;
}

export function kinOf(graph: Graph | null, id: string): Kin {
  const edges = graph?.edges ?? [];
  const neededBy = reached(edges, id, 0, 1);
  const isOpen = ({ id, column }: Graph["nodes"][number]) => neededBy.has(id) && column !== "done";
  const waiting = (graph?.nodes ?? []).filter(isOpen).length;
  return { needs: reached(edges, id, 1, 0), neededBy, waiting };
}

function reached(edges: Graph["edges"], id: string, from: 0 | 1, to: 0 | 1): Set<string> {
  const next = new Map<string, string[]>();
  for (const edge of edges) {
    const all = next.get(edge[from]);
    if (all) all.push(edge[to]);
    else next.set(edge[from], [edge[to]]);
  }
  const seen = new Set<string>();
  const open = [id];
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    for (const other of next.get(one) ?? []) {
      if (other === id || seen.has(other)) continue;
      seen.add(other);
      open.push(other);
    }
  }
  return seen;
}
