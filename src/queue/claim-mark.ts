/**
 * `VIV_CLAIM` of a claim's processes: which task, which claim, which run. A handler that ends its own
 * task needs no token on its command line: it is in here.
 */
export function claimMark({ id, token }: { id: string; token: string }, location: string): string {
  return `${id}.${token}@${location}`;
}

/** The token in the mark of a process that belongs to a claim of this task, in this run. */
export function tokenIn(
  mark: string | undefined,
  id: string,
  location: string,
): string | undefined {
  const [, token] = mark?.startsWith(`${id}.`)
    ? (/^(\d+)@/.exec(mark.slice(id.length + 1)) ?? [])
    : [];
  return token !== undefined && claimMark({ id, token }, location) === mark ? token : undefined;
}

/** The same for any task of the run: `[id, token]`. */
export function claimIn(
  mark: string | undefined,
  location: string,
): { id: string; token: string } | null {
  const [, id, token] = /^(.+)\.(\d+)@/s.exec(mark ?? "") ?? [];
  if (id === undefined || token === undefined) return null;
  return claimMark({ id, token }, location) === mark ? { id, token } : null;
}
