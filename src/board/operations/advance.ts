import * as z from "zod/mini";
import { text } from "../../operation/fields.ts";
import { defineOperation } from "../../operation/operation.ts";
import type { Board, BoardTask } from "../board.ts";
import { advanceMove } from "../moves.ts";
import { agent, agentOf, board, change, changed, note, role, slug } from "./shared.ts";

export const boardAdvance = defineOperation({
  name: "board advance",
  summary: "pass a task that you have on to the next state, free for whoever comes next",
  input: z.strictObject({
    ...{ slug, agent },
    to: text("instead of the next state: a way to end it, like KILLED"),
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
