import * as z from "zod/mini";
import { text } from "../../operation/fields.ts";
import { defineOperation } from "../../operation/operation.ts";
import { assertState } from "../board.ts";
import { readCommitted } from "../open.ts";
import { board, boardOf, shownTask, taskOnBoard } from "./shared.ts";

export const boardLs = defineOperation({
  name: "board ls",
  summary: "the tasks of a board, as they are committed: state, name, who has it",
  input: z.strictObject({
    state: text("only those in this state"),
    agent: text("only those of this agent"),
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
