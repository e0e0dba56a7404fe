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
  for (const first of [...left.values()]) {
    if (!left.has(first.id)) continue;
    // A chain may be longer than a stack is deep.
    const trail = [{ one: first, next: 0 }];
    const isOnTrail = new Set([first.id]);
    for (let top = trail.at(-1); top !== undefined; top = trail.at(-1)) {
      const id = top.one.dependsOn[top.next++];
      const before = id === undefined || isOnTrail.has(id) ? undefined : left.get(id);
      if (before !== undefined) {
        trail.push({ one: before, next: 0 });
        isOnTrail.add(before.id);
      } else if (id === undefined) {
        trail.pop();
        isOnTrail.delete(top.one.id);
        if (left.delete(top.one.id)) sorted.push(top.one);
      }
    }
  }
  return sorted;
}

function byTurn(a: Ordered, b: Ordered): number {
  if (a.isReworked !== b.isReworked) return a.isReworked ? -1 : 1;
  if (a.since !== b.since) return a.since < b.since ? -1 : 1;
  return a.id < b.id ? -1 : 1;
}
