import type { LedgerLine } from "../../queue/ledger.ts";
import type { AppendedEvent, Store } from "../../queue/store.ts";
import { type Landing, writeLanding } from "../landing.ts";
import type { PullRequest } from "./forge.ts";

/**
 * Facts about pull requests: the ledger's line first, then the landing. A process that dies between
 * the two leaves the line, which the next one finds; so there is one line for each.
 */
type Fact = Omit<LedgerLine, "at"> & { event: AppendedEvent; task: string };

/** `same`: the keys that tell it from another of its kind. */
async function appendOnce(store: Store, fact: Fact, same: readonly string[]): Promise<void> {
  for await (const line of store.ledger({ task: fact.task })) {
    if (line.event === fact.event && same.every((key) => line[key] === fact[key])) return;
  }
  await store.append(fact);
}

/** What a state says besides its task, branch and pull request is gone in the next one. */
function next(landing: Landing, state: Landing["state"], now: number, more: Partial<Landing>) {
  const { task, repository, branch, base, head, target, strategy, reworks, pull_request } = landing;
  const same = { task, repository, branch, base, head, target, strategy, reworks };
  const at = new Date(now).toISOString();
  return { ...same, ...(pull_request && { pull_request }), state, at, ...more };
}

interface Place {
  store: Store;
  now: number;
}

function save({ store, now }: Place, landing: Landing, state: Landing["state"], more = {}) {
  const one: Landing = next(landing, state, now, more);
  writeLanding(store.folder, one);
  return one;
}

export async function opened(place: Place, landing: Landing): Promise<Landing> {
  const { task, branch, target, head, pull_request } = landing;
  const fact = { task, branch, target, commit: head, ...pull_request };
  await appendOnce(place.store, { event: "pr_opened", ...fact }, ["url"]);
  return save(place, landing, "pull_request");
}

export async function landed(
  place: Place,
  landing: Landing,
  { commit, head, url, base }: PullRequest,
  reason?: string,
): Promise<Landing> {
  const { task, repository } = landing;
  const to = commit ?? head;
  const fact = { task, commit: to, target: base, repository, via: "pr", url };
  await appendOnce(place.store, { event: "landed", ...fact }, ["commit"]);
  const told = { target: base, to, ...(reason === undefined ? {} : { reason }) };
  return save(place, landing, "landed", told);
}

export async function closed(
  place: Place,
  landing: Landing,
  { url }: PullRequest,
  command: string,
): Promise<Landing> {
  const reason = "its pull request was closed without a merge";
  await appendOnce(place.store, { event: "pr_closed", task: landing.task, url }, ["url"]);
  return save(place, landing, "closed", { reason, command });
}

export function heldBack(place: Place, landing: Landing, reason: string, command: string): Landing {
  return save(place, landing, "held", { reason, command });
}

export function unchanged(place: Place, landing: Landing): Landing {
  return save(place, landing, "no_changes", { reason: "its branch has no commits of its own" });
}
