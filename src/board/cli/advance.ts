import type { Command } from "../../operation/command.ts";
import { boardAdvance } from "../operations/advance.ts";
import { changedLine, tellTrouble } from "./shown.ts";

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
