import * as z from "zod/mini";
import { isVivError, unlessCorrupt } from "../base/errors.ts";
import { idWord } from "../base/names.ts";
import { askGit } from "../platform/git/git.ts";
import type { Store, TaskView } from "../queue/store.ts";
import type { LandedAs } from "../work/host.ts";
import { readRecord, recordedIn } from "../work/workspaces/record.ts";
import { branchOfTask } from "./candidates.ts";
import { type Changes, changedFiles, changesOf, isElsewhere, sumOf } from "./changes.ts";
import {
  LANDING_STATES,
  type Landing,
  type LandingState,
  readLanding,
  tasksWithLanding,
} from "./landing.ts";

/**
 * What is known of landings without git, for many tasks: the states in `merge/`, and which tasks have
 * a worktree. A file is read for a task that is asked about, and only if it has one.
 */
export interface Landings {
  /** Undefined for a task that was never a candidate. */
  stateOf(id: string): LandingState | undefined;
  /** It has work that is not in its target yet; false for a task without a branch. */
  isNotLanded(id: string): boolean;
}

export function landingsIn(store: Store): Landings {
  const known = new Set(tasksWithLanding(store.folder));
  const records = new Set(recordedIn(store.workspaces));
  const hasWorktree = (id: string) =>
    records.has(id) && readRecord(store.workspaces, id)?.kind === "worktree";
  // One damaged file must not hide the other tasks.
  const stateOf = (id: string) =>
    known.has(id) ? unlessCorrupt(() => readLanding(store.folder, id))?.state : undefined;
  return {
    stateOf,
    isNotLanded: (id) => {
      const state = stateOf(id);
      return state === undefined ? hasWorktree(id) : state !== "landed" && state !== "no_changes";
    },
  };
}

/** One sentence about the way of a task's work into its target. */
export interface LandingSentence {
  code: "landed" | "not_landed" | "no_changes";
  text: string;
  command?: string;
}

/** Of a done task; `null`: it was never a candidate. */
export function describeLanding(
  id: string,
  landing: Landing | null,
  now: {
    isEmpty: boolean;
    isElsewhere: boolean;
    branch: string;
    /** Of one that has landed: its branch has other commits since; the target has it no longer. */
    isLate?: boolean;
    isGone?: boolean;
  },
): LandingSentence {
  const merge = `viv merge ${idWord(id)}`;
  if (landing?.state === "landed") {
    const { to = "", target } = landing;
    const landed = `landed in ${target} as ${to.slice(0, 10)}`;
    if (now.isLate) {
      const text = `${landed}; not so the commits that its branch ${now.branch} has since`;
      return { code: "not_landed", text, command: merge };
    }
    const text = now.isGone ? `${landed}, which is no longer in ${target}` : landed;
    return { code: "landed", text };
  }
  if (now.isEmpty || landing?.state === "no_changes") {
    const why = landing?.state === "no_changes" ? landing.reason : undefined;
    const text = `no changes: ${why ?? "its branch has no commits of its own"}`;
    return { code: "no_changes", text };
  }
  if (landing === null) {
    const text = now.isElsewhere
      ? `its branch ${now.branch} is in another branch already, which the queue did not do`
      : `done, not landed: its branch ${now.branch} was not merged yet`;
    const command = now.isElsewhere ? undefined : merge;
    return { code: now.isElsewhere ? "landed" : "not_landed", text, command };
  }
  const { text, command } = notLanded(landing, merge);
  return { code: "not_landed", text: `done, not landed: ${text}`, command };
}

function notLanded(landing: Landing, merge: string): { text: string; command?: string } {
  const { state, target, reason, command, pull_request: request } = landing;
  switch (state) {
    case "queued":
      if (reason !== undefined) return { text: `in the queue for ${target}: it ${reason}` };
      return { text: `in the queue for ${target}`, command: merge };
    case "merging":
    case "proving":
    case "landing":
      return { text: `on its way into ${target} (${state})`, command: merge };
    case "pull_request":
      return { text: `its pull request is open: ${request?.url ?? "?"}`, command: "viv sync" };
    case "reworked":
      return { text: `${reason ?? "sent back"}; done again since`, command: command ?? merge };
    case "needs_you":
    case "held":
      return { text: reason ?? state, command };
    default:
      return { text: reason ?? state, command: command ?? merge };
  }
}

/** For one task: with git. */
async function landingSentence(id: string, changes: Changes): Promise<LandingSentence> {
  const isEmpty = !changes.uncommitted && changes.head === changes.base;
  const { landing, head, branch } = changes;
  const isOther = landing?.state === "landed" && head !== null && head !== landing.head;
  const inAnother = await isElsewhere(changes);
  const facts = { isEmpty, isElsewhere: inAnother, branch, isLate: isOther && !inAnother };
  const isGone = landing !== null && (await isInTarget(landing)) === false;
  return describeLanding(id, landing, { ...facts, isGone });
}

export const landingFact = z.object({
  repository: z.string(),
  branch: z.string(),
  base: z.string(),
  head: z.nullable(z.string()),
  /** Null when git cannot tell. */
  changed: z.nullable(
    z.object({ files: z.number(), insertions: z.number(), deletions: z.number() }),
  ),
  uncommitted: z.boolean(),
  /** Null: it was never a candidate. */
  state: z.nullable(z.enum(LANDING_STATES)),
  target: z.nullable(z.string()),
  landed: z.nullable(z.object({ commit: z.string(), target: z.string(), at: z.string() })),
  reworks: z.number(),
  /** In words, and what a person types to go on. */
  code: z.enum(["landed", "not_landed", "no_changes", "reworked"]),
  text: z.string(),
  command: z.optional(z.string()),
  evidence: z.optional(z.string()),
});
export type LandingFact = z.output<typeof landingFact>;

/** Everything about the landing of one task; null when it has no branch. */
export async function landingOf(
  store: Store,
  { id, state }: Pick<TaskView, "id" | "state">,
): Promise<LandingFact | null> {
  const known = branchOfTask(store, id);
  if (known === null) return null;
  const { repository, branch, base, landing } = known;
  const { target = null, reworks = 0, evidence, to, at } = landing ?? {};
  const isLanded = landing?.state === "landed" && to !== undefined;
  const fact = {
    ...{ repository, branch, base, target, reworks, evidence, state: landing?.state ?? null },
    landed: isLanded ? { commit: to, target: landing.target, at: at ?? "" } : null,
  };
  const told = (sentence: LandingSentence): Sentence =>
    state === "done" ? sentence : underWay(landing, sentence);
  try {
    const changes = await changesOf(store, id);
    if (changes === null) return null;
    const { head, uncommitted } = changes;
    const changed = sumOf(await changedFiles(changes));
    return { ...fact, head, uncommitted, changed, ...told(await landingSentence(id, changes)) };
  } catch (error) {
    if (!isVivError(error)) throw error;
    const text = error.message.replace(/\.$/, "");
    const unknown = { head: null, changed: null, uncommitted: false };
    const sentence = isLanded
      ? describeLanding(id, landing, { isEmpty: false, isElsewhere: false, branch })
      : { code: "not_landed" as const, text };
    const both = isLanded ? { ...sentence, text: `${sentence.text}; ${text}` } : sentence;
    return { ...fact, ...unknown, ...told(both) };
  }
}

type Sentence = Pick<LandingFact, "code" | "text" | "command">;

/** Of a task that is not done, only what happened to its work before. */
function underWay(landing: Landing | null, { code, text }: LandingSentence): Sentence {
  if (landing?.state === "reworked") {
    const why = (landing.reason ?? "").replace("; sent back", "");
    return { code: "reworked", text: `sent back: ${why}` };
  }
  return { code, text: code === "not_landed" ? "not done yet" : text };
}

/** Null for a task that has not landed. One call of git. */
export async function landedAs(run: string, id: string): Promise<LandedAs | null> {
  const landing = readLanding(run, id);
  if (landing?.state !== "landed" || landing.to === undefined) return null;
  const { head, target } = landing;
  return { head, target, isThere: await isInTarget(landing) };
}

/**
 * Whether the target, here or as it was fetched, has the commit that landed; of a target that is gone,
 * any branch but those of tasks. Null when it cannot be told: a forge has merged it, and nobody has
 * fetched that.
 */
async function isInTarget({ state, repository, target, to }: Landing): Promise<boolean | null> {
  if (state !== "landed" || to === undefined) return null;
  const branches = async (...args: string[]) => {
    const { status, stdout } = await askGit(["for-each-ref", "--format=%(refname)", ...args], {
      cwd: repository,
    });
    return status === 0 ? stdout.toString("utf8").split("\n").filter(Boolean) : null;
  };
  const names = [`refs/heads/${target}`, `refs/remotes/*/${target}`];
  const having = await branches(`--contains=${to}`, ...names);
  if (having === null || having.length > 0) return having && true;
  if ((await branches(...names))?.length !== 0) return false;
  const all = (await branches(`--contains=${to}`, "refs/heads/", "refs/remotes/")) ?? [];
  return all.some((name) => !/^refs\/(heads|remotes\/[^/]+)\/viv\//.test(name));
}
