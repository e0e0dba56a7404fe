import type * as z from "zod/mini";
import type { Command } from "../../operation/command.ts";
import { plain } from "../../operation/term.ts";
import { warrantFile } from "../operations/warrant-file.ts";

export const command: Command = {
  op: warrantFile,
  placeholders: { pid: "N", worker: "ID", agent: "NAME", watch: "FILE", state: "DIR", crew: "DIR" },
  positionals: [{ key: "session" }],
  examples: [
    ["viv warrant file agent-1 --reason no_progress --by deacon", "a tmux session"],
    ["viv warrant file --pid 4711 --watch out.log", "a process; out.log growing is progress"],
    ["viv warrant file --run ./audit --worker w1", "its claims are given back if it is ended"],
    ["viv warrant file --agent moss", "the run of a crew's member"],
  ],
  human: ({ id, filed, target, notes }: z.output<typeof warrantFile.output>, { color }) =>
    [
      filed
        ? `filed ${color.bold(id)} for ${plain(target)}`
        : `not filed: ${color.bold(id)} is open`,
      ...notes.map((note) => color.yellow(plain(note))),
    ].join("\n"),
};
