import { byDefault, type Command } from "../../operation/command.ts";
import { cancel } from "../operations/decide.ts";
import { endedLines } from "./ended.ts";

export const command: Command = {
  op: cancel,
  positionals: [{ key: "ids", many: true }],
  defaults: byDefault,
  examples: [
    ["viv cancel t.1", "stop it; a worker that holds it finds its claim gone"],
    ['viv cancel t.1 t.2 --note "as discussed"', "several at once"],
  ],
  human: endedLines,
};
