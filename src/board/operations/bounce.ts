import * as z from "zod/mini";
import { VivError } from "../../base/errors.ts";
import { text } from "../../operation/fields.ts";
import { defineOperation } from "../../operation/operation.ts";
import type { Board, BoardTask } from "../board.ts";
import { bounceMove } from "../moves.ts";
import { agent, agentOf, board, change, changed, note, role, slug } from "./shared.ts";

export const boardBounce = defineOperation({
  name: "board bounce",
  summary: "send a task that you have back to the state before, and say why",
  input: z.strictObject({
    ...{ slug, agent, note },
    to: text("an earlier state (default: the one before)"),
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
