import type * as z from "zod/mini";
import type { Command } from "../../operation/command.ts";
import { plain } from "../../operation/term.ts";
import { wardenResume } from "../operations/care.ts";

export const command: Command = {
  op: wardenResume,
  placeholders: { state: "DIR" },
  examples: [["viv warden resume", "after a look at the epitaphs"]],
  human: ({ was }: z.output<typeof wardenResume.output>) =>
    was
      ? `the pool goes on; it was paused: ${plain(was.why)}`
      : "the pool was not paused (a warden with a folder of its own: --state DIR)",
};
