import type { Command } from "../../operation/command.ts";
import { complete } from "../operations/complete.ts";
import { claimDefaults, endedLine } from "./ended.ts";

export const command: Command = {
  op: complete,
  positionals: [{ key: "id" }],
  defaults: claimDefaults,
  examples: [
    ["viv complete --worker me --id t.1", ""],
    ["viv complete t.1 --worker me --token TOKEN", "refused if the claim was lost meanwhile"],
  ],
  human: endedLine,
};
