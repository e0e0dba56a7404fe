import { boardClaim } from "../../ops/board/claim.ts";
import type { Command } from "../command.ts";
import { changedLine, tellTrouble } from "./board-shown.ts";

export const command: Command = {
  op: boardClaim,
  positionals: [{ key: "slug" }],
  examples: [
    ["viv board claim hello-world --agent moss", "one commit: research: claim hello-world"],
  ],
  human: changedLine,
  after: tellTrouble,
};
