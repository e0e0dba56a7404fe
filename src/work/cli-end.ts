import type * as z from "zod/mini";
import { formatTook } from "../base/duration.ts";
import { indentedLines } from "../base/text.ts";
import type { Command } from "../operation/command.ts";
import { plain } from "../operation/term.ts";
import { ending } from "../queue/cli/claims.ts";
import { endedLine } from "../queue/cli/paint.ts";
import { decision } from "../queue/cli/tasks.ts";
import { approve } from "./operations/approve.ts";
import { complete } from "./operations/complete.ts";

type Completed = z.output<typeof complete.output>;

/** The ways to done: `viv complete` and `viv approve`. */
const completeCommand: Command = {
  ...ending(
    complete,
    ["viv complete t.1 --worker me", "runs its done_when first"],
    ["viv complete t.1 --worker me --no-prove", "a worker proves it"],
    ["viv complete t.1 --worker me --token TOKEN", "refused if the claim was lost meanwhile"],
  ),
  // The answer is no: it was not proven.
  exit: ({ outcome = "done" }: Completed) =>
    ["done", "handed_in", "running"].includes(outcome) ? 0 : 1,
  human: (output: Completed, term) => {
    const { color } = term;
    const { outcome, proof, log } = output;
    if (outcome === "running") return `${output.id}: ${color.blue("claimed")} still`;
    const line = endedLine(output, term);
    if (outcome === "handed_in") {
      return `${line} ${color.yellow("unproven")} ${color.dim("(the next worker proves it)")}`;
    }
    if (proof === undefined) return line;
    const took = color.dim(`after ${formatTook(proof.duration_ms)}: ${plain(proof.command)}`);
    if (outcome === "done") return `${line} ${color.green("proven")} ${took}`;
    const how = proof.timed_out ? "its time was up" : `exit ${proof.exit ?? proof.signal}`;
    return [
      `${line} ${color.red("unproven")} ${color.dim(`(${how})`)} ${took}`,
      ...indentedLines(proof.output, 20).map((text) => `  ${color.dim("│")} ${plain(text)}`),
      ...(log ? [color.dim(`  all of it: ${plain(log)}`)] : []),
    ].join("\n");
  },
};

export const commands = {
  complete: completeCommand,
  approve: decision(
    approve,
    ["viv approve t.1", "accept the work"],
    ["viv approve t.1 --unproven", "also without a valid proof"],
    ['viv approve t.1 t.2 --note "as discussed"', "several at once"],
  ),
} satisfies Record<string, Command>;
