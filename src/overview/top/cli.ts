import type { Command } from "../../operation/command.ts";
import { isUtf8 } from "../../operation/term.ts";
import { newModel, update } from "./model.ts";
import { top } from "./operation.ts";
import { painted } from "./paint.ts";
import { printed } from "./render.ts";
import type { Snapshot } from "./snapshot.ts";

/** Rows of a frame in a pipe. */
const MOST_ROWS = 50;
const HEADER = 8;

const topCommand: Command = {
  op: top,
  defaults: ({ argv, stdout, env }) => {
    const isLive = stdout.isTTY === true && env.TERM !== "dumb" && !argv.includes("--json");
    return isLive ? {} : { once: true };
  },
  examples: [
    ["viv top", "live; F1 or h shows the keys"],
    ["viv top --once", "one frame, also in a pipe"],
    ["viv top --json | jq .events_per_minute", ""],
  ],
  view: (term, io) => ({
    event: (snapshot: Snapshot) => {
      const columns = term.isTerminal ? term.width : 120;
      const size = { columns, rows: MOST_ROWS + HEADER };
      const [model] = update(newModel(size), { kind: "snapshot", snapshot });
      const look = { color: term.color, isUtf8: !term.isTerminal || isUtf8(io.env) };
      return printed(model, io.now(), term.color.isColorSupported)
        .map((line) => painted(line, look).trimEnd())
        .join("\n");
    },
  }),
};

export const commands = { top: topCommand } satisfies Record<string, Command>;
