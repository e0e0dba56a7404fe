import { resolve } from "node:path";
import * as z from "zod/mini";
import { VivError } from "../base/errors.ts";
import { flag, list, text } from "../operation/fields.ts";
import { type Context, defineOperation, definePort } from "../operation/operation.ts";
import { statesOf } from "../org/org.ts";
import { BREACHES } from "./audit.ts";
import {
  assertAgent,
  assertState,
  assertWhole,
  type Board,
  type BoardTask,
  decodeBoard,
  nextFor,
  readBoard,
  taskNamed,
  textOf,
} from "./board.ts";
import { changeBoard, type Decision } from "./change.ts";
import { type BoardCheckout, findCheckout } from "./checkout.ts";
import type { LockWait } from "./commit.ts";
import { auditBoard, logOfTask } from "./history.ts";
import { initBoard } from "./init.ts";
import {
  advanceMove,
  bounceMove,
  claimMove,
  type Move,
  type MoveRequest,
  openMove,
} from "./moves.ts";
import { readVersion } from "./tip.ts";

export const boardPort = definePort<LockWait>("board");

const board = text("the board (default: VIV_BOARD, or board.org here or above)");
const agent = text("name of an agent (default: VIV_AGENT)");
const role = text("prefix of the commit subject (default: from the state)");
const slug = z
  .string()
  .check(z.describe("name of the task (its :CUSTOM_ID:, or its title in-words)"));
const note = text("a note for the record (the commit and the task's log)");

const nullable = z.nullable(z.string());

/** `id` as of every task; `slug` is the same once more. */
const taskOnBoard = z.object({
  ...{
    id: z.string(),
    slug: z.string(),
    state: z.string(),
    agent: nullable,
    title: z.string(),
    line: z.number(),
  },
});

function shownTask({ slug, state, agent, title, line }: BoardTask) {
  return { id: slug, slug, state, agent, title, line };
}

/** The task after a change, and the commit that made it. */
export const changed = z.object({
  ...{
    id: z.string(),
    slug: z.string(),
    title: z.string(),
    from: nullable,
    to: z.string(),
    agent: nullable,
  },
  ...{ commit: nullable, subject: z.string(), trouble: z.optional(z.string()) },
});

async function readCommitted(
  { here }: Context,
  given: { board?: string },
): Promise<{ checkout: BoardCheckout; board: Board }> {
  const checkout = await findCheckout(given.board, here);
  const { bytes } = await readVersion(checkout);
  return { checkout, board: readBoard(decodeBoard(bytes).text) };
}

interface ChangeInput extends Omit<MoveRequest, "agent" | "now"> {
  agent?: string;
  board?: string;
}

/** One commit by an agent, on the board that was read for the decision. */
async function change(
  context: Context,
  given: ChangeInput,
  decisionFor: (request: MoveRequest) => Decision,
) {
  const { here, use, now } = context;
  const agent = assertAgent(given.agent ?? here.env.VIV_AGENT);
  const { role: word } = given;
  // Git would take a line break for the end of the subject.
  if (word !== undefined && !/^[\p{L}\p{N}_][\p{L}\p{N}._/()-]*$/u.test(word)) {
    const message = `--role is one word, like write; ${JSON.stringify(word)} is not.`;
    throw new VivError("USAGE", message);
  }
  const checkout = await findCheckout(given.board, here);
  const decision = decisionFor({ ...given, agent, now: now() });
  const changed = await changeBoard(checkout, await use(boardPort), agent, decision);
  return { id: changed.slug, ...changed };
}

function changeTask(
  context: Context,
  given: ChangeInput & { slug: string },
  move: (board: Board, task: BoardTask, request: MoveRequest) => Move,
) {
  return change(context, given, (request) => ({
    slug: given.slug,
    decide: (board, task) => move(board, task, request),
  }));
}

export const boardLs = defineOperation({
  name: "board ls",
  summary: "the tasks of a board as committed: name, state, owner",
  input: z.strictObject({
    state: list("only tasks in these states"),
    agent: text("name of an agent (only its tasks)"),
    board,
  }),
  changes: () => false,
  output: z.object({
    board: z.string(),
    states: z.array(z.string()),
    /** Those of the states that end a task. */
    final: z.array(z.string()),
    tasks: z.array(taskOnBoard),
  }),
  async run(context, given) {
    const { checkout, board } = await readCommitted(context, given);
    const { state, agent } = given;
    for (const one of state ?? []) assertState(board, one);
    const tasks = board.tasks.filter(
      (task) =>
        (state === undefined || state.includes(task.state)) &&
        (agent === undefined || task.agent === agent),
    );
    return {
      ...{ board: checkout.file, states: statesOf(board.org) },
      final: board.org.sequences.flatMap(({ done }) => done),
      tasks: tasks.map(shownTask),
    };
  },
});

export const boardNext = defineOperation({
  name: "board next",
  summary: "the next task of an agent: one it owns, else the first free one",
  input: z.strictObject({
    agent,
    state: list("only tasks in these states (or where a claim moves them)"),
    exit_code: flag("exit 1 without a task, for :RUN-IF:"),
    board,
  }),
  changes: () => false,
  output: z.object({ task: z.nullable(taskOnBoard), must: z.optional(z.boolean()) }),
  async run(context, given) {
    const name = assertAgent(given.agent ?? context.here.env.VIV_AGENT);
    const { checkout, board } = await readCommitted(context, given);
    assertWhole(board, checkout.file);
    const task = nextFor(board, name, given.state);
    return { task: task && shownTask(task), must: given.exit_code || undefined };
  },
});

export const boardClaim = defineOperation({
  name: "board claim",
  summary: "claim a task of a board with one commit; only one agent can win",
  input: z.strictObject({ slug, agent, role, board }),
  output: changed,
  run: (context, given) => changeTask(context, given, claimMove),
});

export const boardAdvance = defineOperation({
  name: "board advance",
  summary: "move a task you own to the next state and release it",
  input: z.strictObject({
    ...{ slug, agent },
    to: text("state to move it to (default: the next; or another end, like KILLED)"),
    ...{ note, role, board },
  }),
  output: changed,
  run: (context, given) => changeTask(context, given, advanceMove),
});

export const boardBounce = defineOperation({
  name: "board bounce",
  summary: "send a task you own back to the previous state, with a reason",
  input: z.strictObject({
    ...{ slug, agent, note },
    to: text("state to move it to (default: the previous one)"),
    ...{ role, board },
  }),
  output: changed,
  async run(context, given) {
    if (given.note === undefined || given.note.trim() === "") {
      throw new VivError("USAGE", 'a bounce needs a reason: --note "what is missing"');
    }
    return changeTask(context, given, bounceMove);
  },
});

export const boardOpen = defineOperation({
  name: "board open",
  summary: "append a new task to a board",
  input: z.strictObject({
    title: z.array(z.string()).check(z.describe("title; the part before ` — ` becomes its name")),
    agent,
    note: text("a note for the record (the text under the heading)"),
    id: text("name of the task (its :CUSTOM_ID:; default: from the title)"),
    state: text("state to move it to (default: the first)"),
    ...{ role, board },
  }),
  output: changed,
  async run(context, given) {
    const title = given.title.join(" ");
    if (title.trim() === "")
      throw new VivError("USAGE", 'the title is empty; write: viv board open "a title"');
    const agent = given.agent ?? context.here.env.VIV_AGENT ?? "desk";
    return change(context, { ...given, agent }, () => ({
      decide: (board: Board) => openMove(board, title, given),
    }));
  },
});

export const boardInit = defineOperation({
  name: "board init",
  summary: "make a board and commit it; an existing file is kept, and committed if it is not yet",
  input: z.strictObject({
    board: text("the board (to make; default: VIV_BOARD, or board.org here)"),
    states: text('its states (default: "ASSIGNED RESEARCH WRITING EDIT | PUBLISHED KILLED")'),
    agent: text(
      "name of an agent (author of the commit if git has none; default: VIV_AGENT, or desk)",
    ),
  }),
  output: z.object({
    ...{ board: z.string(), states: z.array(z.string()) },
    ...{ created: z.boolean(), commit: nullable },
  }),
  async run({ here }, given) {
    const { cwd, env } = here;
    const agent = assertAgent(given.agent ?? (env.VIV_AGENT || "desk"));
    const named = given.board ?? (env.VIV_BOARD || "board.org");
    if (named === "") {
      throw new VivError("USAGE", "--board is empty; it is the path of an org file.");
    }
    const { file, states, isNew, commit } = await initBoard(
      resolve(cwd, named),
      given.states,
      agent,
    );
    return { board: file, states, created: isNew, commit };
  },
});

export const boardShow = defineOperation({
  name: "board show",
  summary: "a task as committed: state, owner, properties, text, log",
  input: z.strictObject({ slug, board }),
  changes: () => false,
  output: z.extend(taskOnBoard, {
    properties: z.record(z.string(), z.string()),
    body: z.string(),
    log: z.array(z.string()),
  }),
  async run(context, given) {
    const { checkout, board } = await readCommitted(context, given);
    const task = taskNamed(board, given.slug, checkout.file);
    return { ...shownTask(task), ...textOf(board, task) };
  },
});

const commit = { commit: z.string(), author: z.string(), at: z.string(), subject: z.string() };

export const boardLog = defineOperation({
  name: "board log",
  summary: "the commits that changed a task, the oldest first",
  input: z.strictObject({ slug, board }),
  changes: () => false,
  output: z.object({
    ...{ id: z.string(), slug: z.string() },
    commits: z.array(z.object({ ...commit, from: nullable, to: nullable, agent: nullable })),
  }),
  async run(context, given) {
    const checkout = await findCheckout(given.board, context.here);
    const commits = await logOfTask(checkout, given.slug);
    // One that was removed long ago has a log too.
    if (commits.length === 0) {
      taskNamed((await readCommitted(context, given)).board, given.slug, checkout.file);
    }
    return { id: given.slug, slug: given.slug, commits };
  },
});

export const boardAudit = defineOperation({
  name: "board audit",
  summary: "list the commits of a board that broke the protocol",
  input: z.strictObject({ board }),
  changes: () => false,
  output: z.object({
    ...{ board: z.string(), commits: z.number(), claims: z.number() },
    findings: z.array(
      z.object({
        ...{ code: z.enum(BREACHES), slug: z.string(), agent: nullable, message: z.string() },
        ...commit,
      }),
    ),
    /** Earlier parts of its history that were not audited, with the reason. */
    unseen: z.array(z.string()),
  }),
  async run(context, given) {
    const checkout = await findCheckout(given.board, context.here);
    return { board: checkout.file, ...(await auditBoard(checkout)) };
  },
});
