import { reject } from "../../ops/decide.ts";
import type { Command } from "../command.ts";
import { byDefault, endedLines } from "./ended.ts";

export const command: Command = {
  op: reject,
  positionals: [{ key: "ids", many: true }],
  defaults: byDefault,
  examples: [['viv reject t.1 --note "the test is missing"', "the next attempt gets the note"]],
  human: endedLines,
};
