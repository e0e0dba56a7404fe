import { byDefault, type Command } from "../../operation/command.ts";
import { retry } from "../operations/decide.ts";
import { endedLines } from "./ended.ts";

export const command: Command = {
  op: retry,
  positionals: [{ key: "ids", many: true }],
  defaults: byDefault,
  examples: [
    ["viv retry t.1", "its attempts so far no longer count"],
    ['viv retry t.1 t.2 --note "as discussed"', "several at once"],
  ],
  human: endedLines,
};
