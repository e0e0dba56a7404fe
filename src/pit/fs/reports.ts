import { existsSync } from "node:fs";
import { isVivError } from "../../base/errors.ts";
import { isName } from "../../base/names.ts";
import { appendLine } from "../../platform/files/state-files.ts";
import { type HistoryRecord, isAttempt } from "../../queue/attempt.ts";
import { type Choke, UNSEEN } from "../../queue/choke.ts";
import { parseIn } from "../../queue/fs/enqueue/task-file.ts";
import {
  linkIfFree,
  namesIn,
  readDerived,
  readRegular,
  statIfThere,
  syncFolder,
  unlinkIfThere,
  writeNew,
} from "../../queue/fs/files/atomic.ts";
import { type FsRun, nowIso, temporaryPath } from "../../queue/fs/fs-run.ts";
import { fileOf, idLinkOf } from "../../queue/fs/layout.ts";
import { readProof } from "../../queue/fs/record/artifact-files.ts";
import { readHistory } from "../../queue/fs/record/attempts.ts";
import { attemptsSinceRetry } from "../../queue/retry.ts";
import { MAX_TASK_BYTES, type Task } from "../../queue/task.ts";
import { quoteDoneWhen } from "../done-when.ts";
import { resultName } from "../food-names.ts";
import { isProver } from "../pit-store.ts";
import { creditOf, markUnproven } from "./hand-results.ts";

/** What a pit writes about its food, for people and snakes: results and choke notes. */

const MAX_RESULT_BYTES = 4 * 1024 * 1024;

interface Finisher {
  worker: string;
  /** Of its claim: a result older than that is not of this attempt. */
  token: string;
  attempt: number;
}

/**
 * `done/<id>.result.md`, whole, before the claim leaves claimed/. A result that the snake itself
 * wrote stays. Returns the undo step, for a food that turns out to be another snake's by now.
 */
export function publishResult(run: FsRun, id: string, by: Finisher | null): () => void {
  const target = `${run.paths.state.done}/${resultName(id)}`;
  const there = statIfThere(target);
  const since = by === null ? 0 : Number(by.token) / 1000;
  // A proof is about the result that is there.
  if (there && (isProver(by?.worker) || there.ctimeMs >= since)) return () => {};
  if (there) markUnproven(run, id); // of an earlier attempt, which did not count
  const tmp = temporaryPath(run, `result-${id}`);
  const isSafe = run.durability === "safe";
  // The person who approves a food has not eaten it.
  const eater = by && { ...by, worker: creditOf(run, { id, worker: by.worker }) ?? by.worker };
  const finisher = eater ?? readHistory(run, id).findLast(isAttempt) ?? null;
  writeNew(tmp, resultText(run, id, finisher), isSafe);
  try {
    linkIfFree(tmp, target);
    if (isSafe) syncFolder(run.paths.state.done);
  } finally {
    unlinkIfThere(tmp);
  }
  return () => void unlinkIfThere(target);
}

function resultText(run: FsRun, id: string, by: Finisher | null): string {
  const parts = partsOf(run, id);
  const log = by && logsOf(run, id).get(String(by.attempt));
  const lines = [
    `# ${id}: done`,
    "",
    ...(by
      ? [`- **by:** ${by.worker === UNSEEN ? "not known" : by.worker}, attempt ${by.attempt}`]
      : []),
    `- **at:** ${nowIso(run)}`,
    `- **proof:** ${proofText(run, id, by)}`,
    ...(parts.length > 0 ? [`- **cut into:** ${parts.join(", ")}`] : []),
    ...(log ? [`- **log:** waste/${log}`] : []),
  ];
  const artifact = artifactText(run, id);
  return `${lines.join("\n")}\n${artifact === "" ? "" : `\n${artifact}\n`}`;
}

function proofText(run: FsRun, id: string, by: Finisher | null): string {
  const proof = readProof(run, id);
  if (proof === null || (by !== null && proof.attempt !== by.attempt)) {
    return "none was asked for";
  }
  const seconds = (proof.duration_ms / 1000).toFixed(1);
  return `${quoteDoneWhen(proof.command)} exit ${proof.exit} after ${seconds} s`;
}

function artifactText(run: FsRun, id: string): string {
  try {
    return readRegular(`${run.paths.artifacts}/${id}.md`, MAX_RESULT_BYTES)?.text.trim() ?? "";
  } catch (error) {
    if (!isVivError(error, "CORRUPT")) throw error; // of the machine: the end is tried again later
    return `(what it wrote is too long to repeat: record/artifacts/${id}.md)`;
  }
}

/**
 * `scraps/choke-<food>-<snake>.md`: how it failed, what was tried, and by which snakes. Written
 * before the food goes back, for its next snake. A log that the note names is never pruned.
 */
export function leaveChokeNote(
  run: FsRun,
  task: Task,
  choke: Choke,
  history: readonly HistoryRecord[],
): void {
  const tmp = temporaryPath(run, `choke-${task.task_id}`);
  writeNew(tmp, chokeText(run, task, choke, history), run.durability === "safe");
  try {
    const snake = choke.worker === UNSEEN ? UNSEEN_IN_NAMES : choke.worker;
    const base = `${run.paths.root}/scraps/choke-${task.task_id}-${snake}`;
    for (let n = 1; !linkIfFree(tmp, `${base}${n === 1 ? "" : `-${n}`}.md`); n++);
  } finally {
    unlinkIfThere(tmp);
  }
}

/** Of a note's file. No snake's name has a dot. */
export const UNSEEN_IN_NAMES = "unseen.snake";

function chokeText(
  run: FsRun,
  { task_id: id, payload, done_when }: Task,
  choke: Choke,
  history: readonly HistoryRecord[],
): string {
  const logs = logsOf(run, id);
  const failure = choke.attempt.note ?? choke.note ?? "it said nothing";
  const snake = choke.worker === UNSEEN ? "A snake that no process of viv saw" : choke.worker;
  return [
    `# ${snake} choked on ${id}`,
    "",
    `- **failure:** ${oneLine(failure)}`,
    `- **fingerprint:** ${choke.attempt.fingerprint ?? ""}`,
    `- **by:** ${choke.workers.join(", ")}`,
    ...(typeof payload.task === "string" ? [`- **task:** ${oneLine(payload.task)}`] : []),
    ...(done_when ? [`- **done-when:** ${oneLine(done_when)}`] : []),
    "",
    "What was tried:",
    "",
    ...attemptsSinceRetry(history)
      .filter(isAttempt)
      .map(({ attempt, worker, at, outcome, note = "" }) => {
        const log = logs.get(String(attempt));
        const where = log ? ` (waste/${log})` : "";
        return `${attempt}. ${worker}, ${at}: ${outcome}: ${oneLine(note)}${where}`;
      }),
    "",
    ...(choke.worker === UNSEEN ? [] : [`${snake} does not take it again.`]),
    "",
  ].join("\n");
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim().slice(0, 1000);
}

/** Names of logs in waste/ by attempt, from `record/artifacts/<id>.logs`, which workers write. */
function logsOf(run: FsRun, id: string): Map<string, string> {
  let text = "";
  try {
    text = readRegular(`${run.paths.artifacts}/${id}.logs`, 1024 * 1024)?.text ?? "";
  } catch (error) {
    if (!isVivError(error)) throw error; // a handler may write there too: then no log is known
  }
  const logs = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [attempt = "", , name] = line.split(" ");
    if (isName(name)) logs.set(attempt, name);
  }
  return logs;
}

/** `.viv/parts/<id>`: a line for each food that a snake cut this one into. */
export function notePart(run: FsRun, task: Task): void {
  if (task.parent) appendLine(`${run.paths.viv}/parts/${task.parent}`, task.task_id);
}

function partsOf(run: FsRun, id: string): string[] {
  noteUnseenParts(run);
  const text = readDerived(`${run.paths.viv}/parts/${id}`, 1024 * 1024)?.text ?? "";
  return [...new Set(text.split("\n").filter(isName))];
}

/** Names in food/ that were read already, and when food/ may be listed again. */
const looks = new WeakMap<FsRun, { seen: ReadonlySet<string>; nextAt: number }>();
const FREE_MS = 2;

/** A snake may write its parts with a shell and end at once, before one of our processes sees them. */
function noteUnseenParts(run: FsRun): void {
  const begin = performance.now();
  const last = looks.get(run);
  if (last && begin < last.nextAt) return;
  const seen = new Set<string>();
  for (const name of namesIn(run.paths.state.pending)) {
    if (last?.seen.has(name) || isNoted(run, run.paths.layout.idOf("pending", name))) {
      seen.add(name);
    }
  }
  // In a pit with thousands of foods this takes one percent of the time.
  const end = performance.now();
  looks.set(run, { seen, nextAt: begin + 100 * Math.max(0, end - begin - FREE_MS) });
}

/** False while it cannot be read: it may still be being written. */
function isNoted(run: FsRun, id: string | null): boolean {
  if (!isName(id) || existsSync(idLinkOf(run.paths, id))) return true;
  try {
    const file = readRegular(fileOf(run.paths, "pending", id), MAX_TASK_BYTES);
    if (file !== null) notePart(run, parseIn(run, file, id));
    return true;
  } catch (error) {
    if (!isVivError(error)) throw error;
    return false;
  }
}
