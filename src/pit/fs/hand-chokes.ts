import { isName } from "../../base/names.ts";
import { isAttempt } from "../../queue/attempt.ts";
import { chokedWorkers, mayTry, NOTED_CHOKE, UNSEEN } from "../../queue/choke.ts";
import { takersOf } from "../../queue/fs/claims/choked-tasks.ts";
import { afterMove } from "../../queue/fs/ends/after-move.ts";
import { Afterwards } from "../../queue/fs/ends/afterwards.ts";
import {
  namesIn,
  readRegular,
  statIfThere,
  tokenOf,
  withLock,
} from "../../queue/fs/files/atomic.ts";
import { type FsRun, record } from "../../queue/fs/fs-run.ts";
import { fileOf, idLinkOf } from "../../queue/fs/layout.ts";
import { readTaskAt } from "../../queue/fs/read.ts";
import { appendHistory, attemptNumber, readHistory } from "../../queue/fs/record/attempts.ts";
import { reportChoked } from "./keeper.ts";
import { UNSEEN_IN_NAMES } from "./reports.ts";

/**
 * Notes `scraps/choke-<food>-<snake>.md`, ours and those written by hand, about food that waits in
 * food/. A choke that only such a note knows becomes an attempt of its snake, so that the same rules
 * hold for it. If no other snake is alive, the keeper is told.
 */
export async function noticeChokes(run: FsRun): Promise<void> {
  for (const name of namesIn(`${run.paths.root}/scraps`)) {
    const note = splitNote(run, name);
    if (note === null || !statIfThere(fileOf(run.paths, "pending", note.id))) continue;
    if (!chokedWorkers(readHistory(run, note.id)).has(note.snake)) {
      await withLock(`${run.paths.viv}/proof.lock`, () => enter(run, note));
    }
    tellKeeper(run, note.id);
  }
}

interface ChokeNote {
  id: string;
  snake: string;
  path: string;
}

/** Both parts may contain dashes: the longest food that is known counts. */
function splitNote(run: FsRun, name: string): ChokeNote | null {
  const stem = /^choke-(.+)\.md$/.exec(name)?.[1] ?? "";
  for (let at = stem.lastIndexOf("-"); at > 0; at = stem.lastIndexOf("-", at - 1)) {
    const [id, snake] = [stem.slice(0, at), stem.slice(at + 1)];
    const isUnseen = snake === UNSEEN_IN_NAMES;
    if (!isName(id) || !isName(snake) || (snake.includes(".") && !isUnseen)) continue;
    if (!statIfThere(idLinkOf(run.paths, id))) continue;
    return { id, snake: isUnseen ? UNSEEN : snake, path: `${run.paths.root}/scraps/${name}` };
  }
  return null;
}

function enter(run: FsRun, { id, snake, path }: ChokeNote): void {
  const stats = statIfThere(path);
  if (!stats?.isFile() || !statIfThere(fileOf(run.paths, "pending", id))) return;
  const history = readHistory(run, id);
  const isOurs = history.some((one) => isAttempt(one) && one.worker === snakeIn(snake, history));
  if (chokedWorkers(history).has(snake) || isOurs) return;
  const last = history.at(-1);
  if (last !== undefined && isAttempt(last) && last.to === "failed") return; // being retried
  // A note of before the last retry is about an earlier round.
  const retry = history.findLast((one) => !isAttempt(one));
  if (retry !== undefined && stats.mtimeMs <= Date.parse(retry.at)) return;
  const attempt = attemptNumber(history);
  const end = {
    ...{ attempt, worker: snake, token: tokenOf(stats), outcome: "failed" as const },
    ...{ to: "pending" as const, note: failureIn(path), fingerprint: `${NOTED_CHOKE}${snake}` },
  };
  record(run, { event: "ended", task: id, from: "claimed", ...end, by: "hand" });
  appendHistory(run, id, { ...end, at: new Date(stats.mtimeMs).toISOString() });
  afterMove(run, id, "pending", new Afterwards()); // the next sweep repairs a failure
}

/** Of `snake-2-2`, the second note of snake-2: its snake, if that one has choked on the food. */
function snakeIn(name: string, history: Parameters<typeof chokedWorkers>[0]): string | undefined {
  const first = name.replace(/-\d+$/, "");
  return first !== name && chokedWorkers(history).has(first) ? first : undefined;
}

/** The failure that a note names, else its first words. */
function failureIn(path: string): string {
  let text = "";
  try {
    text = readRegular(path, 64 * 1024)?.text ?? "";
  } catch {
    // Too long, or not a file: that there is a note is enough.
  }
  const lines = text.split("\n").map((line) => line.replace(/^[\s#>*-]+/, "").trim());
  const named = lines.find((line) => /^failure:/i.test(line.replace(/\*/g, "")));
  const words = named?.replace(/^[^:]*:\**\s*/, "") ?? lines.find((line) => line !== "");
  return (words || "its note says nothing").slice(0, 500);
}

function tellKeeper(run: FsRun, id: string): void {
  const history = readHistory(run, id);
  const snakes = [...chokedWorkers(history)];
  const { task } = readTaskAt(run, fileOf(run.paths, "pending", id), id);
  if (task === null || snakes.length === 0 || id.startsWith("keeper-")) return;
  if (mayTry(takersOf(run, task.task_type), task.task_type, history).length > 0) return;
  reportChoked(run, id, snakes);
}
