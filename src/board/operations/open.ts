import * as z from "zod/mini";
import { VivError } from "../../base/errors.ts";
import { text } from "../../operation/fields.ts";
import { defineOperation } from "../../operation/operation.ts";
import type { Board } from "../board.ts";
import { openMove } from "../moves.ts";
import { agent, agentOf, board, change, changed, role } from "./shared.ts";

export const boardOpen = defineOperation({
  name: "board open",
  summary: "put a new task on a board, behind the last one",
  input: z.strictObject({
    title: z.array(z.string()).check(z.describe("what it is about; up to a ` — ` it is its name")),
    agent,
    note: text("what stands under it: leads, not facts"),
    id: text("its name (:CUSTOM_ID:), if that of its title does not do"),
    state: text("where it begins (default: the first state)"),
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
