import { approve } from "../../ops/decide.ts";
import type { Command } from "../command.ts";
import { byDefault, endedLines } from "./ended.ts";

export const command: Command = {
  op: approve,
  positionals: [{ key: "ids", many: true }],
  defaults: byDefault,
  examples: [
    ["viv approve t.1", "the work is accepted"],
    ['viv approve t.1 t.2 --note "as discussed"', "several at once"],
  ],
  human: endedLines,
};
