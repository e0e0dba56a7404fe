import type * as z from "zod/mini";
import type { Command } from "../../operation/command.ts";
import { plain } from "../../operation/term.ts";
import { pitSweep } from "../operations/sweep.ts";
import { pitFrom } from "./from.ts";

type Output = z.output<typeof pitSweep.output>;

export const command: Command = {
  op: pitSweep,
  positionals: [{ key: "pit" }],
  runFrom: pitFrom,
  placeholders: { stale_after: "DURATION", keep_logs: "DURATION" },
  examples: [
    ["viv pit sweep ./pit", "once; the cleanup species of viv up does it by its clock"],
    ["viv pit sweep ./pit --stale-after 10m --keep-logs 2d", "less patience, fewer logs"],
  ],
  human: (output: Output, { color }) => {
    const { reclaimed, proven, unproven, adopted, logs, pruned, kept, trouble } = output;
    const lines = [
      ...reclaimed.map(
        ({ food, snake, to }) =>
          `${color.yellow("reclaimed")} ${food} from ${plain(snake)} (${to})`,
      ),
      ...proven.map((food) => `${color.green("proven")} ${food}`),
      ...unproven.map(
        ({ food, result, note }) =>
          `${color.yellow("unproven")} ${food}: ${plain(note)}${result ? color.dim(` ${result}`) : ""}`,
      ),
      ...(adopted > 0 ? [`${adopted} new food`] : []),
      `${logs} ${logs === 1 ? "log" : "logs"} in waste/${pruned.length > 0 ? `, ${pruned.length} pruned` : ""}${kept.length > 0 ? `, ${kept.length} old ones kept for a scrap` : ""}`,
      ...(trouble ? [color.red(plain(trouble))] : []),
    ];
    return lines.join("\n");
  },
};
