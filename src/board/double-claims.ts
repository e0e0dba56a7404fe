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
    if (at === undefined) continue;
    const own = bySlug.get(claim.slug);
    if (own) own.push({ ...claim, at });
    else bySlug.set(claim.slug, [{ ...claim, at }]);
  }
  return [...bySlug.values()].flatMap((own) => doubleClaimsOf(own, nodes, parents));
}

function doubleClaimsOf(
  claims: readonly Claim[],
  nodes: readonly HistoryNode[],
  parents: readonly number[][],
): DoubleClaim[] {
  if (new Set(claims.map(({ agent }) => agent)).size < 2) return [];
  const knows = knowledgeOf(claims, parents);
  const found = new Map<string, DoubleClaim>();
  for (const [i, one] of claims.entries()) {
    for (const other of claims.slice(0, i)) {
      if (one.agent === other.agent || knows(one, other) || knows(other, one)) continue;
      const commit = joinOf(one.at, other.at, nodes, parents);
      const known = found.get(commit)?.claims ?? [];
      const all = [other, one].filter(({ agent }) => !known.some((claim) => claim.agent === agent));
      found.set(commit, { slug: one.slug, claims: [...known, ...all], commit });
    }
  }
  return [...found.values()];
}

/** Whether one claim, or a copy of it, was made with another, or a copy of that, in its history. */
function knowledgeOf(
  claims: readonly Claim[],
  parents: readonly number[][],
): (one: Claim, other: Claim) => boolean {
  const bits = new Map(
    [...new Set(claims.map(({ origin }) => origin))].map((one, i) => [one, 1n << BigInt(i)]),
  );
  const bitOf = ({ origin }: Claim) => bits.get(origin) as bigint;
  const places = claims.map(({ at }) => at).sort((a, b) => a - b);
  const [first = 0, last = 0] = [places[0], places.at(-1)];
  const made = new Map<number, bigint>();
  for (const claim of claims) made.set(claim.at, (made.get(claim.at) ?? 0n) | bitOf(claim));
  /** Of each commit from the first claim to the last: the claims in its history, without its own. */
  const seen: bigint[] = [];
  for (let at = first; at <= last; at++) {
    let all = 0n;
    for (const parent of parents[at] ?? []) {
      if (parent >= first) all |= (seen[parent - first] ?? 0n) | (made.get(parent) ?? 0n);
    }
    seen.push(all);
  }
  const known = new Map<string, bigint>();
  for (const { origin, at } of claims) {
    known.set(origin, (known.get(origin) ?? 0n) | (seen[at - first] ?? 0n));
  }
  return (one, other) => ((known.get(one.origin) ?? 0n) & bitOf(other)) !== 0n;
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
