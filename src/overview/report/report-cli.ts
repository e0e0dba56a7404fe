import { realpathSync, statSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { machineErrorOf } from "../../base/errno.ts";
import { VivError } from "../../base/errors.ts";
import type { Command, Values } from "../../operation/command.ts";
import { plain } from "../../operation/term.ts";
import { replaceFileUnsynced } from "../../platform/files/atomic-write.ts";
import { report } from "./report-operation.ts";
import type { Report } from "./report-shape.ts";
import { terminalReport } from "./report-terminal.ts";

const reportCommand: Command = {
  op: report,
  flags: {
    md: { kind: "boolean", describe: "print Markdown" },
    html: {
      kind: "string",
      placeholder: "PATH",
      describe: "write HTML there (a page, fit for an e-mail; - is standard output)",
    },
  },
  examples: [
    ["viv report", "the last twelve hours, on one screen"],
    ["viv report --since 22:00", "since ten in the evening, by the clock of this machine"],
    ["viv report --html report.html --since 1d", "a page for an e-mail"],
    ["viv report --json | jq -r '.needs_you[].command'", "only what to type"],
  ],
  human: (output: Report, term) => terminalReport(output, term),
  instead: async (values) => {
    if (!values.md && values.html === undefined) return undefined;
    const { markdownReport } = await import("./report-markdown.ts");
    const { htmlReport } = await import("./report-html.ts");
    const file = fileIn(values);
    return {
      ...reportCommand,
      instead: undefined,
      human: (output: Report) => {
        if (values.md) return markdownReport(output);
        return file === null ? htmlReport(output) : `wrote ${plain(file)}`;
      },
      after: (output, _, { cwd }) => {
        if (file !== null) writePage(resolve(cwd, file), `${htmlReport(output as Report)}\n`);
      },
    };
  },
};

/** Null: no file, or standard output. */
function fileIn({ html, md, json }: Values): string | null {
  if (html === "") throw new VivError("USAGE", "--html is empty; give it a file.");
  if (html === "-" && (md || json)) {
    const other = md ? "--md" : "--json";
    throw new VivError("USAGE", `--html - and ${other} both print; give --html a file.`);
  }
  return typeof html === "string" && html !== "-" ? html : null;
}

/** Whole or not at all, unless it is something else than a file, like /dev/stdout. A link is followed. */
function writePage(path: string, page: string): void {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats === undefined) replaceFileUnsynced(path, page, { mode: 0o644 });
    else if (stats.isFile()) replaceFileUnsynced(realpathSync(path), page, { mode: stats.mode });
    else writeFileSync(path, page);
  } catch (cause) {
    const code = machineErrorOf(cause) ?? "INVALID";
    const message = `cannot write ${path}: ${(cause as Error).message}`;
    throw new VivError(code, message, { path }, { cause });
  }
}

export const commands = { report: reportCommand } satisfies Record<string, Command>;
