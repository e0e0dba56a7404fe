import type { Command } from "../../operation/command.ts";
import { release } from "../operations/release.ts";
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
