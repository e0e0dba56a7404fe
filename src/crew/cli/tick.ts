import type { Command } from "../../operation/command.ts";
import { plain, termFor } from "../../operation/term.ts";
import { crewTick } from "../operations/control.ts";
import { watchTick } from "../operations/watch-tick.ts";

export const command: Command = {
  op: crewTick,
  placeholders: { state: "DIR" },
  positionals: [{ key: "name" }],
  examples: [["viv crew tick moss", "one tick now, watched; RUN-IF is not asked"]],
  freeStream: async (context, given, io, json) => {
    const { color } = termFor(io, io.stdout);
    const result = await watchTick(
      context,
      given as { name: string; state?: string },
      io.signal,
      (line) => {
        if (json) io.stdout.write(`${JSON.stringify(line)}\n`);
        else if ("tool" in line)
          io.stdout.write(`${color.cyan(plain(line.tool))} ${plain(line.target)}\n`);
        else if ("thought" in line) io.stdout.write(`${plain(line.thought)}\n`);
      },
    );
    if (json) io.stdout.write(`${JSON.stringify(result)}\n`);
    else {
      const note = result.note ? `: ${plain(result.note)}` : "";
      const did = result.outcome ?? (result.state === "parked" ? "is parked" : "did not run");
      io.stdout.write(`${result.name} ${did}${note}\n`);
    }
    return result.outcome === "done" || result.outcome === "no_work" ? 0 : 1;
  },
};
