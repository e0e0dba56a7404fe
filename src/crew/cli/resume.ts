import type { Command } from "../../operation/command.ts";
import { crewResume } from "../operations/control.ts";

export const command: Command = {
  op: crewResume,
  placeholders: { state: "DIR" },
  positionals: [{ key: "name" }],
  examples: [["viv crew resume moss", "by its clock; also what was parked"]],
  human: ({ name, state }: { name: string; state: string }) => `${name} ${state.replace("_", " ")}`,
};
