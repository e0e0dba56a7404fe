/** A commit and its parents, as far as they are in the history that is looked at. */
export interface HistoryNode {
  commit: string;
  parents: readonly string[];
}

export interface ClaimCommit {
  commit: string;
  slug: string;
  agent: string;
  /** The same for a copy of this claim, as a rebase or a cherry-pick makes it. */
  origin: string;
}

export interface DoubleClaim {
  slug: string;
  /** At least two, with the commits in which they claimed it. */
  claims: ClaimCommit[];
  /** The merge that joined them. */
  commit: string;
}

interface Claim extends ClaimCommit {
  at: number;
}

/**
 * Tasks that two agents claimed without knowledge of each other: of two claims neither is an ancestor
 * of the other. It does not matter what the merge that joined them made of the board: it may have
 * kept one side only. `nodes` are in an order in which parents come before their children.
 */
export function doubleClaims(
  nodes: readonly HistoryNode[],
  claims: readonly ClaimCommit[],
): DoubleClaim[] {
  if (nodes.every(({ parents }) => parents.length < 2)) return [];
  const places = new Map(nodes.map(({ commit }, at) => [commit, at]));
  const parents = nodes.map((node) => node.parents.flatMap((commit) => places.get(commit) ?? []));
  const bySlug = new Map<string, Claim[]>();
  for (const claim of claims) {
    const at = places.get(claim.commit);
    const own = bySlug.get(claim.slug) ?? [];
    if (at !== undefined) bySlug.set(claim.slug, [...own, { ...claim, at }]);
  }
  return [...bySlug.values()].flatMap((own) => doubleClaimsOf(own, nodes, parents));
}

function doubleClaimsOf(
  claims: readonly Claim[],
  nodes: readonly HistoryNode[],
  parents: readonly number[][],
): DoubleClaim[] {
  if (new Set(claims.map(({ agent }) => agent)).size < 2) return [];
  const first = Math.min(...claims.map(({ at }) => at));
  /** The origins of the claims that each claim could see. */
  const seen = claims.map(({ at }) => {
    const before = ancestorsOf(at, first, parents);
    return new Set(claims.filter((one) => before.has(one.at)).map(({ origin }) => origin));
  });
  const knows = (a: number, b: number) =>
    claims.some(
      ({ origin }, i) =>
        origin === claims[a]?.origin && seen[i]?.has(claims[b]?.origin as string) === true,
    );
  const found = new Map<string, DoubleClaim>();
  for (const [a, one] of claims.entries()) {
    for (const [b, other] of claims.slice(0, a).entries()) {
      if (one.agent === other.agent || knows(a, b) || knows(b, a)) continue;
      const commit = joinOf(one.at, other.at, nodes, parents);
      const known = found.get(commit)?.claims ?? [];
      const all = [other, one].filter(({ agent }) => !known.some((claim) => claim.agent === agent));
      found.set(commit, { slug: one.slug, claims: [...known, ...all], commit });
    }
  }
  return [...found.values()];
}

/** The places of all ancestors from `first` on. */
function ancestorsOf(at: number, first: number, parents: readonly number[][]): Set<number> {
  const found = new Set<number>();
  const open = [at];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const parent of parents[next] ?? []) {
      if (parent < first || found.has(parent)) continue;
      found.add(parent);
      open.push(parent);
    }
  }
  return found;
}

/** The first commit that has both in its history; the last one of all if there is none. */
function joinOf(
  a: number,
  b: number,
  nodes: readonly HistoryNode[],
  parents: readonly number[][],
): string {
  const after = [new Set([a]), new Set([b])];
  for (let at = Math.min(a, b) + 1; at < nodes.length; at++) {
    for (const set of after) if (parents[at]?.some((one) => set.has(one))) set.add(at);
    if (after.every((set) => set.has(at))) return nodes[at]?.commit as string;
  }
  return nodes.at(-1)?.commit as string;
}
