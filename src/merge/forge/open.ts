import { isAbsolute, join } from "node:path";
import { isVivError, VivError } from "../../base/errors.ts";
import { idWord } from "../../base/names.ts";
import type { Config } from "../../base/section.ts";
import { quoted } from "../../base/text.ts";
import { isAncestor } from "../../platform/git/git.ts";
import type { Store } from "../../queue/store.ts";
import { workspacePath } from "../../work/workspaces/record.ts";
import { DEFAULT_MERGE, type MergeSettings, mergeSection } from "../config.ts";
import type { Landing } from "../landing.ts";
import { bodyOf, tell } from "./body.ts";
import { type ForgeSettings, forgeSection } from "./config.ts";
import { heldBack, landed, opened, unchanged } from "./facts.ts";
import { type Forge, type ForgeHost, isHeld, isUnsure, type PullRequest } from "./forge.ts";
import { forgeFor } from "./reach.ts";
import {
  type ForgeRecord,
  holdUntil,
  issueOf,
  mustBeOpen,
  type PullRequestRecord,
  readForgeRecord,
  withForgeLock,
  writeForgeRecord,
} from "./record.ts";
import { push, readRemote } from "./remote.ts";
import { type DoneWork, doneWork } from "./work.ts";

/**
 * A done task's branch becomes a pull request, or the open one of that branch gets its new commits.
 * The steps: look (the remote's branch, the forge's requests), note the commit, push it, open the
 * request, note it. Whichever was the last step before a crash, the next call finds what is there.
 */
export interface ForgeContext {
  store: Store;
  host: ForgeHost;
  config: Config | undefined;
}

export interface OpenOptions {
  draft?: boolean;
  title?: string;
}

type Settings = ForgeSettings & Pick<MergeSettings, "into" | "rework" | "strategy">;

export function settingsOf(config: Config | undefined): Settings {
  if (config === undefined) return DEFAULT_MERGE;
  return { ...config.section(mergeSection), ...config.section(forgeSection) };
}

/** What a call would do: everything that it reads, and nothing that it changes. */
export interface OpenPlan {
  work: DoneWork;
  forge: Forge;
  remote: string;
  /** On the remote. A request stays on the branch that it was opened with. */
  branch: string;
  base: string;
  /** The commit of the remote's branch; null: it has none. */
  over: string | null;
  mustPush: boolean;
  /** The open one of the branch, or the merged one of this very commit. */
  existing: PullRequest | null;
  title: string;
  body: string;
}

/**
 * Opens a pull request for each of these done tasks, once. Tells the landing as it is on disk:
 * `pull_request`, `landed` (it was merged before), `no_changes`, or `held` with the reason. Throws for a
 * task that has nothing to push. When the forge cannot be asked for one, it is not asked for the rest:
 * they are held.
 */
export async function openPullRequests(
  context: ForgeContext,
  ids: readonly string[],
  { tell: onLanding, ...options }: OpenOptions & { tell: (landing: Landing) => void },
): Promise<void> {
  await withForgeLock(context.store.folder, async () => {
    let obstacle: VivError | null = null;
    for (const id of ids) {
      const opened: Opened = await openLocked(context, id, options, obstacle);
      obstacle = opened.obstacle;
      onLanding(opened.landing);
    }
  });
}

interface Opened {
  landing: Landing;
  /** Why no other task can be opened now. */
  obstacle: VivError | null;
}

/** The same for a caller that has the lock. */
export async function openLocked(
  context: ForgeContext,
  id: string,
  options: OpenOptions = {},
  obstacle: VivError | null = null,
): Promise<Opened> {
  const { store, host } = context;
  const work = await doneWork(store, id);
  const place = { store, now: host.now() };
  if (work.commits === 0) return { landing: unchanged(place, landingOf(work)), obstacle };
  let plan: OpenPlan | null = null;
  try {
    if (obstacle !== null) throw obstacle;
    plan = await planPullRequest(context, work, options);
    return { landing: await carryOut(context, plan, options), obstacle: null };
  } catch (error) {
    if (!isHeld(error) && !isVivError(error, "INVALID")) throw error;
    noteLimit(context, error);
    const command = String(error.details.command ?? `viv pr ${idWord(id)}`);
    const landing = await heldBack(
      place,
      landingOf(work, plan),
      error.message.replace(/\.$/, ""),
      command,
    );
    return { landing, obstacle: isHeld(error) && error.details.isOne !== true ? error : null };
  }
}

export function noteLimit({ store }: ForgeContext, error: VivError): void {
  const { until } = error.details;
  if (typeof until === "string") holdUntil(store.folder, until, error.message);
}

function landingOf(work: DoneWork, plan?: OpenPlan | null): Landing {
  const { id: task, repository, branch, from: base, to: head, before } = work;
  const { strategy = "merge", reworks = 0, state = "queued", pull_request } = before ?? {};
  const target = plan?.base ?? before?.target ?? "";
  const same = { task, repository, branch, base, head, target, strategy, reworks };
  const at = new Date(0).toISOString();
  return { ...same, ...(pull_request && { pull_request }), state, at };
}

export async function planPullRequest(
  context: ForgeContext,
  work: DoneWork,
  options: OpenOptions,
): Promise<OpenPlan> {
  const { store, host, config } = context;
  const settings = settingsOf(config);
  const { repository, to } = work;
  const record = readForgeRecord(store.folder, work.id);
  const branch = record?.pull_request?.branch ?? work.branch;
  const { forge, remote } = await forgeFor(host, settings, { repository, branch: work.branch });
  mustBeOpen(store.folder, host.now());
  const { into } = settings;
  const asked = [branch, ...(into === undefined ? [] : [into])];
  const { defaultBranch, commits } = await readRemote(repository, remote, asked, host.env);
  const base = into ?? defaultBranch;
  if (base === null) throw invalid(`${remote} has no default branch; set into in [merge]`);
  if ([branch, work.branch].includes(base))
    throw invalid(`${base} is the task's own branch; set another into`);
  if (into !== undefined && !commits.has(into)) {
    const command = `git -C ${quoted(repository)} push ${quoted(remote)} ${quoted(into)}`;
    throw invalid(`${remote} has no branch ${into}; push it, or set into in [merge]`, command);
  }
  const found = await forge.pullRequestsOf(branch);
  const open = found.find(({ state }) => state === "open");
  const merged = found.find(({ state, head }) => state === "merged" && head === to);
  const existing = open ?? merged ?? null;
  const over = commits.get(branch) ?? null;
  const mustPush = existing?.state !== "merged" && over !== to;
  if (mustPush && over !== null) {
    const isOurs = record?.pull_request?.pushed.includes(over) === true;
    if (!isOurs && !(await isAncestor(over, to, { cwd: repository }))) {
      throw foreign(store, work, { remote, branch }, over);
    }
  }
  const issue = closing(record, forge);
  const { id, task, from } = work;
  const told = await tell(
    store,
    { id, task, repository, branch, base, from, to, issue, title: options.title },
    host.env,
  );
  const body = bodyOf(templateOf(host, settings, config), told);
  const { title } = told;
  return { work, forge, remote, branch, base, over, mustPush, existing, title, body };
}

/** What makes the forge close the issue, where it can: a bare number is one of the request's own repository. */
function closing(record: ForgeRecord | null, { name, place }: Forge): string | null {
  const issue = issueOf(record);
  if (issue === null) return null;
  const { forge, host, repo } = issue.from;
  if (forge !== name || (host !== null && place.host !== null && host !== place.host)) {
    return `For ${issue.url}`;
  }
  return `Closes ${repo === place.path ? "" : repo}#${issue.number}`;
}

function invalid(words: string, command?: string): VivError {
  return new VivError("INVALID", `${words}.`, { command });
}

/** Commits that others pushed onto the branch are theirs: they are brought in, not overwritten. */
function foreign(
  store: Store,
  { id }: DoneWork,
  { remote, branch }: Pick<OpenPlan, "remote" | "branch">,
  over: string,
): VivError {
  const folder = quoted(workspacePath(store.workspaces, id));
  const pull = `git -C ${folder} pull --no-rebase ${quoted(remote)} ${quoted(branch)}`;
  return invalid(
    `others have pushed to ${branch} of ${remote} (${over.slice(0, 12)}); nothing was pushed over that`,
    `${pull} && viv pr ${idWord(id)}`,
  );
}

function templateOf(host: ForgeHost, { body }: ForgeSettings, config: Config | undefined) {
  if (body === undefined) return null;
  const file = isAbsolute(body) ? body : join(config?.folder ?? ".", body);
  return { file, text: host.readText(file) };
}

async function carryOut(
  context: ForgeContext,
  plan: OpenPlan,
  options: OpenOptions,
): Promise<Landing> {
  const { store, host } = context;
  const { work, remote, branch, base, over, existing } = plan;
  const place = { store, now: host.now() };
  const landing = landingOf(work, plan);
  if (existing?.state === "merged") return landed(place, landing, existing);
  const { repository, to } = work;
  // First: after a crash, a commit that is there must be known as ours.
  note(store, plan, {});
  if (plan.mustPush) {
    await push(repository, { remote, branch, commit: to, over }, host.env);
  }
  const request = existing ?? (await created(plan, options));
  const { number, url } = request;
  note(store, plan, { number, url });
  const pull_request = { url, number, forge: plan.forge.name };
  return opened(place, { ...landing, target: existing?.base ?? base, pull_request });
}

function note(store: Store, plan: OpenPlan, more: Partial<PullRequestRecord>): void {
  const { work, forge, remote, branch, base } = plan;
  const before = readForgeRecord(store.folder, work.id);
  const old = before?.pull_request;
  const pushed = [...(old?.pushed ?? []).filter((commit) => commit !== work.to), work.to];
  const same = { remote, branch, base, pushed, sent: old?.sent ?? [] };
  writeForgeRecord(store.folder, {
    task: work.id,
    forge: forge.name,
    ...{ host: forge.place.host, repo: forge.place.path },
    issue: issueOf(before) ?? undefined,
    pull_request: { ...old, ...same, ...more },
  });
}

/** Of an answer that was lost, and of a request that another process opened, the forge knows it. */
async function created(plan: OpenPlan, { draft = false }: OpenOptions): Promise<PullRequest> {
  const { forge, branch, base, title, body } = plan;
  try {
    return await forge.create({ branch, base, title, body, draft });
  } catch (error) {
    const status = isVivError(error) ? error.details.status : null;
    if (!isUnsure(error) && status !== 422 && status !== 409) throw error;
    const found = await forge.pullRequestsOf(branch).catch(() => []); // the first error tells more
    const open = found.find(({ state }) => state === "open");
    if (open === undefined) throw error;
    return open;
  }
}
