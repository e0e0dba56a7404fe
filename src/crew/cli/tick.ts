import type { Command } from "../../operation/command.ts";
import { plain } from "../../operation/term.ts";
import { crewTick, type Ticked } from "../operations/watch-tick.ts";
import type { CrewLine } from "../status.ts";

export const command: Command = {
  op: crewTick,
  placeholders: { state: "DIR" },
  positionals: [{ key: "name" }],
  examples: [["viv crew tick moss", "one tick now, watched; RUN-IF is not asked"]],
  view: ({ color }) => ({
    event: (line: CrewLine | Ticked) => {
      if ("tool" in line) return `${color.cyan(plain(line.tool))} ${plain(line.target)}`;
      if ("thought" in line) return plain(line.thought);
      if (!("name" in line)) return null;
      const note = line.note ? `: ${plain(line.note)}` : "";
      const did = line.outcome ?? (line.state === "parked" ? "is parked" : "did not run");
      return `${line.name} ${did}${note}`;
    },
  }),
  exit: ({ outcome }: Ticked) => (outcome === "done" || outcome === "no_work" ? 0 : 1),
};
