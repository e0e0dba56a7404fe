import type { Command } from "../../operation/command.ts";
import type { Io } from "../../operation/io.ts";
import { enqueue } from "../operations/enqueue.ts";

export const command: Command = {
  op: enqueue,
  flags: {
    jsonl: {
      kind: "string",
      placeholder: "FILE|-",
      describe: "many: one task object per line, in our keys or swarm-lib's",
    },
  },
  defaults,
  examples: [
    [`viv enqueue --run ./audit --type audit --id t.1 --payload '{"repo":"web"}'`, "one task"],
    ["viv enqueue --type synth --id t.all --depends-on t.1,t.2", "after two others"],
    ['viv enqueue --type fix --done-when "npm test" --review', "proven, then approved by a person"],
    ["viv enqueue --type digest --not-before +8h --priority low", "tonight, if there is time"],
    ["generate-tasks | viv enqueue --jsonl -", "a stream of any length"],
  ],
  human: (output, { color }) =>
    output.created
      ? `${color.green("enqueued")} ${output.id} ${color.dim(`(${output.state})`)}`
      : `${color.yellow("there already:")} ${output.id} ${color.dim(`(${output.state})`)}`,
  instead: async (values) => {
    if (values.jsonl === undefined) return undefined;
    const { assertLineFlags, linesCommand } = await import("./enqueue-lines.ts");
    assertLineFlags(values);
    return { ...linesCommand, defaults };
  },
};

/** Inside a handler the environment says which task enqueues, and which worker runs it. */
function defaults({ env }: Io): Record<string, string> {
  const parent = env.VIV_TASK_ID ?? env.SWARM_TASK_ID;
  const by = env.VIV_WORKER_ID ?? env.SWARM_WORKER_ID;
  return { ...(parent ? { parent } : {}), ...(by ? { created_by: by } : {}) };
}
