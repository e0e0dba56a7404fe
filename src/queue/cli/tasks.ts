import { createReadStream, statSync } from "node:fs";
import { resolve } from "node:path";
import type * as z from "zod/mini";
import { isVivError, VivError } from "../../base/errors.ts";
import { counted } from "../../base/text.ts";
import { byDefault, type Command, type Values } from "../../operation/command.ts";
import type { Io } from "../../operation/io.ts";
import { Progress } from "../../operation/progress.ts";
import { cancel, enqueue, enqueueLines, reject, retry } from "../operations/tasks.ts";
import type { BulkResult } from "../store.ts";
import { endedLine } from "./paint.ts";

const enqueueCommand: Command = {
  op: enqueue,
  names: { created_by: "by" },
  flags: {
    jsonl: {
      kind: "string",
      placeholder: "FILE|-",
      describe: "bulk: one task object per line, with our keys or swarm-lib's",
    },
  },
  defaults: enqueueDefaults,
  examples: [
    [`viv enqueue --run ./audit --type audit --id t.1 --payload '{"repo":"web"}'`, "one task"],
    ["viv enqueue --type synth --id t.all --depends-on t.1,t.2", "after two others"],
    ['viv enqueue --type fix --done-when "npm test" --review', "proven, then approved by a person"],
    ["viv enqueue --type digest --not-before +8h --priority low", "tonight, if there is time"],
    ["generate-tasks | viv enqueue --jsonl -", "a stream of any length"],
  ],
  human: ({ id, state, created }: z.output<typeof enqueue.output>, { color }) => {
    const done = created ? color.green("enqueued") : color.yellow("there already:");
    return `${done} ${id} ${color.dim(`(${state})`)}`;
  },
  instead: async (values) => {
    if (values.jsonl === undefined) return undefined;
    assertLineFlags(values);
    return linesCommand;
  },
};

/** In a handler, its task and worker. */
function enqueueDefaults({ env }: Io): Values {
  const parent = env.VIV_TASK_ID ?? env.SWARM_TASK_ID;
  const by = env.VIV_WORKER_ID ?? env.SWARM_WORKER_ID;
  return { ...(parent ? { parent } : {}), ...(by ? { created_by: by } : {}) };
}

/** `viv enqueue --jsonl FILE|-` */
const linesCommand: Command = {
  op: enqueueLines,
  flags: { jsonl: { kind: "string", describe: "" } },
  defaults: enqueueDefaults,
  examples: [],
  inputFrom: ({ jsonl }, io) =>
    jsonl === "-" ? io.stdin : openFile(resolve(io.cwd, String(jsonl)), io),
  view: (_, io) => {
    const progress = new Progress(io, "enqueued");
    return {
      event: ({ enqueued }: BulkResult) => {
        progress.update({ done: enqueued, part: readParts.get(io) });
        return null;
      },
      end: ({ enqueued, pending, waiting, existed }: BulkResult) => {
        progress.end();
        const there = existed > 0 ? `, ${existed} there already` : "";
        if (io.signal.aborted) io.stderr.write("viv: stopped before the end of the input.\n");
        return `enqueued ${enqueued} (${pending} pending, ${waiting} waiting${there})`;
      },
      close: (error) => {
        progress.end();
        if (error === undefined || progress.count === 0) return;
        const line = isVivError(error) ? error.details.line : undefined;
        const next =
          typeof line === "number" ? `go on from line ${line}, or, if all have ids: ` : "";
        io.stderr.write(
          `viv: ${counted(progress.count, "task")} ${progress.count === 1 ? "was" : "were"} enqueued before this; ${next}--if-absent skips ${progress.count === 1 ? "it" : "them"} next time.\n`,
        );
      },
    };
  },
  jsonView: () => ({ event: () => null, end: (result: BulkResult) => JSON.stringify(result) }),
  exit: (_, io) => (io.signal.aborted ? 130 : 0),
};

/** All other properties of a task stand in its line. */
function assertLineFlags(values: Values): void {
  const inputs = Object.keys(enqueueLines.input.shape);
  const known = ["jsonl", "run", "json", "help", "no-color", ...inputs];
  const other = Object.keys(values).find((key) => !known.includes(key));
  if (other === undefined) return;
  const flag = `--${other.replaceAll("_", "-")}`;
  throw new VivError("USAGE", `${flag} does not go with --jsonl: put it into each line.`);
}

/** How much of the input is read, where its size is known. */
const readParts = new WeakMap<Io, number>();

async function* openFile(path: string, io: Io): AsyncGenerator<Uint8Array | string> {
  try {
    const { size } = statSync(path); // 0: a pipe, or what grows while it is read
    let read = 0;
    const note = () => size > 0 && readParts.set(io, read / size);
    note();
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
      yield chunk;
      read += chunk.length;
      note();
    }
  } catch (error) {
    const message = `cannot read ${path}: ${(error as Error).message}`;
    throw new VivError("INVALID", message, {}, { cause: error });
  }
}

/** A command for a person's decision about tasks. */
export function decision(op: Command["op"], ...examples: [string, string][]): Command {
  return {
    op,
    names: { ids: "id" },
    positionals: [{ key: "ids", many: true }],
    defaults: byDefault,
    examples,
    human: ({ tasks }: z.output<typeof cancel.output>, term) =>
      tasks.length === 0 // only where all were asked for
        ? term.color.dim("there is none")
        : tasks.map((task) => endedLine(task, term)).join("\n"),
  };
}

export const commands = {
  enqueue: enqueueCommand,
  cancel: decision(
    cancel,
    ["viv cancel t.1", "its worker loses the claim"],
    ['viv cancel t.1 t.2 --note "as discussed"', "several at once"],
  ),
  retry: decision(
    retry,
    ["viv retry t.1", "earlier attempts no longer count"],
    ['viv retry t.1 t.2 --note "as discussed"', "several at once"],
    ["viv retry --all", "every failed task"],
  ),
  reject: decision(reject, [
    'viv reject t.1 --note "the test is missing"',
    "the next attempt gets the note",
  ]),
} satisfies Record<string, Command>;
