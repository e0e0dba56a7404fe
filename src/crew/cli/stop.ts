import type { Command } from "../../operation/command.ts";
import { crewStop } from "../operations/control.ts";

export const command: Command = {
  op: crewStop,
  placeholders: { state: "DIR" },
  examples: [["viv crew stop", "runs that are under way may finish"]],
  human: ({ stopped }: { stopped: boolean }) =>
    stopped ? "stopping; runs that are under way may finish" : "no crew runs here",
};
