import type { Store } from "../../queue/store.ts";
import { appendOnce } from "../append-once.ts";
import { type Landing, readLanding, writeLanding } from "../landing.ts";
import { advance, LANDING_TABLE, type LandingEvent } from "../transitions.ts";
import type { PullRequest } from "./forge.ts";

/**
 * Facts about pull requests: the ledger's line first, then the landing. A process that dies between
 * the two leaves the line, which the next one finds; so there is one line for each.
 */
interface Place {
  store: Store;
  now: number;
}

/** One of the table's moves; from a state that does not know it, as a candidate that begins again. */
function save(
  { store, now }: Place,
  landing: Landing,
  event: LandingEvent,
  told: Partial<Landing> = {},
): Landing {
  const at = new Date(now).toISOString();
  const isKnown = LANDING_TABLE[landing.state][event] !== undefined;
  const from = isKnown ? landing : advance(landing, "again", at);
  const one = advance(from, event, at, told);
  writeLanding(store.folder, one);
  return one;
}

export async function opened(place: Place, landing: Landing): Promise<Landing> {
  const { task, branch, target, head, pull_request } = landing;
  const fact = { task, branch, target, commit: head, ...pull_request };
  await appendOnce(place.store, { event: "pr_opened", ...fact }, ["url"]);
  return save(place, landing, "opened");
}

export async function landed(
  place: Place,
  landing: Landing,
  { commit, head, url, base }: PullRequest,
  reason?: string,
): Promise<Landing> {
  const { task, repository, branch } = landing;
  const to = commit ?? head;
  const own = { branch, head: landing.head };
  const fact = { task, commit: to, target: base, repository, ...own, via: "pr", url };
  await appendOnce(place.store, { event: "landed", ...fact }, ["commit"]);
  return save(place, landing, "found", { target: base, to, reason });
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

/** The line of the ledger comes last: it is news, and a landing that says the same already is none. */
export async function heldBack(
  place: Place,
  landing: Landing,
  reason: string,
  command: string,
): Promise<Landing> {
  const { store } = place;
  const { task } = landing;
  const before = readLanding(store.folder, task);
  const now = save(place, landing, "hold", { reason, command });
  if (before?.state !== "held" || before.reason !== reason) {
    await store.append({ event: "held", task, note: reason, target: landing.target });
  }
  return now;
}

export function unchanged(place: Place, landing: Landing): Landing {
  return save(place, landing, "empty", { reason: "its branch has no commits of its own" });
}
