import { type AttemptRecord, type HistoryRecord, isAttempt } from "../../queue/attempt.ts";
import type { Choke } from "../../queue/choke.ts";
import { linkIfFree, unlinkIfThere, writeNew } from "../../queue/fs/files/atomic.ts";
import { type FsRun, temporaryPath } from "../../queue/fs/fs-run.ts";
import { attemptsSinceRetry } from "../../queue/retry.ts";
import type { Task } from "../../queue/task.ts";
import { logsOf } from "./attempt-logs.ts";

/**
 * `scraps/choke-<food>-<snake>.md`: how it failed, what was tried, and by whom. Written before the
 * food goes back, so that its next snake finds the note. A log that it names is never pruned.
 */
export function leaveChokeNote(
  run: FsRun,
  task: Task,
  choke: Choke,
  history: readonly HistoryRecord[],
): void {
  const tmp = temporaryPath(run, `choke-${task.task_id}`);
  writeNew(tmp, textOf(run, task, choke, history), run.durability === "safe");
  try {
    const base = `${run.paths.root}/scraps/choke-${task.task_id}-${choke.worker}`;
    for (let n = 1; !linkIfFree(tmp, `${base}${n === 1 ? "" : `-${n}`}.md`); n++);
  } finally {
    unlinkIfThere(tmp);
  }
}

function textOf(
  run: FsRun,
  { task_id: id, payload, done_when }: Task,
  choke: Choke,
  history: readonly HistoryRecord[],
): string {
  const logs = logsOf(run, id);
  const logOf = ({ attempt }: AttemptRecord) => logs.findLast((log) => log.attempt === attempt);
  const tried = attemptsSinceRetry(history).filter(isAttempt);
  const failure = choke.attempt.note ?? choke.note ?? "it said nothing";
  return [
    `# ${choke.worker} choked on ${id}`,
    "",
    `- **failure:** ${oneLine(failure)}`,
    `- **fingerprint:** ${choke.attempt.fingerprint ?? ""}`,
    `- **by:** ${choke.workers.join(", ")}`,
    ...(typeof payload.task === "string" ? [`- **task:** ${oneLine(payload.task)}`] : []),
    ...(done_when ? [`- **done-when:** ${oneLine(done_when)}`] : []),
    "",
    "What was tried:",
    "",
    ...tried.map((one) => {
      const log = logOf(one);
      const where = log ? ` (waste/${log.name})` : "";
      return `${one.attempt}. ${one.worker}, ${one.at}: ${one.outcome}: ${oneLine(one.note ?? "")}${where}`;
    }),
    "",
    `${choke.worker} does not take it again while another snake is alive.`,
    "",
  ].join("\n");
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim().slice(0, 1000);
}
