import { boardBounce } from "../../ops/board/bounce.ts";
import type { Command } from "../command.ts";
import { changedLine, tellTrouble } from "./board-shown.ts";

export const command: Command = {
  op: boardBounce,
  positionals: [{ key: "slug" }],
  examples: [
    [`viv board bounce hello-world --agent hale --note "no source"`, "back to the state before"],
  ],
  human: changedLine,
  after: tellTrouble,
};
