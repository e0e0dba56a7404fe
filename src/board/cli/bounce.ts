import type { Command } from "../../operation/command.ts";
import { boardBounce } from "../operations/bounce.ts";
import { changedLine, tellTrouble } from "./shown.ts";

export const command: Command = {
  op: boardBounce,
  positionals: [{ key: "slug" }],
  examples: [
    [`viv board bounce hello-world --agent hale --note "no source"`, "back to the state before"],
  ],
  human: changedLine,
  after: tellTrouble,
};
