import { crewStop } from "../../ops/crew/control.ts";
import type { Command } from "../command.ts";

export const command: Command = {
  op: crewStop,
  placeholders: { state: "DIR" },
  examples: [["viv crew stop", "runs that are under way may finish"]],
  human: ({ stopped }: { stopped: boolean }) =>
    stopped ? "stopping; runs that are under way may finish" : "no crew runs here",
};
