import type * as z from "zod/mini";
import type { Command } from "../../operation/command.ts";
import { plain } from "../../operation/term.ts";
import { logs } from "../operations/logs.ts";

export const command: Command = {
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
