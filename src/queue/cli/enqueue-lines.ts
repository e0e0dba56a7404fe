import { createReadStream } from "node:fs";
import { resolve } from "node:path";
import { isVivError, VivError } from "../../base/errors.ts";
import type { Command } from "../../operation/command.ts";
import { Progress } from "../../operation/progress.ts";
import { enqueueLines } from "../operations/enqueue-stream.ts";
import type { BulkResult } from "../store.ts";

/** `viv enqueue --jsonl FILE|-` */
export const linesCommand: Command = {
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
export function assertLineFlags(values: Record<string, unknown>): void {
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
