import type { Command } from "../../operation/command.ts";
import { plain } from "../../operation/term.ts";
import { claim } from "../operations/claim.ts";

interface Output {
  claims: { task: Record<string, unknown>; worker: string; token: string; attempt: number }[];
}

export const command: Command = {
  op: claim,
  defaults: (io) => (io.env.VIV_WORKER ? { worker: io.env.VIV_WORKER } : {}),
  examples: [
    ["viv claim --worker me", "the next task; nothing and exit 0 when there is none"],
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
