import * as z from "zod/mini";
import { VivError } from "../base/errors.ts";
import { flag, text } from "../operation/fields.ts";
import { type Context, defineOperation, definePort } from "../operation/operation.ts";
import { BREACHES } from "./audit.ts";
import {
  assertAgent,
  assertState,
  assertWhole,
  type Board,
  type BoardTask,
  nextFor,
  taskNamed,
  textOf,
} from "./board.ts";
import { type Changed, changeBoard, type Decision } from "./change.ts";
import { auditBoard, logOfTask } from "./history.ts";
import { advanceMove, bounceMove, claimMove, openMove } from "./moves.ts";
import { type BoardPort, type BoardRepository, openBoard, readCommitted } from "./repository.ts";

export const boardPort = definePort<BoardPort>("board");

export const board = text("the board (default: VIV_BOARD, or board.org here or above)");
export const agent = text("your agent name (default: VIV_AGENT)");
export const role = text("prefix of the commit subject (default: from the state)");
export const slug = z
  .string()
  .check(z.describe("the task: its :CUSTOM_ID:, or its title in-words"));
export const note = text("note for the commit and the task's log");

export const taskOnBoard = z.object({
  slug: z.string(),
  state: z.string(),
  agent: z.nullable(z.string()),
  title: z.string(),
  line: z.number(),
});

export function shownTask({ slug, state, agent, title, line }: BoardTask) {
  return { slug, state, agent, title, line };
}

/** What a change says: what became of the task, and by which commit. */
export const changed = z.object({
  slug: z.string(),
  title: z.string(),
  from: z.nullable(z.string()),
  to: z.string(),
  agent: z.nullable(z.string()),
  commit: z.nullable(z.string()),
  subject: z.string(),
  trouble: z.optional(z.string()),
});

export async function boardOf(
  context: Context,
  given: { board?: string },
): Promise<BoardRepository> {
  const { here, use } = context;
  return openBoard(await use(boardPort), { board: given.board, cwd: here.cwd, env: here.env });
}

export function agentOf({ here }: Context, given: { agent?: string }): string {
  return assertAgent(given.agent ?? here.env.VIV_AGENT);
}

/** The word before the colon; git would take a line break for the end of the subject. */
export function assertRole(word: string | undefined): void {
  if (word === undefined || /^[\p{L}\p{N}_][\p{L}\p{N}._/()-]*$/u.test(word)) return;
  const message = `--role is one word, like write; ${JSON.stringify(word)} is not.`;
  throw new VivError("USAGE", message);
}

export async function change(
  context: Context,
  given: { board?: string; role?: string },
  who: string,
  decision: Decision,
): Promise<z.output<typeof changed>> {
  assertRole(given.role);
  const repository = await boardOf(context, given);
  const { text: _, trouble, ...rest }: Changed = await changeBoard(repository, who, decision);
  return { ...rest, trouble: trouble ?? undefined };
}

export const boardLs = defineOperation({
  name: "board ls",
  summary: "the tasks of a board as committed: state, name, owner",
  input: z.strictObject({
    state: text("only tasks in this state"),
    agent: text("only tasks of this agent"),
    board,
  }),
  output: z.object({ board: z.string(), states: z.array(z.string()), tasks: z.array(taskOnBoard) }),
  async run(context, given) {
    const repository = await boardOf(context, given);
    const found = await readCommitted(repository);
    const { state, agent } = given;
    if (state !== undefined) assertState(found, state);
    const tasks = found.tasks.filter(
      (task) =>
        (state === undefined || task.state === state) &&
        (agent === undefined || task.agent === agent),
    );
    const states = found.org.sequences.flatMap(({ open, done }) => [...open, ...done]);
    return { board: repository.file, states, tasks: tasks.map(shownTask) };
  },
});

export const boardNext = defineOperation({
  name: "board next",
  summary: "the next task of an agent: one it owns, else the first free one",
  input: z.strictObject({
    agent,
    state: text("only in this state, or in the state a claim moves it to"),
    exit_code: flag("exit 1 without a task, for :RUN-IF:"),
    board,
  }),
  output: z.object({ task: z.nullable(taskOnBoard), must: z.optional(z.boolean()) }),
  async run(context, given) {
    const who = agentOf(context, given);
    const repository = await boardOf(context, given);
    const found = await readCommitted(repository);
    assertWhole(found, repository.file);
    const task = nextFor(found, who, given.state);
    const must = given.exit_code || undefined;
    return { task: task === null ? null : shownTask(task), must };
  },
});

export const boardClaim = defineOperation({
  name: "board claim",
  summary: "claim a task of a board with one commit; only one agent can win",
  input: z.strictObject({ slug, agent, role, board }),
  output: changed,
  async run(context, given) {
    const who = agentOf(context, given);
    const request = { agent: who, role: given.role, now: context.now() };
    const decide = (found: Board, task: BoardTask) => claimMove(found, task, request);
    return change(context, given, who, { slug: given.slug, decide });
  },
});

export const boardAdvance = defineOperation({
  name: "board advance",
  summary: "move a task you own to the next state and release it",
  input: z.strictObject({
    ...{ slug, agent },
    to: text("another end state, like KILLED"),
    ...{ note, role, board },
  }),
  output: changed,
  async run(context, given) {
    const who = agentOf(context, given);
    const { role: word, to, note: said } = given;
    const request = { agent: who, role: word, to, note: said, now: context.now() };
    const decide = (found: Board, task: BoardTask) => advanceMove(found, task, request);
    return change(context, given, who, { slug: given.slug, decide });
  },
});

export const boardBounce = defineOperation({
  name: "board bounce",
  summary: "send a task you own back to the previous state, with a reason",
  input: z.strictObject({
    ...{ slug, agent, note },
    to: text("earlier state (default: the previous one)"),
    ...{ role, board },
  }),
  output: changed,
  async run(context, given) {
    const who = agentOf(context, given);
    if (given.note === undefined || given.note.trim() === "") {
      throw new VivError("USAGE", 'say why it goes back: --note "what is missing"');
    }
    const { role: word, to, note: said } = given;
    const request = { agent: who, role: word, to, note: said, now: context.now() };
    const decide = (found: Board, task: BoardTask) => bounceMove(found, task, request);
    return change(context, given, who, { slug: given.slug, decide });
  },
});

export const boardOpen = defineOperation({
  name: "board open",
  summary: "append a new task to a board",
  input: z.strictObject({
    title: z.array(z.string()).check(z.describe("title; the part before ` — ` becomes its name")),
    agent,
    note: text("text under the heading"),
    id: text("its name (:CUSTOM_ID:; default: from the title)"),
    state: text("initial state (default: the first)"),
    ...{ role, board },
  }),
  output: changed,
  async run(context, given) {
    const who = agentOf(context, { agent: given.agent ?? context.here.env.VIV_AGENT ?? "desk" });
    const title = given.title.join(" ");
    if (title.trim() === "") throw new VivError("USAGE", 'say what: viv board open "a title"');
    const { role: word, state: to, note, id } = given;
    const request = { agent: who, role: word, to, note, id, now: context.now() };
    return change(context, given, who, {
      decide: (found: Board) => openMove(found, title, request),
    });
  },
});

export const boardShow = defineOperation({
  name: "board show",
  summary: "a task as committed: state, owner, properties, text, log",
  input: z.strictObject({ slug, board }),
  output: z.extend(taskOnBoard, {
    properties: z.record(z.string(), z.string()),
    body: z.string(),
    log: z.array(z.string()),
  }),
  async run(context, given) {
    const repository = await boardOf(context, given);
    const found = await readCommitted(repository);
    const task = taskNamed(found, given.slug, repository.file);
    return { ...shownTask(task), ...textOf(found, task) };
  },
});

const nullable = z.nullable(z.string());

export const boardLog = defineOperation({
  name: "board log",
  summary: "the commits that changed a task, the oldest first",
  input: z.strictObject({ slug, board }),
  output: z.object({
    slug: z.string(),
    commits: z.array(
      z.object({
        ...{ commit: z.string(), author: z.string(), at: z.string(), subject: z.string() },
        ...{ from: nullable, to: nullable, agent: nullable },
      }),
    ),
  }),
  async run(context, given) {
    const repository = await boardOf(context, given);
    const commits = await logOfTask(repository, given.slug);
    // One that was removed long ago has a log too.
    if (commits.length === 0)
      taskNamed(await readCommitted(repository), given.slug, repository.file);
    return { slug: given.slug, commits };
  },
});

export const boardAudit = defineOperation({
  name: "board audit",
  summary: "list the commits of a board that broke the protocol",
  input: z.strictObject({ board }),
  output: z.object({
    ...{ board: z.string(), commits: z.number(), claims: z.number() },
    findings: z.array(
      z.object({
        ...{ code: z.enum(BREACHES), slug: z.string(), agent: z.nullable(z.string()) },
        ...{ message: z.string(), commit: z.string(), author: z.string() },
        ...{ at: z.string(), subject: z.string() },
      }),
    ),
  }),
  async run(context, given) {
    const repository = await boardOf(context, given);
    return { board: repository.file, ...(await auditBoard(repository)) };
  },
});
