import { isName } from "../base/names.ts";
import { quoted } from "../base/text.ts";
import { git, isAncestor } from "../platform/git/git.ts";
import { inspect } from "../work/workspaces/inspect.ts";
import { commitOf } from "../work/workspaces/worktree.ts";
import { type Candidate, refsOf } from "./candidates.ts";
import { land } from "./land.ts";
import { type Landing, readLanding, tasksWithLanding } from "./landing.ts";

import { keptBefore } from "./send-back.ts";
import type { Session } from "./session.ts";

/**
 * Looks at each candidate before anything is merged: what a queue that died has left half done is
 * finished or begins anew, what a person has merged has landed, and what has nothing to land is over.
 * Returns those that are to be merged, in their order.
 */
export async function recover(
  session: Session,
  candidates: readonly Candidate[],
): Promise<Candidate[]> {
  const merged = await mergedInto(session, candidates);
  const isOfAnother = commitsOfOthers(session);
  // An attempt may have set its branch back: nothing of its own is in it.
  const isBehind = ({ head, base }: Candidate) =>
    isAncestor(head ?? base, base, { cwd: session.repository.path });
  const held: Candidate[] = [];
  const left: Candidate[] = [];
  for (const candidate of candidates) {
    const landing = await resumed(session, candidate);
    if (landing.state === "landed") continue;
    if (candidate.head === null) {
      await session.hold(candidate, `its branch ${candidate.branch} is gone`);
    } else if (candidate.head === candidate.base) await withoutCommits(session, candidate);
    else if (
      merged.has(candidate.branch) &&
      (isOfAnother(candidate) || (await isBehind(candidate)))
    ) {
      const at = `${session.target.branch} (${candidate.head.slice(0, 10)})`;
      session.tell(session.move(candidate, "empty", { reason: `its branch ends at ${at} itself` }));
    } else if (merged.has(candidate.branch)) {
      const reason = "merged by hand";
      await session.finish(candidate, "found", { to: candidate.head, reason });
    } else if (isProven(landing)) held.push(candidate);
    else left.push(candidate);
  }
  const stale = await resumeHeld(session, held);
  const again = new Set([...stale, ...left].map(({ id }) => id));
  return candidates.filter(({ id }) => again.has(id));
}

/** The branches whose commits are all in the target. */
async function mergedInto(
  { repository, target }: Session,
  candidates: readonly Candidate[],
): Promise<ReadonlySet<string>> {
  const format = "--format=%(refname:lstrip=2)";
  const list = ["for-each-ref", format, `--merged=${target.tip}`, ...refsOf(candidates)];
  return new Set((await git(list, { cwd: repository.path })).split("\n"));
}

/**
 * Whether a branch ends at the commit with which another task landed: it was only brought up to date,
 * and nothing of its own has landed.
 */
function commitsOfOthers({ context: { store } }: Session): (candidate: Candidate) => boolean {
  let landed: Map<string, string> | null = null;
  return ({ id, head }) => {
    landed ??= new Map(
      tasksWithLanding(store.folder).flatMap((task) => {
        const { state, to } = (isName(task) && readLanding(store.folder, task)) || {};
        return state === "landed" && to !== undefined ? [[to, task] as const] : [];
      }),
    );
    const task = head === null ? undefined : landed.get(head);
    return task !== undefined && task !== id;
  };
}

/** A landing that is queued or held, or has landed after all. */
async function resumed(session: Session, candidate: Candidate): Promise<Landing> {
  const before = session.of(candidate);
  const { state, to, target } = before;
  if (to !== undefined && ["landing", "held"].includes(state)) {
    if (await session.isIn(to, target)) {
      await session.finish(candidate, "found", { ...before, to, reason: undefined });
      return session.of(candidate);
    }
  }
  const { branch, base, head } = candidate;
  const into = session.target.branch;
  const { strategy } = session.context.settings;
  const isOther = head !== null && head !== before.head;
  const now = { branch, base, head: head ?? before.head, target: into, strategy };
  if (["merging", "proving", "landing", "conflict", "red"].includes(state)) {
    return session.move(candidate, "interrupted", now);
  }
  const isMoved = before.branch !== branch || target !== into;
  const isChanged = isOther || isMoved || before.strategy !== strategy;
  if (isChanged || !["queued", "held"].includes(state)) {
    if (state === "held") await session.release(before);
    return session.move(candidate, "again", now);
  }
  return before;
}

async function withoutCommits(session: Session, candidate: Candidate): Promise<void> {
  const found = await inspect(session.context.store.workspaces, candidate.id);
  if (found?.info.kind === "worktree" && found.info.dirty) {
    const there = `git -C ${quoted(found.info.path)}`;
    const command = `${there} add -A && ${there} commit`;
    await session.hold(candidate, "its worktree has changes that are not committed", { command });
    return;
  }
  const landing = session.of(candidate);
  const { reworks } = landing;
  const kept = keptBefore(landing, session.context.store.runId, reworks);
  const reason = `nothing is left of it after its rework; what it was before is kept as ${kept}`;
  session.tell(session.move(candidate, "empty", reworks > 0 ? { reason } : {}));
}

function isProven({ state, from, to, proof }: Landing): boolean {
  return state === "held" && from !== undefined && to !== undefined && proof !== undefined;
}

/**
 * Proven ones that only waited for a working tree: they land now, or go on waiting, as long as each
 * begins where the one before it ends. The others, whose target has moved, are returned.
 */
async function resumeHeld(session: Session, held: readonly Candidate[]): Promise<Candidate[]> {
  const left = new Map(held.map((one) => [session.of(one).from, one]));
  const isStale = new Set(held);
  for (;;) {
    const unit = nextUnit(session, left);
    if (unit.length === 0 || !(await isThere(session, unit))) break;
    for (const one of unit) isStale.delete(one);
    await landHeld(session, unit);
    if (session.isStopped) break;
  }
  for (const candidate of isStale) {
    await session.release(session.move(candidate, "moved"));
  }
  return [...isStale];
}

/**
 * Those that were proven together and begin at the top: only together they are proven. `held` by the
 * commits that they begin at; it loses those that were looked at.
 */
function nextUnit(session: Session, held: Map<string | undefined, Candidate>): Candidate[] {
  const unit: Candidate[] = [];
  let at = session.top.commit;
  for (;;) {
    const next = held.get(at);
    if (next === undefined) return [];
    held.delete(at);
    const { to = "", proof } = session.of(next);
    unit.push(next);
    if (proof?.commit === to) return unit;
    at = to;
  }
}

/** A person may have removed the ref that kept them, and git the commits. */
async function isThere(session: Session, unit: readonly Candidate[]): Promise<boolean> {
  const last = unit.at(-1);
  const to = last && session.of(last).to;
  return to !== undefined && (await commitOf(session.repository, to)) !== null;
}

async function landHeld(session: Session, unit: readonly Candidate[]): Promise<void> {
  const facts = unit.map((candidate) => ({ candidate, ...session.of(candidate) }));
  const steps = facts.map(({ candidate, from = "", to = "" }) => ({ candidate, from, to }));
  const proof = facts[0]?.proof;
  if (proof === undefined) return;
  await land(session, steps, proof, "resume");
}
