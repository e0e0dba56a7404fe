import { VivError } from "../base/errors.ts";
import {
  appendLogLine,
  insertHeading,
  type OrgEdit,
  patch,
  removeProperty,
  setProperty,
  setTodo,
} from "../org/edit.ts";
import {
  assertState,
  type Board,
  type BoardTask,
  claimedState,
  prefixOf,
  sequenceOf,
  slugOf,
  stateAfter,
  stateBefore,
} from "./board.ts";

/** A change of a board, decided: its new text and the subject of its commit. */
export interface Move {
  slug: string;
  title: string;
  from: string | null;
  to: string;
  agent: string | null;
  subject: string;
  /** Null when there is nothing to change. */
  text: string | null;
}

export interface MoveRequest {
  agent: string;
  role?: string;
  to?: string;
  note?: string;
  now: number;
}

export function claimMove(board: Board, task: BoardTask, { agent, role }: MoveRequest): Move {
  const { slug, title, state, heading } = task;
  const to = task.agent === agent ? state : claimedState(board, state);
  const subject = `${role ?? prefixOf(board, to)}: claim ${slug}`;
  const move = { slug, title, from: state, to, agent, subject };
  if (task.agent === agent) return { ...move, text: null };
  if (task.agent !== null) throw takenBy(task, "WRONG_STATE");
  if (task.isDone) {
    throw wrongState(task, `${slug} is ${state} and cannot be claimed any more.`);
  }
  const edits = [...setTodo(heading, to), ...setProperty(board.org, heading, "AGENT", agent)];
  return { ...move, text: patch(board.org.text, edits) };
}

export function advanceMove(board: Board, task: BoardTask, request: MoveRequest): Move {
  assertHolder(task, request.agent);
  const to = nextState(board, task, request.to);
  const isEnd = sequenceOf(board, to).done.includes(to);
  const prefix = request.role ?? prefixOf(board, isEnd ? to : task.state);
  const subject = `${prefix}: ${task.slug} — ${inOneLine(request.note) || to}`;
  return passOn(board, task, to, subject, request);
}

function nextState(board: Board, task: BoardTask, wanted: string | undefined): string {
  const next = stateAfter(board, task.state);
  const to = wanted === undefined ? next : assertState(board, wanted);
  if (to === undefined) {
    const message = `${task.slug} is ${task.state}, which has no next state; name one with --to STATE.`;
    throw wrongState(task, message);
  }
  const { done } = sequenceOf(board, task.state);
  // The other done states drop a task, at any time.
  if (to === next || (done.includes(to) && to !== done[0])) return to;
  const message = `${task.slug} is ${task.state}; its next state is ${next ?? "none"}, not ${to}; to send it back: viv board bounce.`;
  throw wrongState(task, message, { next });
}

export function bounceMove(board: Board, task: BoardTask, request: MoveRequest): Move {
  assertHolder(task, request.agent);
  const { open } = sequenceOf(board, task.state);
  const to =
    request.to === undefined ? stateBefore(board, task.state) : assertState(board, request.to);
  if (to === undefined) {
    const message = `${task.slug} is ${task.state}, the first state, so it cannot be sent back.`;
    throw wrongState(task, message);
  }
  if (!open.includes(to) || open.indexOf(to) >= open.indexOf(task.state)) {
    const message = `${to} does not come before ${task.state}; to go forward: viv board advance.`;
    throw wrongState(task, message);
  }
  const prefix = request.role ?? prefixOf(board, task.state);
  const subject = `${prefix}: bounce ${task.slug} — ${inOneLine(request.note) || to}`;
  return passOn(board, task, to, subject, request);
}

/** Into another state, without a holder, with a line in its log. */
function passOn(
  board: Board,
  task: BoardTask,
  to: string,
  subject: string,
  { agent, note, now }: MoveRequest,
): Move {
  const { org } = board;
  const reason = inOneLine(note);
  const line = `${stamp(now)} ${agent}: ${task.state} → ${to}${reason === "" ? "" : `: ${reason}`}`;
  const edits: OrgEdit[] = [
    ...setTodo(task.heading, to),
    ...removeProperty(task.heading, "AGENT"),
    ...appendLogLine(org, task.heading, line),
  ];
  const { slug, title, state: from } = task;
  return { slug, title, from, to, agent: null, subject, text: patch(org.text, edits) };
}

/** Agents name files by it, and pass it as an argument. */
const SLUG = /^[\p{L}\p{N}_][^/\p{Cc}]*$/u;

export function openMove(
  board: Board,
  title: string,
  { role, note, state: given, id }: { role?: string; note?: string; state?: string; id?: string },
): Move {
  const words = inOneLine(title);
  const slug = id ?? slugOf(words);
  if (slug === "" || /\s/.test(slug)) {
    const message = `${JSON.stringify(title)} gives no name for the task; use letters or digits, or --slug NAME.`;
    throw new VivError("INVALID", message);
  }
  if (!SLUG.test(slug)) {
    const message = `${JSON.stringify(slug)} is not a name for a task: files and arguments are named by it; begin it with a letter or digit, and leave out / and control characters.`;
    throw new VivError("INVALID", message);
  }
  const existing = board.tasks.find((task) => task.slug === slug);
  if (existing !== undefined) {
    const message = `the task ${slug} exists already (line ${existing.line}, ${existing.state}); give this one another name with --slug NAME.`;
    throw new VivError("TASK_EXISTS", message, { slug, state: existing.state });
  }
  const first = board.org.sequences[0]?.open[0];
  const state = given === undefined ? first : assertState(board, given);
  if (state === undefined) {
    throw new VivError("INVALID", "this board has no open state to begin in; add a #+TODO: line.");
  }
  const last = board.tasks.at(-1)?.heading ?? null;
  const body = [
    ...(id === undefined ? [] : [":PROPERTIES:", `:CUSTOM_ID: ${id}`, ":END:"]),
    ...(note === undefined ? [] : note.split(/\r?\n/).map(asText)),
  ];
  const edits = insertHeading(board.org, last, last?.level ?? 1, `${state} ${words}`, body);
  const subject = `${role ?? prefixOf(board, state)}: open ${slug}`;
  const text = patch(board.org.text, edits);
  return { slug, title: words, from: null, to: state, agent: null, subject, text };
}

/** A leading space keeps a line from being read as a heading, keyword or drawer. */
function asText(line: string): string {
  return /^(\*+ |#\+|:)/.test(line) ? ` ${line}` : line;
}

function assertHolder(task: BoardTask, agent: string): void {
  if (task.agent === agent) return;
  if (task.agent !== null) throw takenBy(task, "CLAIM_LOST");
  const message = `${task.slug} (${task.state}) is not claimed by ${agent}; claim it first: viv board claim ${task.slug} --agent ${agent}`;
  throw wrongState(task, message);
}

function takenBy({ slug, state, agent }: BoardTask, code: "WRONG_STATE" | "CLAIM_LOST"): VivError {
  const message = `${agent} has ${slug} (${state}); take another: viv board next`;
  return new VivError(code, message, { slug, state, agent });
}

function wrongState({ slug, state }: BoardTask, message: string, more: object = {}): VivError {
  return new VivError("WRONG_STATE", message, { slug, state, ...more });
}

function inOneLine(text: string | undefined): string {
  return (text ?? "").replace(/\s+/g, " ").trim();
}

function stamp(now: number): string {
  const date = new Date(now);
  const day = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"][date.getUTCDay()];
  const iso = date.toISOString();
  return `[${iso.slice(0, 10)} ${day} ${iso.slice(11, 16)}]`;
}
