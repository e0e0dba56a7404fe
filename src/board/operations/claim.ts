import * as z from "zod/mini";
import { defineOperation } from "../../operation/operation.ts";
import type { Board, BoardTask } from "../board.ts";
import { claimMove } from "../moves.ts";
import { agent, agentOf, board, change, changed, role, slug } from "./shared.ts";

export const boardClaim = defineOperation({
  name: "board claim",
  summary: "take a task of a board, by one commit that only one agent can make",
  input: z.strictObject({ slug, agent, role, board }),
  output: changed,
  async run(context, given) {
    const who = agentOf(context, given);
    const request = { agent: who, role: given.role, now: context.now() };
    const decide = (found: Board, task: BoardTask) => claimMove(found, task, request);
    return change(context, given, who, { slug: given.slug, decide });
  },
});
