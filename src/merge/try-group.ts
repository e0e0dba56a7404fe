import { isVivError } from "../base/errors.ts";
import { counted } from "../base/text.ts";
import { git } from "../platform/git/git.ts";
import { isMachineError } from "../platform/machine-retry.ts";
import type { ReadyRoute } from "../work/attempt.ts";
import type { Candidate } from "./candidates.ts";
import { land } from "./land.ts";
import type { Landing } from "./landing.ts";
import { type Combined, combine, hunksOf } from "./merge-commit.ts";
import { messageFor } from "./message.ts";
import { type MergeProof, proveMerge } from "./prove-merge.ts";
import type { Session, Step } from "./session.ts";

/** The target may move under the queue so many times in a row. */
const MOST_MOVES = 5;
const DONE_WHEN_TIMEOUT_MS = 10 * 60_000;

/**
 * Merges candidates one onto the other and proves the last commit; green, all of them land in one
 * step. Red, the halves are tried by themselves, so that in the end one alone is red.
 */
export async function tryGroup(session: Session, group: readonly Candidate[]): Promise<void> {
  let left = group;
  for (let tries = 1; left.length > 0 && !session.isStopped; tries++) {
    const moved = await tryOnce(session, left);
    if (moved.length === 0) return;
    await session.refresh();
    left = moved;
    if (tries < MOST_MOVES) continue;
    const reason = `${session.target.branch} has moved ${tries} times while it was being proven`;
    for (const candidate of left) await session.hold(candidate, reason);
    return;
  }
}

/** Returns those whose target has moved meanwhile. */
async function tryOnce(
  session: Session,
  group: readonly Candidate[],
): Promise<readonly Candidate[]> {
  const steps: Step[] = [];
  const later: Candidate[] = [];
  for (const candidate of group) {
    if (session.isStopped) break;
    const step = await mergeOne(session, candidate, steps);
    if (step === "later") later.push(candidate);
    else if (step !== null) steps.push(step);
  }
  const moved = await proveAndLand(session, steps);
  if (moved.length > 0) return [...moved, ...later];
  // They conflict with others of the group: by now those have landed, or not.
  for (const candidate of later) await tryGroup(session, [candidate]);
  return [];
}

/** Null: it came to rest. "later": it conflicts with one that has not landed yet. */
async function mergeOne(
  session: Session,
  candidate: Candidate,
  steps: readonly Step[],
): Promise<Step | "later" | null> {
  const { context, repository, scratch, signs, identity } = session;
  const { base, head, type } = candidate;
  const reason = await session.waitsFor(candidate, steps);
  if (reason !== null) {
    session.tell(session.move(candidate, "again", { reason }));
    return null;
  }
  if (context.routeFor(type) === undefined) {
    const reason = `viv.toml has no route for ${type}, so its sandbox and its proof are not known`;
    await session.hold(candidate, reason);
    return null;
  }
  const last = steps.at(-1);
  const onto = last?.to ?? session.top.commit;
  if (session.isHeldAt(candidate, onto)) return null;
  const ontoTree = last?.tree ?? session.top.tree;
  session.move(candidate, "begin");
  const { strategy } = context.settings;
  const message = await messageFor(candidate, { strategy, target: session.target.branch, scratch });
  const isLast = context.settings.batch === 1;
  const isDependent = candidate.dependsOn.length > 0;
  const branch = { base, head: head ?? base, isDependent };
  const what = { repository, strategy, onto, ontoTree, ...branch, isLast };
  let merged: Combined;
  try {
    merged = await combine({ ...what, message, signs, identity }, scratch);
  } catch (error) {
    if (!isVivError(error) || isMachineError(error) || error.code === "UNSUPPORTED") throw error;
    merged = { kind: "held", reason: error.message.replace(/\.$/, "") };
  }
  if (merged.kind === "merged") {
    session.move(candidate, "merged");
    return { candidate, from: onto, to: merged.commit, tree: merged.tree };
  }
  const isThere = merged.kind === "empty" && head !== null && last === undefined;
  if (isThere && (await session.isIn(head, session.target.branch))) {
    // A person was faster, or it came with another's branch.
    session.move(candidate, "interrupted");
    await session.finish(candidate, "found", { to: head, reason: "merged meanwhile" });
  } else if (merged.kind === "empty") {
    const reason = `${session.target.branch} has its changes already`;
    session.tell(session.move(candidate, "empty", { reason }));
  } else if (merged.kind === "held") {
    const { reason, command } = merged;
    await session.hold(candidate, reason, { command });
  } else if (last !== undefined) {
    session.move(candidate, "interrupted");
    return "later";
  } else await conflicts(session, candidate, merged);
  return null;
}

async function conflicts(
  session: Session,
  candidate: Candidate,
  { files, said, tree }: Extract<Combined, { kind: "conflict" }>,
): Promise<void> {
  const { target, scratch } = session;
  const reason = `conflict with ${target.branch} in ${someOf(files)}`;
  if (await waitsForHeld(session, candidate, `${reason}, where others are held before it`)) return;
  const landing = session.move(candidate, "conflicts", { files, reason });
  const hunks = await hunksOf(tree, files, scratch.place);
  const since = await landedSince(session, candidate);
  const evidence = [`${reason}.`, said, since, hunks].filter((part) => part !== "").join("\n\n");
  const sent = { why: "conflict" as const, reason, evidence: `${evidence}\n`, files };
  await session.sendBack(candidate, landing, { ...sent, tip: target.tip, tree });
}

/** Others that have not landed may be the cause: it is judged when they have. */
async function waitsForHeld(
  session: Session,
  candidate: Candidate,
  reason: string,
): Promise<boolean> {
  if (session.obstacle === null) return false;
  await session.hold(candidate, reason);
  return true;
}

function someOf(files: readonly string[]): string {
  const names = files.slice(0, 3).join(", ");
  return files.length > 3 ? `${names} and ${counted(files.length - 3, "other")}` : names;
}

/** What the target has that the branch has not seen, for the one that has to adapt it. */
async function landedSince(session: Session, { base }: Candidate): Promise<string> {
  const { target, scratch } = session;
  const range = ["log", "--oneline", "--no-decorate", "--first-parent", "--max-count=20"];
  const log = await git([...range, target.tip, "--not", base], scratch.place);
  return log === "" ? "" : `In ${target.branch} since it began:\n${log}`;
}

async function proveAndLand(session: Session, steps: readonly Step[]): Promise<Candidate[]> {
  const last = steps.at(-1);
  if (last === undefined) return [];
  const ids = steps.map(({ candidate }) => candidate.id);
  session.context.onEvent?.({ kind: "proves", ids, target: session.target.branch });
  const { verdict, of, proof } = await prove(session, steps, last.to);
  if (verdict.kind === "green") {
    session.provenTips.set(last.to, null);
    return landIfDone(session, steps, proof);
  }
  const isOfAny = verdict.kind === "red" || (verdict.kind === "held" && verdict.isOfAny);
  if (isOfAny && steps.length > 1) {
    for (const { candidate } of steps) session.move(candidate, "split");
    const half = Math.ceil(steps.length / 2);
    const candidates = steps.map(({ candidate }) => candidate);
    await tryGroup(session, candidates.slice(0, half));
    await tryGroup(session, candidates.slice(half));
    return [];
  }
  if (verdict.kind === "red") {
    const broken = await whyTargetIsRed(session, last);
    if (broken !== null) await session.hold(last.candidate, broken, { from: last.from });
    else await isRed(session, last.candidate, verdict.note, proof);
    return [];
  }
  const others = steps.flatMap(({ candidate }) => (candidate === of ? [] : candidate));
  for (const candidate of others) session.move(candidate, "interrupted");
  if (verdict.kind === "stopped") session.move(of, "interrupted");
  else await session.hold(of, verdict.reason);
  if (verdict.kind === "held") await tryGroup(session, others);
  return [];
}

/** A task that was taken back while it was being proven does not land, nor does its proof hold. */
async function landIfDone(
  session: Session,
  steps: readonly Step[],
  proof: NonNullable<Landing["proof"]>,
): Promise<Candidate[]> {
  const { store } = session.context;
  const others: Candidate[] = [];
  for (const { candidate } of steps) {
    if ((await store.show(candidate.id))?.state === "done") others.push(candidate);
  }
  if (others.length < steps.length) {
    for (const { candidate } of steps) session.move(candidate, "interrupted");
    return others;
  }
  return (await land(session, steps, proof, "proven")) === "moved" ? others : [];
}

async function isRed(
  session: Session,
  candidate: Candidate,
  note: string,
  proof: NonNullable<Landing["proof"]>,
): Promise<void> {
  const { context, target } = session;
  const reason = `red after its merge into ${target.branch}: ${note}`;
  if (await waitsForHeld(session, candidate, `${reason}; others are held before it`)) return;
  const landing = session.move(candidate, "failed", { reason, evidence: proof.log ?? undefined });
  const output = proof.log === null ? "" : context.host.readEnd(proof.log, MOST_OUTPUT);
  const since = await landedSince(session, candidate);
  const evidence = [`${reason}.`, since, output].filter((part) => part !== "").join("\n\n");
  const sent = { why: "red" as const, reason, evidence: `${evidence.trimEnd()}\n` };
  await session.sendBack(candidate, landing, { ...sent, tip: target.tip });
}

const MOST_OUTPUT = 64 * 1024;

/**
 * A target that fails the queue's proof without the candidate, too: then that is not the task's fault,
 * and another attempt would be for nothing.
 */
async function whyTargetIsRed(session: Session, { candidate, from }: Step): Promise<string | null> {
  const { context, scratch, target } = session;
  const { prove, proveTimeoutMs: timeoutMs } = context.settings;
  const route = context.routeFor(candidate.type);
  if (prove === undefined || route === undefined) return null;
  const known = session.provenTips.get(from);
  if (known !== undefined) return known;
  const log = context.host.artifacts.targetLogOf(candidate.id);
  if ((await whyNoFiles(session, from)) !== null) return null;
  scratch.use();
  const head = `${target.branch} without ${candidate.branch}: ${from}`;
  const request = { candidate, route, commands: [prove], timeoutMs, path: scratch.path, head, log };
  const verdict = await proveMerge(context, request);
  await scratch.detach(from);
  if (verdict.kind !== "green" && verdict.kind !== "red") return null;
  const what = `${target.branch} fails the proof without it, too`;
  const help = "repair that, or change prove in [merge]";
  const why = verdict.kind === "green" ? null : `${what} (${verdict.note}; ${log}): ${help}`;
  session.provenTips.set(from, why);
  if (why === null) session.redTips.delete(from);
  else session.redTips.add(from);
  return why;
}

interface Proven {
  verdict: MergeProof;
  /** The task whose commands decided it. */
  of: Candidate;
  proof: NonNullable<Landing["proof"]>;
}

/** Each task's own proof, in its own sandbox, then the queue's in that of the last. */
async function prove(session: Session, steps: readonly Step[], commit: string): Promise<Proven> {
  const { context, scratch, target } = session;
  const { settings, host, now } = context;
  const runs: { candidate: Candidate; route: ReadyRoute; commands: string[]; timeoutMs: number }[] =
    [];
  for (const { candidate } of steps) {
    const route = context.routeFor(candidate.type);
    if (route === undefined) continue; // refused before
    const own = await provenBy(session, candidate, route);
    const isLast = candidate === steps.at(-1)?.candidate;
    const prove = isLast ? settings.prove : undefined;
    const commands = [own, prove].filter((command) => command !== undefined);
    const ownMs = own === undefined ? 0 : (route.doneWhenTimeoutMs ?? DONE_WHEN_TIMEOUT_MS);
    const timeoutMs = ownMs + (prove === undefined ? 0 : settings.proveTimeoutMs);
    if (commands.length > 0) runs.push({ candidate, route, commands, timeoutMs });
  }
  const commands = runs.flatMap((run) => run.commands);
  const lastRun = runs.at(-1);
  const log = lastRun === undefined ? null : host.artifacts.mergeLogOf(lastRun.candidate.id);
  const proofAt = (path: string | null) => {
    return { commit, commands, at: new Date(now()).toISOString(), log: path };
  };
  const last = steps.at(-1)?.candidate as Candidate;
  let verdict: MergeProof = { kind: "green" };
  for (const run of runs) {
    const reason = await whyNoFiles(session, commit);
    scratch.use();
    if (reason !== null) {
      const isOfAny = true; // of the batch
      return {
        verdict: { kind: "held", reason, isOfAny },
        of: run.candidate,
        proof: proofAt(null),
      };
    }
    const head = `${run.candidate.branch} merged into ${target.branch}: ${commit}`;
    const own = host.artifacts.mergeLogOf(run.candidate.id);
    verdict = await proveMerge(context, { ...run, path: scratch.path, head, log: own });
    await scratch.detach(commit);
    if (verdict.kind !== "green") return { verdict, of: run.candidate, proof: proofAt(own) };
  }
  return { verdict, of: last, proof: proofAt(log) };
}

/** A filter of the repository may fail on a file, or the disk may not take its name. */
async function whyNoFiles({ scratch }: Session, commit: string): Promise<string | null> {
  try {
    await scratch.become(commit);
    return null;
  } catch (error) {
    if (!isVivError(error, "INVALID") || isMachineError(error)) throw error;
    const said = /^error: (.*)$/m.exec(String(error.details.stderr))?.[1] ?? error.message;
    return `its files cannot be written for a proof (${said.replace(/\.$/, "")})`;
  }
}

/** The command that has proven the task; without one, the one that would. */
async function provenBy(
  { context: { store } }: Session,
  { id, task }: Candidate,
  route: ReadyRoute,
): Promise<string | undefined> {
  const proof = await store.proof(id);
  const command = proof?.exit === 0 ? proof.command : undefined;
  return command ?? task.done_when ?? route.doneWhen;
}
