import { crewPause } from "../../ops/crew/control.ts";
import type { Command } from "../command.ts";

export const command: Command = {
  op: crewPause,
  placeholders: { state: "DIR" },
  positionals: [{ key: "name" }],
  examples: [["viv crew pause moss", "no further ticks until it is resumed"]],
  human: ({ name, state }: { name: string; state: string }) => `${name} ${state.replace("_", " ")}`,
};
