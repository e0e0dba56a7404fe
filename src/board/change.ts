import { isUtf8 } from "node:buffer";
import { setTimeout as wait } from "node:timers/promises";
import { isVivError, VivError } from "../base/errors.ts";
import { growingPause } from "../base/growing-pause.ts";
import { gitVariables } from "../platform/git/git.ts";
import {
  assertWhole,
  type Board,
  type BoardTask,
  decodeBoard,
  readBoard,
  taskNamed,
} from "./board.ts";
import type { BoardCheckout } from "./checkout.ts";
import { commitChange, type LockWait } from "./commit.ts";
import { follow } from "./follow.ts";
import type { Move } from "./moves.ts";
import { type BoardTip, readTip } from "./tip.ts";

export interface Changed extends Omit<Move, "text"> {
  commit: string | null;
  /** A warning: the change is committed, but this checkout stayed behind. */
  trouble?: string;
}

interface TaskDecision {
  slug: string;
  decide: (board: Board, task: BoardTask) => Move;
}

export type Decision = TaskDecision | { decide: (board: Board) => Move };

/** Enough for dozens of agents at once: one of them wins each round. */
const MOST_TRIES = 60;

/**
 * Every change of a board: read the tip, decide, commit on that tip; when the branch has moved
 * meanwhile, start over. So the decision was true at the moment of the commit.
 */
export async function changeBoard(
  checkout: BoardCheckout,
  waitForLock: LockWait,
  agent: string,
  decision: Decision,
): Promise<Changed> {
  let variables: Map<string, string> | undefined;
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const tip = await readSettledTip(checkout);
    const { move, bytes } = moveOn(tip.bytes, checkout.file, decision);
    const { text: _, ...changed } = move;
    if (bytes === null) {
      const trouble = tip.isBehind ? await follow(checkout, tip) : undefined;
      return { ...changed, commit: null, trouble };
    }
    const message = `${move.subject}\n\nAgent: ${agent}\n`;
    variables ??= await gitVariables(checkout.top);
    const context = { checkout, variables, waitForLock };
    const made = await commitChange(context, tip, { bytes, message, agent });
    if (made !== null) {
      const trouble = await follow(checkout, made.tip, made.note);
      return { ...changed, commit: made.tip.commit, trouble };
    }
    await pause(tries);
  }
  const message = `the branch of ${checkout.file} was moved by others during ${MOST_TRIES} tries; try again later.`;
  throw new VivError("LOCKED", message);
}

/** Another change may be half way through the index and the file: then a moment later they fit. */
async function readSettledTip(checkout: BoardCheckout): Promise<BoardTip> {
  for (let tries = 0; ; tries++) {
    try {
      return await readTip(checkout);
    } catch (error) {
      const isPassing = isVivError(error, "WRONG_STATE") && "how" in error.details;
      if (!isPassing || tries === 4) throw error;
      await pause(tries);
    }
  }
}

/** Up to a twentieth of a second: the winner needs some ten milliseconds. */
async function pause(tries: number): Promise<void> {
  await wait(growingPause(tries + 1, { first: 5, longest: 50 }) * (0.5 + Math.random()));
}

interface Decided {
  move: Move;
  bytes: Buffer | null;
}

/** For one task its part of the board is enough; errors are found on the whole. */
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

/**
 * The part of a board that matters to one task: the text before the first heading, the headings
 * that may have its name, and the first with properties (new ones are written like those). Reading
 * only that, instead of thousands of tasks, is most of the speed of a claim.
 */
interface Excerpt {
  text: string;
  /** All bytes, when what belongs to the heading at `offset` was changed in the excerpt. */
  restore(changed: string, offset: number): Buffer;
}

/** Marks of a conflict, and letters that become ASCII when they are made small. */
const UNUSUAL = ["<<<<<<<", ">>>>>>>", "|||||||", "\xe2\x84\xaa", "\xc4\xb0"];

/** Null where the kind of a line depends on other lines, so that all must be read. */
export function excerptFor(bytes: Buffer, slug: string): Excerpt | null {
  if (!/^[a-z0-9]+(-[a-z0-9]+)*$/i.test(slug) || /^line-\d+$/.test(slug)) return null;
  const text = bytes.toString("latin1"); // a character for each byte, so that offsets are the same
  const first = text.startsWith("*") ? 0 : headingFrom(text, 0);
  if (first === -1 || text.includes("#+", first)) return null; // blocks, or further states
  if (UNUSUAL.some((mark) => text.includes(mark))) return null;
  const starts = new Set<number>();
  const take = (at: number) => {
    if (at >= first) starts.add(headingAround(text, at));
  };
  for (let at = text.indexOf(slug); at !== -1; at = text.indexOf(slug, at + 1)) take(at);
  // In a title, something that is no letter and no digit stands between the words.
  const words = new RegExp(slug.split("-").join("[^a-z0-9\\n]+"), "gi");
  for (const match of text.matchAll(words)) take(match.index);
  take(/:properties:/i.exec(text)?.index ?? -1);
  const pieces = [...starts]
    .sort((a, b) => a - b)
    .map((from): [number, number] => [from, headingFrom(text, from)])
    .map(([from, to]): [number, number] => [from, to === -1 ? bytes.length : to]);
  return excerptOf(bytes, [[0, first], ...pieces]);
}

/** The next one behind an offset. */
function headingFrom(text: string, from: number): number {
  for (let at = text.indexOf("\n*", from); at !== -1; at = text.indexOf("\n*", at + 1)) {
    if (isHeading(text, at + 1)) return at + 1;
  }
  return -1;
}

/** The one to which an offset belongs. */
function headingAround(text: string, offset: number): number {
  for (let at = text.lastIndexOf("\n*", offset); at !== -1; at = text.lastIndexOf("\n*", at - 1)) {
    if (isHeading(text, at + 1)) return at + 1;
    if (at === 0) break;
  }
  return 0;
}

function isHeading(text: string, at: number): boolean {
  let end = at;
  while (text.charCodeAt(end) === 42) end++;
  return end > at && text.charCodeAt(end) === 32;
}

function excerptOf(bytes: Buffer, pieces: readonly [number, number][]): Excerpt {
  const parts = pieces.map(([from, to]) => bytes.toString("utf8", from, to));
  const text = parts.join("");
  return {
    text,
    restore: (changed, offset) => {
      let at = 0;
      for (const [i, [from, to]] of pieces.entries()) {
        const end = at + (parts[i] as string).length;
        if (offset < end) {
          const piece = changed.slice(at, changed.length - (text.length - end));
          return Buffer.concat([bytes.subarray(0, from), Buffer.from(piece), bytes.subarray(to)]);
        }
        at = end;
      }
      throw new RangeError(`${offset} is behind the end of the excerpt`);
    },
  };
}
