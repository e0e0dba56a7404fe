import { byDefault, type Command } from "../../operation/command.ts";
import { reject } from "../operations/decide.ts";
import { endedLines } from "./ended.ts";

export const command: Command = {
  op: reject,
  positionals: [{ key: "ids", many: true }],
  defaults: byDefault,
  examples: [['viv reject t.1 --note "the test is missing"', "the next attempt gets the note"]],
  human: endedLines,
};
