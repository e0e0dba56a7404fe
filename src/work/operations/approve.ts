import * as z from "zod/mini";
import { flag } from "../../operation/fields.ts";
import { defineRunOperation } from "../../queue/operation.ts";
import { decideEach, decisionInput, decisionOutput } from "../../queue/operations/tasks.ts";
import { unprovenError } from "../../queue/proof-state.ts";
import { whyUnprovenNow } from "../asked-proof.ts";

/** `viv approve`. What a route or a worktree says about the proof, the store cannot know. */
export const approve = defineRunOperation({
  name: "approve",
  summary: "accept a task in review/",
  access: "write",
  input: z.strictObject({
    ...decisionInput,
    unproven: flag("accept also what has no valid proof (recorded)"),
  }),
  output: decisionOutput,
  async run(context, { ids, unproven = false, by, note }) {
    return decideEach(ids, async (id) => {
      const view = await context.store.show(id);
      const why = view?.state === "review" ? await whyUnprovenNow(context, view) : null;
      if (why !== null && !unproven) throw unprovenError(id, why);
      const given = { by: by || undefined, note, unproven: why ?? unproven };
      return context.store.approve(id, given);
    });
  },
});
