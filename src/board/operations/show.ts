import * as z from "zod/mini";
import { defineOperation } from "../../operation/operation.ts";
import { taskNamed } from "../board.ts";
import { readCommitted } from "../open.ts";
import { textOf } from "../show.ts";
import { board, boardOf, shownTask, slug, taskOnBoard } from "./shared.ts";

export const boardShow = defineOperation({
  name: "board show",
  summary: "a task as it is committed: state, who has it, properties, text, log",
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
