import type * as z from "zod/mini";
import { counted } from "../base/text.ts";
import type { Command } from "../operation/command.ts";
import { plain, type Term, table } from "../operation/term.ts";
import { diff } from "./diff.ts";

type Output = z.output<typeof diff.output>;

const diffCommand: Command = {
  op: diff,
  positionals: [{ key: "id" }],
  examples: [
    ["viv diff t.4", "what it changed, uncommitted changes included"],
    ["viv diff t.4 --stat", "only the files and how many lines"],
    ["viv diff t.4 --file src/a.ts", "one file of it"],
    ["viv diff t.4 | git apply", "the same changes here"],
  ],
  human: (output: Output, term) => {
    const { form, files } = output;
    if (form === "names") return files.map(({ path }) => nameOf(path)).join("\n");
    const lines = form === "stat" ? statOf(output, term) : diffOf(output, term);
    return [headOf(output, term), ...lines].join("\n");
  },
};

/** A line that `git apply` passes over. */
function headOf({ id, branch, base, seen, uncommitted, files }: Output, { color }: Term): string {
  const since = `${plain(branch)} since ${base.slice(0, 10)}`;
  const where = seen === "landed" ? `${plain(branch)} as it landed` : since;
  const more = uncommitted ? ", uncommitted changes included" : "";
  return color.dim(`# ${id}: ${where}${files.length === 0 ? ": no changes" : more}`);
}

function diffOf({ diff: text }: Output, term: Term): string[] {
  if (!text) return [];
  const lines = text.split("\n"); // also the empty line that ends a binary patch
  if (!term.isTerminal) return lines;
  let isBinary = false;
  return lines.flatMap((line) => {
    if (line.startsWith("diff --git ")) isBinary = false;
    if (isBinary) return []; // no text
    isBinary = line === "GIT binary patch";
    return [isBinary ? term.color.dim("(binary, or not UTF-8)") : painted(line, term)];
  });
}

/** One line for each name, as git does it. */
function nameOf(path: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return /[\u0000-\u001f"\\]/.test(path) ? JSON.stringify(path) : plain(path);
}

const HEAD = /^(diff|index|new file|deleted file|old mode|new mode|similarity|rename|---|\+\+\+) /;

function painted(line: string, { color }: Term): string {
  if (HEAD.test(line)) return color.bold(line);
  if (line.startsWith("@@")) return color.cyan(line);
  if (line.startsWith("+")) return color.green(line);
  return line.startsWith("-") ? color.red(line) : plain(line);
}

function statOf({ files, insertions, deletions }: Output, term: Term): string[] {
  if (files.length === 0) return [];
  const { green, red } = term.color;
  const rows = files.map((file) =>
    file.insertions === null
      ? [nameOf(file.path), "binary"]
      : [nameOf(file.path), green(`+${file.insertions}`), red(`-${file.deletions}`)],
  );
  const sum = `${counted(files.length, "file")}, +${insertions} -${deletions}`;
  return [table(rows, term), sum];
}

export const commands = { diff: diffCommand } satisfies Record<string, Command>;
