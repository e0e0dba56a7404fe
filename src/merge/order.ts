/** What decides the order of candidates. */
export interface Ordered {
  id: string;
  /** When the task was done. */
  since: string;
  dependsOn: readonly string[];
  /** It went back, and was worked on for the target as it is now. */
  isReworked: boolean;
}

/** Dependencies first, then reworks, then in the order of completion. A cycle falls back to completion. */
export function inOrder<T extends Ordered>(candidates: readonly T[]): T[] {
  const left = new Map([...candidates].sort(byTurn).map((one) => [one.id, one] as const));
  const sorted: T[] = [];
  const take = (one: T, trail: ReadonlySet<string>) => {
    if (!left.has(one.id) || trail.has(one.id)) return;
    for (const id of one.dependsOn) {
      const before = left.get(id);
      if (before !== undefined) take(before, new Set([...trail, one.id]));
    }
    if (left.delete(one.id)) sorted.push(one);
  };
  for (const one of [...left.values()]) take(one, new Set());
  return sorted;
}

function byTurn(a: Ordered, b: Ordered): number {
  if (a.isReworked !== b.isReworked) return a.isReworked ? -1 : 1;
  if (a.since !== b.since) return a.since < b.since ? -1 : 1;
  return a.id < b.id ? -1 : 1;
}
