import type { Graph } from "../../live/data-shapes.ts";
import type { Layout } from "./layout.ts";

export type Way = "left" | "right" | "up" | "down";

/** Where an arrow key leads: to the nearest that it needs, that needs it, or in its column. */
export function neighbourOf(
  { edges }: Graph,
  { nodes }: Pick<Layout, "nodes">,
  from: string | null,
  way: Way,
): string | null {
  const at = from === null ? undefined : nodes.get(from);
  if (from === null || at === undefined) return null;
  const beside = () => {
    const ids = way === "left" ? edges.filter(([, to]) => to === from) : edges;
    if (way === "left") return ids.map(([id]) => id);
    return ids.filter(([id]) => id === from).map(([, id]) => id);
  };
  const inColumn = () =>
    [...nodes].flatMap(([id, { x, y }]) => {
      const isThere = way === "up" ? y < at.y : y > at.y;
      return x === at.x && isThere ? [id] : [];
    });
  const found = way === "left" || way === "right" ? beside() : inColumn();
  const far = (id: string) => Math.abs((nodes.get(id)?.y ?? 0) - at.y);
  return found.toSorted((a, b) => far(a) - far(b))[0] ?? null;
}
