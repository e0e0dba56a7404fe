import { boardAdvance } from "../../ops/board/advance.ts";
import type { Command } from "../command.ts";
import { changedLine, tellTrouble } from "./board-shown.ts";

export const command: Command = {
  op: boardAdvance,
  positionals: [{ key: "slug" }],
  examples: [
    [`viv board advance hello-world --agent moss --note "9 facts, 4 sources"`, "to the next state"],
    ["viv board advance hello-world --agent hale --to KILLED", "an end other than the first"],
  ],
  human: changedLine,
  after: tellTrouble,
};
