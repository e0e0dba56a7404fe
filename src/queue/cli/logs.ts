import * as z from "zod/mini";
import { VivError } from "../../base/errors.ts";
import type { Command } from "../../operation/command.ts";
import { defineOp } from "../../operation/op.ts";
import { plain } from "../../operation/term.ts";
import { readLogs, receiptsOf } from "../operations/logs.ts";

export const command: Command = {
  op: defineOp({
    name: "logs",
    summary: "what a task wrote to its log",
    access: "read",
    input: z.strictObject({ id: z.string().check(z.describe("the task")) }),
    output: z.unknown(),
    run: async () => undefined,
  }),
  positionals: [{ key: "id" }],
  flags: { follow: { kind: "boolean", short: "f", describe: "go on while the task is at work" } },
  examples: [
    ["viv logs t.1", ""],
    ["viv logs t.1 -f", "as it grows"],
  ],
  stream: async (context, input, io, json) => {
    if (typeof input.id !== "string") {
      throw new VivError("USAGE", "viv logs needs a task; see: viv logs --help");
    }
    let wrote = false;
    const options = { follow: input.follow === true, signal: io.signal };
    for await (const piece of readLogs(context, input.id, options)) {
      wrote = true;
      // On a terminal, what a task wrote must not be able to command it; in a pipe it is data.
      const text = io.stdout.isTTY ? plain(piece) : piece;
      io.stdout.write(json ? `${JSON.stringify({ text: piece })}\n` : text);
    }
    if (!wrote && !json)
      io.stderr.write(`viv: ${input.id} has written no log (artifacts/${input.id}.log)\n`);
    for (const { attempt, worker, receipt } of json ? [] : await receiptsOf(context, input.id)) {
      const what = `the warden ended ${worker} at attempt ${attempt}; receipt: ${receipt}`;
      io.stderr.write(`viv: ${plain(what)}\n`);
    }
    return 0;
  },
};
