import * as z from "zod/mini";
import { VivError } from "../../base/errors.ts";
import { text } from "../../operation/fields.ts";
import { type Context, definePort } from "../../operation/operation.ts";
import { assertAgent, type BoardTask } from "../board.ts";
import { type Changed, changeBoard, type Decision } from "../change.ts";
import type { BoardPort, BoardRepository } from "../git.ts";
import { openBoard } from "../open.ts";

export const boardPort = definePort<BoardPort>("board");

export const board = text("the board (default: VIV_BOARD, or board.org here or above)");
export const agent = text("who you are (default: VIV_AGENT)");
export const role = text("the word before the colon of the commit (default: the state's)");
export const slug = z
  .string()
  .check(z.describe("the task: its :CUSTOM_ID:, or its title in-words"));
export const note = text("a word about it, for the commit and the task's log");

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
  given: { board?: string | undefined },
): Promise<BoardRepository> {
  const { here, use } = context;
  return openBoard(await use(boardPort), { board: given.board, cwd: here.cwd, env: here.env });
}

export function agentOf({ here }: Context, given: { agent?: string | undefined }): string {
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
  given: { board?: string | undefined; role?: string | undefined },
  who: string,
  decision: Decision,
): Promise<z.output<typeof changed>> {
  assertRole(given.role);
  const repository = await boardOf(context, given);
  const { text: _, trouble, ...rest }: Changed = await changeBoard(repository, who, decision);
  return { ...rest, ...(trouble === null ? {} : { trouble }) };
}
