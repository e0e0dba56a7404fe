import type * as z from "zod/mini";
import { formatCount } from "../../base/amount.ts";
import { formatSize } from "../../base/size.ts";
import { counted } from "../../base/text.ts";
import type { Command } from "../../operation/command.ts";
import { plain } from "../../operation/term.ts";
import { exportOperation } from "./export-operation.ts";

const exportCommand: Command = {
  op: exportOperation,
  placeholders: { html: "PATH" },
  examples: [
    ["viv export --html site", "board and report as pages, to be looked at or published"],
    ["viv export --html site --no-artifacts --no-logs", "without the words of tasks and programs"],
    ["viv export --html site --since 7d --all-tasks", "a week, and a page for every task"],
  ],
  human: (
    { dir, files, tasks, task_pages, bytes }: z.output<typeof exportOperation.output>,
    term,
  ) =>
    [
      `wrote ${counted(files, "file", formatCount)}, ${formatSize(bytes)}, with ${counted(tasks, "task", formatCount)} (${counted(task_pages, "page", formatCount)} for them) to ${plain(dir)}`,
      term.color.dim(
        "Paths, names and what looks like a secret are taken out; read artifacts before you publish them.",
      ),
    ].join("\n"),
};

export const commands = { export: exportCommand } satisfies Record<string, Command>;
