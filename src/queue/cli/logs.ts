import type * as z from "zod/mini";
import type { Command, StreamView } from "../../operation/command.ts";
import type { Io } from "../../operation/io.ts";
import { plain, type Term } from "../../operation/term.ts";
import { type LogEvent, logs } from "../operations/logs.ts";

/** The log of one task, as it was written. */
function oneLog(io: Io, setup: boolean): StreamView {
  let hasText = false;
  return {
    event: ({ text = "" }: LogEvent) => {
      hasText = true;
      // A task's output must not be able to command a terminal; in a pipe it is data.
      io.stdout.write(io.stdout.isTTY ? plain(text) : text);
      return null;
    },
    end: ({ id, receipts }: z.output<typeof logs.output>) => {
      const notes = receipts.map(
        ({ attempt, worker, receipt }) =>
          `the warden ended ${worker} at attempt ${attempt}; receipt: ${receipt}`,
      );
      if (!hasText)
        notes.unshift(`${id} has written no log (artifacts/${id}${setup ? ".setup" : ""}.log)`);
      for (const note of notes) io.stderr.write(`viv: ${plain(note)}\n`);
      return null;
    },
  };
}

/** Those of all workers: a line names its worker, in the worker's colour, and its task. */
function allLogs({ color }: Term, io: Io): StreamView {
  const paints = [color.cyan, color.yellow, color.magenta, color.green, color.blue];
  const paintOf = new Map<string, (text: string) => string>();
  // As wide as the longest name so far: columns do not move back and forth.
  let [workerWidth, idWidth] = [0, 0];
  const head = (id: string, worker: string): string => {
    const paint = paintOf.get(worker) ?? paints[paintOf.size % paints.length] ?? color.cyan;
    paintOf.set(worker, paint);
    workerWidth = Math.max(workerWidth, worker.length);
    idWidth = Math.max(idWidth, id.length);
    return paint(`${worker.padEnd(workerWidth)} ${id.padEnd(idWidth)} |`);
  };
  const ending = ({ outcome, to, note }: LogEvent): string => {
    const paint = to === "done" ? color.green : to === "failed" ? color.red : color.yellow;
    const way = to === undefined || to === outcome ? "" : ` → ${to}`;
    const why = note ? `: ${plain(note)}` : "";
    return `${paint(`${outcome ?? "ended"}${way}`)}${color.dim(why)}`;
  };
  return {
    event: (event: LogEvent) => {
      const { id = "", worker = "", text = "" } = event;
      switch (event.event) {
        case "idle":
          io.stderr.write(
            `viv: ${plain(event.note ?? "nothing is being worked on")}; waiting for the next attempt.\n`,
          );
          return null;
        case "began":
          return `${head(id, worker)} ${color.dim("begins")}`;
        case "ended":
          return `${head(id, worker)} ${ending(event)}`;
        default:
          return `${head(id, worker)} ${plain(text)}`;
      }
    },
  };
}

const logsCommand: Command = {
  op: logs,
  positionals: [{ key: "id" }],
  shorts: { follow: "f" },
  examples: [
    ["viv logs t.1", ""],
    ["viv logs t.1 -f", "as it grows"],
    ["viv logs -f", "of all tasks that are being worked on, by all workers"],
    ["viv logs -f --worker w1 --types fix", "some of them"],
    ["viv logs t.1 --setup", "of the set-up of its workspace"],
  ],
  view: (term, io, _context, { id, setup }) =>
    id === undefined ? allLogs(term, io) : oneLog(io, setup === true),
};

export const commands = { logs: logsCommand } satisfies Record<string, Command>;
