import type { Command } from "../../operation/command.ts";
import { boardOpen } from "../operations/open.ts";
import { changedLine, tellTrouble } from "./shown.ts";

export const command: Command = {
  op: boardOpen,
  positionals: [{ key: "title", many: true }],
  examples: [
    [`viv board open "hello world — one story"`, "a new task in the first state"],
    [`viv board open "Rust in space" --note "lead: the talk of May 3"`, "with a lead under it"],
  ],
  human: changedLine,
  after: tellTrouble,
};
