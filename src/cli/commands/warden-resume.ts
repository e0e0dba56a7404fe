import type * as z from "zod/mini";
import { wardenResume } from "../../ops/warden/care.ts";
import type { Command } from "../command.ts";
import { plain } from "../term.ts";

export const command: Command = {
  op: wardenResume,
  placeholders: { state: "DIR" },
  examples: [["viv warden resume", "after a look at the epitaphs"]],
  human: ({ was }: z.output<typeof wardenResume.output>) =>
    was
      ? `the pool goes on; it was paused: ${plain(was.why)}`
      : "the pool was not paused (a warden with a folder of its own: --state DIR)",
};
