import type { Command } from "../../operation/command.ts";
import { fail } from "../operations/fail.ts";
import { claimDefaults, endedLine } from "./ended.ts";

export const command: Command = {
  op: fail,
  positionals: [{ key: "id" }],
  defaults: claimDefaults,
  examples: [
    ['viv fail --worker me --id t.1 --note "no such branch"', ""],
    [
      "viv fail t.1 --worker me --outcome rate_limited --retry-at +20m",
      "does not count as an attempt",
    ],
    ["viv fail t.1 --worker me --final", "no further attempts"],
  ],
  human: endedLine,
};
