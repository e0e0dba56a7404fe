import type * as z from "zod/mini";
import { idWord } from "../../base/names.ts";
import type { Command } from "../../operation/command.ts";
import { plain } from "../../operation/term.ts";
import { claim, fail, heartbeat, release } from "../operations/claims.ts";
import { pauseLine } from "../pause-line.ts";
import { endedLine } from "./paint.ts";

type Output = z.output<typeof claim.output>;

/** In a handler, the worker of its task. */
const workerDefault: Command["defaults"] = ({ env }) => {
  const worker = env.VIV_WORKER ?? env.SWARM_WORKER_ID;
  return worker ? { worker } : {};
};

const claimCommand: Command = {
  op: claim,
  names: { max: "limit" },
  defaults: ({ env }) => (env.VIV_WORKER ? { worker: env.VIV_WORKER } : {}),
  examples: [
    ["viv claim --worker me", "exits 0 also without a task"],
    ["viv claim --worker me --types audit,synth --limit 5 --json", "one line of JSON per task"],
    ["viv claim --worker me --json | jq -r .id", ""],
  ],
  // One line per task, flat like swarm-lib's, so that a shell can read it without knowing more.
  json: ({ claims }: Output) =>
    claims.map(({ task, ...claim }) => JSON.stringify({ ...task, ...claim })).join("\n"),
  human: ({ claims, artifacts, paused }: Output, { color }, { cwd, now }) => {
    if (paused)
      return color.yellow(`nothing to claim: the run is ${plain(pauseLine(paused, now()))}`);
    if (claims.length === 0) return color.dim("nothing to claim");
    const lines = claims.map(({ task, attempt, worker }, i) => {
      const type = color.dim(`(${plain(String(task.task_type))})`);
      const again = attempt > 1 ? color.yellow(` attempt ${attempt}`) : "";
      const payload = plain(JSON.stringify(task.payload));
      const path = artifacts[i]?.replace(`${cwd}/`, "");
      const end = (verb: string) =>
        `viv ${verb} ${idWord(String(task.task_id))} --worker ${worker}`;
      return [
        `${color.green("claimed")} ${task.task_id} ${type}${again} ${payload}`,
        ...(path ? [`  artifact: ${plain(path)}`] : []),
        `  next: ${end("complete")}   or: ${end("fail")}`,
      ].join("\n");
    });
    return lines.join("\n");
  },
};

/** A command that ends a claim. */
export function ending(op: Command["op"], ...examples: [string, string][]): Command {
  return {
    op,
    positionals: [{ key: "id" }],
    defaults: workerDefault,
    examples,
    human: endedLine,
  };
}

export const commands = {
  claim: claimCommand,
  fail: ending(
    fail,
    ['viv fail t.1 --worker me --note "no such branch"', ""],
    [
      "viv fail t.1 --worker me --outcome rate_limited --retry-at +20m",
      "does not count as an attempt",
    ],
    ["viv fail t.1 --worker me --final", "no further attempts"],
  ),
  release: ending(
    release,
    ["viv release t.1 --worker me", ""],
    ["viv release t.1 --worker me --token TOKEN", "refused if the claim was lost meanwhile"],
  ),
  heartbeat: {
    op: heartbeat,
    defaults: workerDefault,
    examples: [
      ['viv heartbeat --worker me --note "halfway through t.1"', "at least every five minutes"],
    ],
    human: () => "",
  },
} satisfies Record<string, Command>;
