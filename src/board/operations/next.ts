import * as z from "zod/mini";
import { flag, text } from "../../operation/fields.ts";
import { defineOperation } from "../../operation/operation.ts";
import { assertWhole, nextFor } from "../board.ts";
import { readCommitted } from "../open.ts";
import { agent, agentOf, board, boardOf, shownTask, taskOnBoard } from "./shared.ts";

export const boardNext = defineOperation({
  name: "board next",
  summary: "what an agent would take now: what it has already, or else the first that nobody has",
  input: z.strictObject({
    agent,
    state: text("only in this state, and in the one to which a claim moves it from there"),
    exit_code: flag("exit 1 when there is nothing, as for :RUN-IF:"),
    board,
  }),
  output: z.object({ task: z.nullable(taskOnBoard), must: z.optional(z.boolean()) }),
  async run(context, given) {
    const who = agentOf(context, given);
    const repository = await boardOf(context, given);
    const found = await readCommitted(repository);
    assertWhole(found, repository.file);
    const task = nextFor(found, who, given.state);
    return {
      task: task === null ? null : shownTask(task),
      ...(given.exit_code ? { must: true } : {}),
    };
  },
});
