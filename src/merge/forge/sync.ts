import { isVivError, type VivError } from "../../base/errors.ts";
import { idWord } from "../../base/names.ts";
import { quoted } from "../../base/text.ts";
import { mergeTrees } from "../../platform/git/merge-tree.ts";
import { workspacePath } from "../../work/workspaces/record.ts";
import { commitOf, findRepository } from "../../work/workspaces/worktree.ts";
import { branchOfTask } from "../candidates.ts";
import { type Landing, readLanding } from "../landing.ts";
import type { sendBack } from "../send-back.ts";
import { decide, type Step } from "./decide.ts";
import { closed, heldBack, landed, opened } from "./facts.ts";
import { type Forge, isHeld, type PullRequestView } from "./forge.ts";
import { type ForgeContext, noteLimit, openLocked, settingsOf } from "./open.ts";
import { forgeAt } from "./reach.ts";
import {
  type ForgeRecord,
  mustBeOpen,
  type PullRequestRecord,
  readForgeRecord,
  tasksOnForges,
  withForgeLock,
  writeForgeRecord,
} from "./record.ts";
import { fetchTip } from "./remote.ts";
import { mustTell, tellIssue } from "./tell-issue.ts";

/** What became of one task. */
export interface Synced {
  id: string;
  did: "landed" | "closed" | "pushed" | "sent_back" | "held" | "nothing";
  /** Null: it was made of an issue, and nobody has begun to land it. */
  landing: Landing | null;
  reason?: string;
  /** The issue's comment was written now. */
  told?: boolean;
  warnings?: string[];
}

export interface SyncReport {
  tasks: Synced[];
  /** The forge could not be asked: the rest is as it was. */
  held?: { reason: string; until?: string };
}

export interface SyncContext extends ForgeContext {
  sendBack: typeof sendBack;
}

/** Reads back what became of pull requests, of all or of these tasks. */
export function syncPullRequests(
  context: SyncContext,
  wanted: readonly string[] | null,
): Promise<SyncReport> {
  const { store, host } = context;
  const isNamed = wanted !== null;
  return withForgeLock(store.folder, async () => {
    const tasks: Synced[] = [];
    const lost: LostRemotes = new Map();
    try {
      mustBeOpen(store.folder, host.now());
      for (const group of groupsOf(wanted ?? tasksOnForges(store.folder))) {
        const read = await Promise.all(group.map((id) => look(context, id, isNamed)));
        for (const seen of read) {
          if (seen === null) continue;
          const synced = await settle(context, seen, lost);
          tasks.push(synced);
          // Afterwards: that an issue cannot be told now is no reason to forget what was done.
          await told(context, synced, isNamed);
        }
      }
    } catch (error) {
      if (!isHeld(error)) throw error;
      noteLimit(context, error);
      const { until } = error.details;
      const reason = error.message.replace(/\.$/, "");
      return { tasks, held: { reason, ...(typeof until === "string" && { until }) } };
    }
    return { tasks };
  });
}

/** Remotes that cannot be read now, and why: they are not asked again for the next task. */
type LostRemotes = Map<string, VivError>;

/** An issue that takes no comment (locked, gone) costs the others nothing. */
async function told(context: SyncContext, synced: Synced, isNamed: boolean): Promise<void> {
  const { id, landing } = synced;
  try {
    if (await tellIssue(context, id, landing, isNamed)) synced.told = true;
  } catch (error) {
    if (!isVivError(error, "INVALID")) throw error;
    const why = error.message.replace(/\.$/, "");
    const words = `the issue of ${id} was not told of the landing: ${why}`;
    synced.warnings = [`${words}; to try again: viv sync ${idWord(id)}`];
  }
}

const AT_ONCE = 4;

function groupsOf(ids: readonly string[]): string[][] {
  const groups: string[][] = [];
  for (let at = 0; at < ids.length; at += AT_ONCE) groups.push(ids.slice(at, at + AT_ONCE));
  return groups;
}

interface Seen {
  id: string;
  record: ForgeRecord;
  landing: Landing | null;
  forge: Forge;
  /** Null: it has no pull request, or one that needs no look. */
  view: PullRequestView | null;
  /** Why the forge would not show it. */
  refusal?: string;
}

/** So long a closed one is looked at again: one question each. */
const REREAD_MS = 30 * 86_400_000;

/** Null: there is nothing to do about it. */
async function look(context: SyncContext, id: string, isNamed: boolean): Promise<Seen | null> {
  const { store, host } = context;
  const record = readForgeRecord(store.folder, id);
  if (record === null) return null;
  const landing = readLanding(store.folder, id);
  const { number } = record.pull_request ?? {};
  if (landing?.state === "landed" && !mustTell(record, isNamed)) return null;
  // It may have been opened again, and merged since.
  const isReread = landing?.state === "closed" && !isNamed;
  const isOld = isReread && host.now() - Date.parse(landing.at) > REREAD_MS;
  if (isReread && (isOld || number === undefined)) return null;
  const place = { host: record.host, path: record.repo };
  const forge = await forgeAt(host, record.forge, place, landing?.repository ?? store.folder);
  const seen = { id, record, landing, forge };
  if (number === undefined || landing?.state === "landed") return { ...seen, view: null };
  try {
    const view = await forge.view(number);
    return isReread && view.state === "closed" ? null : { ...seen, view };
  } catch (error) {
    if (!isVivError(error, "INVALID")) throw error;
    if (isReread) return null;
    return { ...seen, view: null, refusal: error.message.replace(/\.$/, "") };
  }
}

async function settle(context: SyncContext, seen: Seen, lost: LostRemotes): Promise<Synced> {
  const { store, host } = context;
  const { id, view, refusal } = seen;
  if (refusal !== undefined) return { id, did: "nothing", landing: seen.landing, reason: refusal };
  const { pull_request } = seen.record;
  const isDone = (await store.show(id))?.state === "done";
  const { landing } = seen;
  if (view === null || landing === null || pull_request === undefined) {
    // A push that was cut short goes on.
    const isHalf = pull_request !== undefined && landing?.state !== "landed" && isDone;
    return isHalf ? pushed(context, seen, lost) : { id, did: "nothing", landing };
  }
  const facts = afterSending(context, seen.record, pull_request, landing, isDone);
  const repository = await findRepository(landing.repository);
  const { branch } = branchOfTask(store, id) ?? landing;
  const head = await commitOf(repository, `refs/heads/${branch}`);
  const { pushed: ours, sent: before } = facts;
  const step = decide({ view, landing: landing.state, isDone, head, pushed: ours, sent: before });
  const place = { store, now: host.now() };
  const current = withRequest(landing, seen.record, view);
  switch (step.do) {
    case "land": {
      // Not a later commit whose push was held: that one has not landed, and `gc` must keep it.
      const merged = ours.includes(view.head) ? { ...current, head: view.head } : current;
      return { id, did: "landed", landing: await landed(place, merged, view, step.reason) };
    }
    case "close": {
      const command = `viv pr ${idWord(id)}`;
      return { id, did: "closed", landing: await closed(place, current, view, command) };
    }
    case "push":
      return pushed(context, seen, lost);
    case "note":
      return { id, did: "nothing", landing: await opened(place, current) };
    case "hold": {
      const { remote, branch } = facts;
      const folder = quoted(workspacePath(store.workspaces, id));
      const command = `git -C ${folder} pull --no-rebase ${quoted(remote)} ${quoted(branch)}`;
      const { reason } = step;
      return { id, did: "held", landing: await heldBack(place, current, reason, command), reason };
    }
    case "send":
      return sent(context, { ...seen, landing: current }, facts, step, lost);
    case "nothing":
      return { id, did: "nothing", landing, reason: step.reason };
  }
}

/** As the forge has it now: a person may have given it another target. */
function withRequest(landing: Landing, { forge }: ForgeRecord, view: PullRequestView): Landing {
  const { number, url, base: target } = view;
  return { ...landing, target, pull_request: { number, url, forge } };
}

async function pushed(context: SyncContext, seen: Seen, lost: LostRemotes): Promise<Synced> {
  const { id } = seen;
  const key = remoteKey(seen);
  const { landing, obstacle } = await openLocked(context, id, {}, lost.get(key) ?? null);
  if (obstacle?.details.isRemote === true) lost.set(key, obstacle);
  const { reason } = landing;
  if (landing.state === "held") return { id, did: "held", landing, reason };
  return { id, did: landing.state === "landed" ? "landed" : "pushed", landing };
}

function remoteKey({ record, landing }: Pick<Seen, "record" | "landing">): string {
  return JSON.stringify([landing?.repository, record.pull_request?.remote]);
}

/**
 * The ids are noted before the task goes back, and count as sent when it has gone: a task that is
 * not done any more, or a landing that is another state, tells that. A remote that cannot be read
 * holds those that need it, and no other.
 */
async function sent(
  { store, host, config, sendBack }: SyncContext,
  { id, record, landing }: Seen & { landing: Landing },
  facts: PullRequestRecord,
  { ids, why, reason, evidence }: Extract<Step, { do: "send" }>,
  lost: LostRemotes,
): Promise<Synced> {
  const { repository } = landing;
  const key = remoteKey({ record, landing });
  let tip: string;
  try {
    const known = lost.get(key);
    if (known !== undefined) throw known;
    tip = await fetchTip(repository, facts.remote, landing.target, host.env);
  } catch (error) {
    if (!isHeld(error)) throw error;
    if (error.details.isRemote === true) lost.set(key, error);
    const obstacle = error.message.replace(/\.$/, "");
    return { id, did: "held", landing: readLanding(store.folder, id), reason: obstacle };
  }
  const { tree, files } = (await mergeTrees({ cwd: repository }, tip, landing.head)) ?? {};
  const note = (more: Partial<PullRequestRecord>) =>
    writeForgeRecord(store.folder, { ...record, pull_request: { ...facts, ...more } });
  note({ sending: ids });
  const { rework } = settingsOf(config);
  const back = await sendBack(store, landing, { why, reason, evidence, tip, tree, files }, rework);
  note({ sent: [...facts.sent, ...ids], sending: undefined });
  return { id, did: "sent_back", landing: back, reason };
}

function afterSending(
  { store }: SyncContext,
  record: ForgeRecord,
  facts: PullRequestRecord,
  landing: Landing,
  isDone: boolean,
): PullRequestRecord {
  if (facts.sending === undefined) return facts;
  const hasGone = landing.state !== "pull_request" || !isDone;
  const sent = hasGone ? [...facts.sent, ...facts.sending] : facts.sent;
  const settled = { ...facts, sent, sending: undefined };
  writeForgeRecord(store.folder, { ...record, pull_request: settled });
  return settled;
}
