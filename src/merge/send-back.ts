import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { idWord } from "../base/names.ts";
import { plural } from "../base/text.ts";
import { replaceFileSynced } from "../platform/files/atomic-write.ts";
import { isAttempt } from "../queue/attempt.ts";
import { mustShow } from "../queue/operation.ts";
import type { Store, TaskView } from "../queue/store.ts";
import {
  readRecord,
  refBeside,
  type WorktreeRecord,
  workspacePath,
  writeRecord,
} from "../work/workspaces/record.ts";
import { appendOnce } from "./append-once.ts";
import { type Landing, writeLanding } from "./landing.ts";
import { markReworked } from "./right-of-way.ts";

/** Why a task goes back: the text is what its handler gets as evidence. */
export interface SentBack {
  why: "conflict" | "red" | "review";
  /** One sentence for `why` and the ledger. */
  reason: string;
  /** The conflict, the output of the failed proof, or the comments of a review. */
  evidence: string;
  /** The commit that its work must come onto: the tip of the target. */
  tip: string;
  /** The merged tree with conflict markers in its files, if git made one. */
  tree?: string;
  files?: readonly string[];
}

/** The name of the queue in the history: its records there are counted. */
const BY = "merge";

/**
 * Sends a done task back for another attempt, at most `reworks` times; then it waits for a person.
 * Returns the landing as it now stands on disk: `reworked` or `needs_you`.
 *
 * The steps, of which the third decides; after a kill between any two, call it again:
 *   1. the evidence, where VIV_EVIDENCE of the next attempt finds it
 *   2. the workspace's record: the commit that the next attempt begins on
 *   3. the task's own move, from done/ to pending/
 *   4. the landing
 * How often it went back is counted in the task's history, which step 3 writes: so killed between 3 and
 * 4, a rework counts once, whether the next call comes before or after the next attempt.
 */
export async function sendBack(
  store: Store,
  landing: Landing,
  sent: SentBack,
  reworks: number,
): Promise<Landing> {
  const id = landing.task;
  const view = await mustShow(store, id);
  const before = timesSentBack(view);
  // It went back already, and only the landing does not say so.
  if (view.state !== "done") return told(store, landing, sent, before, reworks);
  const number = before + 1;
  const isLast = before >= reworks;
  const kept = isLast ? null : keptBefore(landing, store.runId, number);
  const evidence = keepEvidence(store, view, landing, sent, kept);
  if (isLast) return needsYou(store, landing, { ...sent, evidence }, before);
  noteTip(store, landing, sent, number);
  const note = `${sent.reason} (${rework(number, reworks)})`;
  await store.rework(id, { by: BY, note, why: sent.why });
  return told(store, landing, { ...sent, evidence }, number, reworks);
}

function rework(number: number, reworks: number): string {
  return `rework ${number} of ${Math.max(number, reworks)}`;
}

/** A record behind which the move is still missing belongs to a call that was cut short. */
export function timesSentBack({ state, history }: TaskView): number {
  const last = history.at(-1);
  const isOpen = state === "done" && last !== undefined && !isAttempt(last);
  const counted = isOpen ? history.slice(0, -1) : history;
  return counted.filter((record) => !isAttempt(record) && record.by === BY).length;
}

/** Says what has become of it besides the new state. */
function next(landing: Landing, now: Partial<Landing> & Pick<Landing, "state">): Landing {
  const { from: _, to: __, proof: ___, command: ____, ...kept } = landing;
  return { ...kept, at: new Date().toISOString(), ...now };
}

function told(
  store: Store,
  landing: Landing,
  sent: SentBack,
  number: number,
  reworks: number,
): Landing {
  const reason = `${sent.reason}; sent back (${rework(number, reworks)})`;
  const files = sent.files && [...sent.files];
  const now = next(landing, {
    ...{ state: "reworked", reason, files, reworks: number },
    evidence: sent.evidence,
  });
  markReworked(store.folder, now.task);
  writeLanding(store.folder, now);
  return now;
}

/** The ledger says it once for a commit, then its file: after a kill in between, the line is found. */
async function needsYou(
  store: Store,
  landing: Landing,
  sent: SentBack,
  times: number,
): Promise<Landing> {
  const { task: id, target, head: commit } = landing;
  const path = workspacePath(store.workspaces, id);
  const often =
    times === 0 ? "it is not sent back" : `it went back ${times} ${plural(times, "time")}`;
  const how =
    sent.why === "conflict"
      ? `merge ${target} in ${path}, resolve the conflicts, then continue`
      : `repair it in ${path}, then continue`;
  const now = next(landing, {
    state: "needs_you",
    reason: `${sent.reason}; ${often}, and waits for you: ${how}`,
    command: `viv merge --continue ${idWord(id)}`,
    ...{ files: sent.files && [...sent.files], evidence: sent.evidence, reworks: times },
  });
  const line = { task: id, note: `${sent.reason}; ${often}`, target, commit };
  await appendOnce(store, { event: "needs_you", ...line }, ["commit", "note"]);
  writeLanding(store.folder, now);
  return now;
}

/** Returns its path. */
function keepEvidence(
  store: Store,
  view: TaskView,
  landing: Landing,
  sent: SentBack,
  kept: string | null,
): string {
  const folder = store.artifacts.pathOnThisHost(`${view.id}.evidence`);
  if (folder === null) return "";
  const attempt = Math.max(1, view.history.filter(isAttempt).length);
  const path = `${folder}/${attempt}.merge.log`;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  replaceFileSynced(path, `${textFor(landing, sent, kept)}\n`);
  return path;
}

const TO_DO = {
  red: "Change it so that the check passes together with what has landed meanwhile.",
  review: "Change it as the comments ask.",
};

const NO_MARKERS =
  "What has no room for markers, like a picture, lies there twice: one version is called NAME~COMMIT. Decide, then remove that one.";

/** `kept`: see keptBefore. A prompt shows the end of it: the task for the next attempt stands there. */
function textFor(
  { target, branch }: Landing,
  { evidence, reason, tip, why, files = [] }: SentBack,
  kept: string | null,
): string {
  const what = evidence.trimEnd() || `${reason}.`;
  // No attempt follows, and the workspace stays as it is.
  if (kept === null) return what;
  const where = `This workspace is now on ${target} (${tip.slice(0, 10)}), with the work of ${branch} merged into it and not committed. That work as it was before is kept as ${kept}.`;
  const todo =
    files.length === 0
      ? TO_DO[why === "review" ? "review" : "red"]
      : `Resolve the conflicts so that the work of both sides is kept. Conflict markers may be in:\n${files.map((file) => `  ${file}`).join("\n")}\n${NO_MARKERS}`;
  return [what, where, todo].join("\n\n");
}

/** The ref that keeps a task's work as it was before its rework of that number. */
export function keptBefore(
  landing: Pick<Landing, "task" | "branch">,
  run: string,
  number: number,
): string {
  return `${refBeside("before", landing, run)}/${number}`;
}

/** The workspace may be gone: then its record is enough to make it again from the branch. */
function noteTip(store: Store, landing: Landing, sent: SentBack, number: number): void {
  const { task: id, repository, branch, base, head } = landing;
  const found = readRecord(store.workspaces, id);
  // A claimer was killed in the middle of the last one: the next claimer goes on there first.
  if (found?.kind === "worktree" && found.onto?.step === "ready") return;
  const record: WorktreeRecord =
    found?.kind === "worktree"
      ? found
      : { kind: "worktree", repository, branch, base, created_at: new Date().toISOString() };
  const { tip, tree, files = [] } = sent;
  const merged = tree === undefined ? undefined : { from: head, tree, files: [...files] };
  const keep = keptBefore({ task: id, branch: record.branch }, store.runId, number);
  mkdirSync(store.workspaces, { recursive: true, mode: 0o700 });
  writeRecord(store.workspaces, id, { ...record, onto: { step: "noted", tip, keep, merged } });
}
