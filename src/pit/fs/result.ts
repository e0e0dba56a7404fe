import { isVivError } from "../../base/errors.ts";
import { isAttempt } from "../../queue/attempt.ts";
import {
  linkIfFree,
  readRegular,
  statIfThere,
  syncFolder,
  unlinkIfThere,
  writeNew,
} from "../../queue/fs/files/atomic.ts";
import { type FsRun, nowIso, temporaryPath } from "../../queue/fs/fs-run.ts";
import { readProof } from "../../queue/fs/record/artifact-files.ts";
import { readHistory } from "../../queue/fs/record/attempts.ts";
import { quoteDoneWhen } from "../done-when.ts";
import { resultName } from "../food-names.ts";
import { logsOf } from "./attempt-logs.ts";
import { endsProof, markUnproven } from "./by-hand.ts";
import { partsOf } from "./parts.ts";

/**
 * `done/<id>.result.md`, whole, before the claim leaves claimed/. What a snake has put there itself
 * is its own and stays.
 */
const MAX_TEXT = 4 * 1024 * 1024;

export interface Finisher {
  worker: string;
  /** Of its claim: what is older than that is not of this attempt. */
  token: string;
  attempt: number;
}

/** Returns the undo step, for a food that turns out to be another snake's by now. */
export function publishResult(run: FsRun, id: string, by: Finisher | null): () => void {
  const target = `${run.paths.state.done}/${resultName(id)}`;
  const there = statIfThere(target);
  const since = by === null ? 0 : Number(by.token) / 1000;
  // What is being proven is the result that is there.
  if (there && (endsProof(run, id) || there.ctimeMs >= since)) return () => {};
  if (there) markUnproven(run, id); // of an earlier attempt, which did not count
  const tmp = temporaryPath(run, `result-${id}`);
  const isSafe = run.durability === "safe";
  writeNew(tmp, textOf(run, id, by ?? lastFinisher(run, id)), isSafe);
  try {
    linkIfFree(tmp, target);
    if (isSafe) syncFolder(run.paths.state.done);
  } finally {
    unlinkIfThere(tmp);
  }
  return () => void unlinkIfThere(target);
}

/** The person who approves a food has not eaten it. */
function lastFinisher(run: FsRun, id: string): Finisher | null {
  const last = readHistory(run, id).findLast(isAttempt);
  return last ? { worker: last.worker, attempt: last.attempt, token: last.token } : null;
}

function textOf(run: FsRun, id: string, by: Finisher | null): string {
  const parts = partsOf(run, id);
  const log = by && logsOf(run, id).findLast(({ attempt }) => attempt === by.attempt);
  const lines = [
    `# ${id}: done`,
    "",
    ...(by ? [`- **by:** ${by.worker}, attempt ${by.attempt}`] : []),
    `- **at:** ${nowIso(run)}`,
    `- **proof:** ${proofOf(run, id, by)}`,
    ...(parts.length > 0 ? [`- **cut into:** ${parts.join(", ")}`] : []),
    ...(log ? [`- **log:** waste/${log.name}`] : []),
  ];
  const said = wordsOf(run, id);
  return `${lines.join("\n")}\n${said === "" ? "" : `\n${said}\n`}`;
}

function proofOf(run: FsRun, id: string, by: Finisher | null): string {
  const proof = readProof(run, id);
  if (proof === null || (by !== null && proof.attempt !== by.attempt)) {
    return "none was asked for";
  }
  const seconds = (proof.duration_ms / 1000).toFixed(1);
  return `${quoteDoneWhen(proof.command)} exit ${proof.exit} after ${seconds} s`;
}

/** The text that the snake wrote to its artifact. */
function wordsOf(run: FsRun, id: string): string {
  try {
    return readRegular(`${run.paths.artifacts}/${id}.md`, MAX_TEXT)?.text.trim() ?? "";
  } catch (error) {
    if (!isVivError(error, "CORRUPT")) throw error; // an error of the machine: the end is tried again later
    return `(what it wrote is too long to repeat: record/artifacts/${id}.md)`;
  }
}
