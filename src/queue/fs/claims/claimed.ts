import { existsSync } from "node:fs";
import { isListedName } from "../../../base/names.ts";
import { namesIn, statIfThere, tokenOf } from "../files/atomic.ts";
import type { FsRun } from "../fs-run.ts";
import { claimOf, type Paths, pausedIn } from "../layout.ts";

/** The claims in claimed/, in either layout. */
export interface ClaimedTask {
  worker: string;
  id: string;
  path: string;
}

/** All workers that have a place in claimed/, or left a sign of life. */
export function claimWorkers(paths: Paths): string[] {
  const names = namesIn(paths.state.claimed);
  if (!paths.layout.isFlat) return names.filter(isListedName);
  const found = new Set(namesIn(paths.heartbeats).filter(isListedName));
  for (const name of names) {
    const claim = paths.layout.splitClaim(name);
    const worker = claim?.worker ?? pausedIn(name);
    if (isListedName(worker)) found.add(worker);
  }
  return [...found];
}

/** All claims, or those of one worker. */
export function* claimedTasks(paths: Paths, only?: string): Generator<ClaimedTask> {
  const { layout, state } = paths;
  if (layout.isFlat) {
    for (const name of namesIn(state.claimed)) {
      const claim = layout.splitClaim(name);
      if (claim && (only === undefined || claim.worker === only)) {
        yield { ...claim, path: `${state.claimed}/${name}` };
      }
    }
    return;
  }
  for (const worker of only === undefined ? claimWorkers(paths) : [only]) {
    const folder = `${state.claimed}/${worker}`;
    if (!statIfThere(folder)?.isDirectory()) continue;
    for (const name of namesIn(folder)) {
      const id = layout.idOf("claimed", name);
      if (isListedName(id)) yield { worker, id, path: `${folder}/${name}` };
    }
  }
}

export interface ClaimFile {
  id: string;
  path: string;
  token: string;
  claimedAt: number;
}

export function claimsOf(run: FsRun, worker: string): ClaimFile[] {
  const claims: ClaimFile[] = [];
  for (const { id, path } of claimedTasks(run.paths, worker)) {
    const stats = statIfThere(path);
    if (stats?.isFile()) claims.push({ id, path, token: tokenOf(stats), claimedAt: stats.ctimeMs });
  }
  return claims;
}

/** `names`: the names in claimed/, if the caller has listed it. */
export function findClaim(
  paths: Paths,
  id: string,
  names: readonly string[] = namesIn(paths.state.claimed),
): ClaimedTask | null {
  if (!paths.layout.isFlat) {
    for (const worker of names) {
      const path = claimOf(paths, worker, id);
      if (existsSync(path)) return { worker, id, path };
    }
    return null;
  }
  for (const name of names) {
    const claim = paths.layout.splitClaim(name);
    const path = `${paths.state.claimed}/${name}`;
    if (claim?.id === id && existsSync(path)) return { ...claim, path };
  }
  return null;
}
