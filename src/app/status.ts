import { VivError } from "../base/errors.ts";
import type { Command } from "../operation/command.ts";
import { commands as runCommands } from "../overview/cli.ts";

const runStatus = runCommands.status;

/** `viv status`: of a run, or, with `--config`, of the agents of an agents.toml. */
const statusCommand: Command = {
  ...runStatus,
  flags: {
    config: {
      kind: "string",
      short: "c",
      placeholder: "FILE",
      describe: "agents file (shows its agents; needs no run)",
    },
  },
  instead: async (values) => {
    if (values.config === undefined) return undefined;
    const other = Object.keys(values).find((key) => key in runStatus.op.input.shape);
    if (other !== undefined) {
      const flag = `--${other.replaceAll("_", "-")}`;
      throw new VivError("USAGE", `${flag} is about a run; it does not go with --config.`);
    }
    return (await import("../fleet/cli.ts")).commands["fleet status"];
  },
  examples: [...runStatus.examples, ["viv status --config agents.toml", "the agents of viv up"]],
};

export const commands = { status: statusCommand };
