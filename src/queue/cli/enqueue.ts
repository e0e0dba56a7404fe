import type { Command } from "../../operation/command.ts";
import { enqueue } from "../operations/enqueue.ts";
import { enqueueLines } from "./enqueue-lines.ts";

export const command: Command = {
  op: enqueue,
  flags: {
    jsonl: {
      kind: "string",
      placeholder: "FILE|-",
      describe: "many: one task object per line, in our keys or swarm-lib's",
    },
  },
  defaults: (io) => {
    // Inside a handler the environment says which task enqueues, and which worker runs it.
    const parent = io.env.VIV_TASK_ID ?? io.env.SWARM_TASK_ID;
    const by = io.env.VIV_WORKER_ID ?? io.env.SWARM_WORKER_ID;
    return { ...(parent ? { parent } : {}), ...(by ? { created_by: by } : {}) };
  },
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
  streams: (input) => input.jsonl !== undefined,
  stream: enqueueLines,
};
