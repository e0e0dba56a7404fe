import type { Command } from "../../operation/command.ts";
import { boardClaim } from "../operations/claim.ts";
import { changedLine, tellTrouble } from "./shown.ts";

export const command: Command = {
  op: boardClaim,
  positionals: [{ key: "slug" }],
  examples: [
    ["viv board claim hello-world --agent moss", "one commit: research: claim hello-world"],
  ],
  human: changedLine,
  after: tellTrouble,
};
