import { heartbeat } from "../../ops/heartbeat.ts";
import type { Command } from "../command.ts";
import { claimDefaults } from "./ended.ts";

export const command: Command = {
  op: heartbeat,
  defaults: claimDefaults,
  examples: [
    ['viv heartbeat --worker me --note "halfway through t.1"', "at least every five minutes"],
  ],
  human: () => "",
};
