import { isUtf8 } from "node:buffer";
import { VivError } from "../base/errors.ts";
import {
  assertWhole,
  type Board,
  type BoardTask,
  decodeBoard,
  readBoard,
  taskNamed,
} from "./board.ts";
import { excerptFor } from "./excerpt.ts";
import type { BoardRepository } from "./git.ts";
import type { Move } from "./moves.ts";

export interface Changed extends Move {
  /** Null when there was nothing to change. */
  commit: string | null;
  /** What stayed behind in this checkout, though the change is made. */
  trouble: string | null;
}

interface TaskDecision {
  slug: string;
  decide: (board: Board, task: BoardTask) => Move;
}

export type Decision = TaskDecision | { decide: (board: Board) => Move };

/** Enough for dozens that all want to change a board at once: one of them wins each time. */
const MOST_TRIES = 60;

/**
 * Looks, decides, and commits on what it looked at; when the branch has moved meanwhile, all over
 * again. So what was decided was true at the moment at which it was committed.
 */
export async function changeBoard(
  repository: BoardRepository,
  agent: string,
  decision: Decision,
): Promise<Changed> {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const tip = await repository.look();
    const { move, bytes } = moveOn(tip.bytes, repository.file, decision);
    if (bytes === null) {
      const trouble = tip.isBehind ? await repository.follow(tip) : null;
      return { ...move, commit: null, trouble };
    }
    const message = `${move.subject}\n\nAgent: ${agent}\n`;
    const made = await repository.commit(tip, { bytes, message, agent });
    if (made !== null) {
      return { ...move, commit: made.commit, trouble: await repository.follow(made) };
    }
    await repository.pause(tries);
  }
  const message = `others changed the branch of ${repository.file} each of ${MOST_TRIES} times; try again when there is less to do.`;
  throw new VivError("LOCKED", message);
}

interface Decided {
  move: Move;
  bytes: Buffer | null;
}

/** Where one task is concerned, its part of the board is enough; what goes wrong is told of the whole. */
function moveOn(bytes: Buffer, file: string, decision: Decision): Decided {
  const part = "slug" in decision && isUtf8(bytes) ? moveOnPart(bytes, decision) : null;
  if (part !== null) return part;
  const { text, encoding } = decodeBoard(bytes);
  const board = readBoard(text);
  assertWhole(board, file);
  const move =
    "slug" in decision
      ? decision.decide(board, taskNamed(board, decision.slug, file))
      : decision.decide(board);
  return { move, bytes: move.text === null ? null : Buffer.from(move.text, encoding) };
}

function moveOnPart(bytes: Buffer, { slug, decide }: TaskDecision): Decided | null {
  const excerpt = excerptFor(bytes, slug);
  if (excerpt === null) return null;
  const board = readBoard(excerpt.text);
  const [task, other] = board.tasks.filter((one) => one.slug === slug);
  if (task === undefined || other !== undefined) return null;
  const move = decide(board, task);
  const { text } = move;
  return { move, bytes: text === null ? null : excerpt.restore(text, task.heading.from) };
}
