import type { Command } from "../../operation/command.ts";
import { heartbeat } from "../operations/heartbeat.ts";
import { claimDefaults } from "./ended.ts";

export const command: Command = {
  op: heartbeat,
  defaults: claimDefaults,
  examples: [
    ['viv heartbeat --worker me --note "halfway through t.1"', "at least every five minutes"],
  ],
  human: () => "",
};
