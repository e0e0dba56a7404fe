import { release } from "../../ops/release.ts";
import type { Command } from "../command.ts";
import { claimDefaults, endedLine } from "./ended.ts";

export const command: Command = {
  op: release,
  positionals: [{ key: "id" }],
  defaults: claimDefaults,
  examples: [
    ["viv release --worker me --id t.1", ""],
    ["viv release t.1 --worker me --token TOKEN", "refused if the claim was lost meanwhile"],
  ],
  human: endedLine,
};
