import { createReadStream } from "node:fs";
import { resolve } from "node:path";
import type * as z from "zod/mini";
import { isVivError, VivError } from "../../base/errors.ts";
import { byDefault, type Command } from "../../operation/command.ts";
import type { Io } from "../../operation/io.ts";
import { Progress } from "../../operation/progress.ts";
import { plain, type Term } from "../../operation/term.ts";
import {
  approve,
  cancel,
  enqueue,
  enqueueLines,
  logs,
  reject,
  retry,
} from "../operations/tasks.ts";
import type { ended } from "../schemas.ts";
import type { BulkResult } from "../store.ts";

const enqueueCommand: Command = {
  op: enqueue,
  flags: {
    jsonl: {
      kind: "string",
      placeholder: "FILE|-",
      describe: "bulk: one task object per line, with our keys or swarm-lib's",
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

/** `viv enqueue --jsonl FILE|-` */
const linesCommand: Command = {
  op: enqueueLines,
  flags: { jsonl: { kind: "string", describe: "" } },
  examples: [],
  inputFrom: ({ jsonl }, io) =>
    jsonl === "-" ? io.stdin : openFile(resolve(io.cwd, String(jsonl))),
  view: (_, io) => {
    const progress = new Progress(io, "enqueued");
    return {
      event: ({ enqueued }: BulkResult) => {
        progress.update(enqueued);
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
          `viv: ${progress.count} were enqueued before this; ${next}--if-absent skips them next time.\n`,
        );
      },
    };
  },
  jsonView: () => ({ event: () => null, end: (result: BulkResult) => JSON.stringify(result) }),
  exit: (_, io) => (io.signal.aborted ? 130 : 0),
};

/** Everything else about a task stands in its line. */
function assertLineFlags(values: Record<string, unknown>): void {
  const known = [
    "jsonl",
    "run",
    "json",
    "help",
    "no-color",
    ...Object.keys(enqueueLines.input.shape),
  ];
  const other = Object.keys(values).find((key) => !known.includes(key));
  if (other === undefined) return;
  const flag = `--${other.replaceAll("_", "-")}`;
  throw new VivError("USAGE", `${flag} does not go with --jsonl: put it into each line.`);
}

async function* openFile(path: string): AsyncGenerator<Uint8Array | string> {
  try {
    yield* createReadStream(path);
  } catch (error) {
    const message = `cannot read ${path}: ${(error as Error).message}`;
    throw new VivError("INVALID", message, {}, { cause: error });
  }
}

type Ended = z.output<typeof ended>;

/** `t.1: claimed → done` */
export function endedLine({ id, from, to, retry_at }: Ended, { color }: Term): string {
  const paint = to === "done" ? color.green : to === "failed" ? color.red : color.yellow;
  const rest = retry_at ? color.dim(` (until ${retry_at})`) : "";
  return `${id}: ${from} → ${paint(to)}${rest}`;
}

export function endedLines({ tasks }: { tasks: Ended[] }, term: Term): string {
  return tasks.map((task) => endedLine(task, term)).join("\n");
}

/** Inside a handler the environment says who and what. */
export function claimDefaults(io: Pick<Io, "env">) {
  const worker = io.env.VIV_WORKER ?? io.env.SWARM_WORKER_ID;
  return worker ? { worker } : {};
}

const cancelCommand: Command = {
  op: cancel,
  positionals: [{ key: "ids", many: true }],
  defaults: byDefault,
  examples: [
    ["viv cancel t.1", "its worker loses the claim"],
    ['viv cancel t.1 t.2 --note "as discussed"', "several at once"],
  ],
  human: endedLines,
};

const retryCommand: Command = {
  op: retry,
  positionals: [{ key: "ids", many: true }],
  defaults: byDefault,
  examples: [
    ["viv retry t.1", "earlier attempts no longer count"],
    ['viv retry t.1 t.2 --note "as discussed"', "several at once"],
  ],
  human: endedLines,
};

const approveCommand: Command = {
  op: approve,
  positionals: [{ key: "ids", many: true }],
  defaults: byDefault,
  examples: [
    ["viv approve t.1", "accept the work"],
    ['viv approve t.1 t.2 --note "as discussed"', "several at once"],
  ],
  human: endedLines,
};

const rejectCommand: Command = {
  op: reject,
  positionals: [{ key: "ids", many: true }],
  defaults: byDefault,
  examples: [['viv reject t.1 --note "the test is missing"', "the next attempt gets the note"]],
  human: endedLines,
};

const logsCommand: Command = {
  op: logs,
  positionals: [{ key: "id" }],
  shorts: { follow: "f" },
  examples: [
    ["viv logs t.1", ""],
    ["viv logs t.1 -f", "as it grows"],
  ],
  view: (_, io) => {
    let hasText = false;
    return {
      event: ({ text }: { text: string }) => {
        hasText = true;
        // On a terminal, what a task wrote must not be able to command it; in a pipe it is data.
        io.stdout.write(io.stdout.isTTY ? plain(text) : text);
        return null;
      },
      end: ({ id, receipts }: z.output<typeof logs.output>) => {
        const notes = [
          ...(hasText ? [] : [`${id} has written no log (artifacts/${id}.log)`]),
          ...receipts.map(
            ({ attempt, worker, receipt }) =>
              `the warden ended ${worker} at attempt ${attempt}; receipt: ${receipt}`,
          ),
        ];
        for (const note of notes) io.stderr.write(`viv: ${plain(note)}\n`);
        return null;
      },
    };
  },
};

export const commands = {
  enqueue: enqueueCommand,
  cancel: cancelCommand,
  retry: retryCommand,
  approve: approveCommand,
  reject: rejectCommand,
  logs: logsCommand,
} satisfies Record<string, Command>;
