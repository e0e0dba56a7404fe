import { byDefault, type Command } from "../../operation/command.ts";
import { approve } from "../operations/decide.ts";
import { endedLines } from "./ended.ts";

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
