import type { Command } from "../../operation/command.ts";
import { dogStatus, type PoolStatus } from "../operations/dogs.ts";
import { dogLines } from "./dog-pool-status.ts";

export const command: Command = {
  op: dogStatus,
  placeholders: { state: "DIR" },
  examples: [["viv dog status --active", "a line for each dog that has a warrant"]],
  human: (status: PoolStatus, { color }) =>
    dogLines(status).join("\n") || color.dim("no dog is active"),
};
