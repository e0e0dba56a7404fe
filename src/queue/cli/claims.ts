import type * as z from "zod/mini";
import type { Command } from "../../operation/command.ts";
import { plain } from "../../operation/term.ts";
import { claim, complete, fail, heartbeat, release } from "../operations/claims.ts";
import { claimDefaults, endedLine } from "./tasks.ts";

type Output = z.output<typeof claim.output>;

const claimCommand: Command = {
  op: claim,
  defaults: (io) => (io.env.VIV_WORKER ? { worker: io.env.VIV_WORKER } : {}),
  examples: [
    ["viv claim --worker me", "prints nothing and exits 0 without a task"],
    ["viv claim --worker me --types audit,synth --max 5 --json", "one line of JSON per task"],
    ["viv claim --worker me --json | jq -r .task_id", ""],
  ],
  // One line per task, flat like swarm-lib's, so that a shell can read it without knowing more.
  json: ({ claims }: Output) =>
    claims
      .map(({ task, worker, token, attempt }) =>
        JSON.stringify({ ...task, worker, token, attempt }),
      )
      .join("\n"),
  human: ({ claims }: Output, { color }) =>
    claims.length === 0
      ? color.dim("nothing to claim")
      : claims
          .map(({ task, attempt }) => {
            const payload = plain(JSON.stringify(task.payload));
            const again = attempt > 1 ? color.yellow(` attempt ${attempt}`) : "";
            return `${color.green("claimed")} ${task.task_id} ${color.dim(`(${plain(String(task.task_type))})`)}${again} ${payload}`;
          })
          .join("\n"),
};

const completeCommand: Command = {
  op: complete,
  positionals: [{ key: "id" }],
  defaults: claimDefaults,
  examples: [
    ["viv complete --worker me --id t.1", ""],
    ["viv complete t.1 --worker me --token TOKEN", "refused if the claim was lost meanwhile"],
  ],
  human: endedLine,
};

const failCommand: Command = {
  op: fail,
  positionals: [{ key: "id" }],
  defaults: claimDefaults,
  examples: [
    ['viv fail --worker me --id t.1 --note "no such branch"', ""],
    [
      "viv fail t.1 --worker me --outcome rate_limited --retry-at +20m",
      "does not count as an attempt",
    ],
    ["viv fail t.1 --worker me --final", "no further attempts"],
  ],
  human: endedLine,
};

const releaseCommand: Command = {
  op: release,
  positionals: [{ key: "id" }],
  defaults: claimDefaults,
  examples: [
    ["viv release --worker me --id t.1", ""],
    ["viv release t.1 --worker me --token TOKEN", "refused if the claim was lost meanwhile"],
  ],
  human: endedLine,
};

const heartbeatCommand: Command = {
  op: heartbeat,
  defaults: claimDefaults,
  examples: [
    ['viv heartbeat --worker me --note "halfway through t.1"', "at least every five minutes"],
  ],
  human: () => "",
};

export const commands = {
  claim: claimCommand,
  complete: completeCommand,
  fail: failCommand,
  release: releaseCommand,
  heartbeat: heartbeatCommand,
} satisfies Record<string, Command>;
