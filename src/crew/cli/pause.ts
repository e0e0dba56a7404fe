import type { Command } from "../../operation/command.ts";
import { crewPause } from "../operations/control.ts";

export const command: Command = {
  op: crewPause,
  placeholders: { state: "DIR" },
  positionals: [{ key: "name" }],
  examples: [["viv crew pause moss", "no further ticks until it is resumed"]],
  human: ({ name, state }: { name: string; state: string }) =>
    state === "running"
      ? `${name} is paused when its run has ended`
      : `${name} ${state.replace("_", " ")}`,
};
