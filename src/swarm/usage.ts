import type { Command, Option } from "./command.ts";

/** The usage and help texts, laid out as argparse lays out its own. */

const PROG = "swarm-cli";
const HELP_COLUMN = 24;
const HELP_ROW: [string, string] = ["-h, --help", "show this help and exit"];

export function progOf(command: Command | null): string {
  return command ? `${PROG} ${command.name}` : PROG;
}

/** Wrapped to two columns less than the terminal has, with a newline at the end. */
export function usageOf(command: Command | null, columns: number): string {
  const prog = progOf(command);
  const parts = command ? ["[-h]", ...partsOf(command)] : ["[-h]", "COMMAND ..."];
  const line = `usage: ${prog} ${parts.join(" ")}`;
  const width = Math.max(columns - 2, 11);
  if (line.length <= width) return `${line}\n`;
  // Python breaks between a flag and its value too, but not within brackets.
  const words = parts.flatMap((part) => (/^[[(]/.test(part) ? [part] : part.split(" ")));
  return `${wrap(words, `usage: ${prog} `, width)}\n`;
}

function partsOf(command: Command): string[] {
  const parts: string[] = [];
  for (const option of command.options) {
    if (!command.oneOf?.includes(option.flag)) {
      parts.push(option.required ? invocation(option) : `[${invocation(option)}]`);
    } else if (option.flag === command.oneOf[0]) {
      parts.push(`(${command.oneOf.join(" | ")})`);
    }
  }
  return parts;
}

function invocation(option: Option): string {
  if (option.kind === "switch") return option.flag;
  return `${option.flag} ${option.flag.slice(2).replaceAll("-", "_").toUpperCase()}`;
}

function wrap(words: readonly string[], first: string, width: number): string {
  const indent = " ".repeat(first.length);
  const lines: string[] = [];
  let line = first.trimEnd();
  for (const word of words) {
    if (`${line} ${word}`.length > width && line.trim() !== "") {
      lines.push(line);
      line = indent + word;
    } else line += ` ${word}`;
  }
  return [...lines, line].join("\n");
}

export function helpOf(
  command: Command | null,
  commands: readonly Command[],
  columns: number,
): string {
  const usage = usageOf(command, columns);
  if (command) {
    const rows = command.options.map((o): [string, string] => [invocation(o), o.help ?? ""]);
    return `${usage}\n${section("options", [HELP_ROW, ...rows])}`;
  }
  const rows = commands.map((c): [string, string] => [`  ${c.name}`, c.help]);
  const about = "A queue of tasks in a run directory: swarm-lib's commands, on Vivarium's store.";
  return `${usage}\n${about}\n\n${section("commands", rows)}\n${section("options", [HELP_ROW])}`;
}

function section(title: string, rows: readonly [string, string][]): string {
  const lines = rows.map(([name, help]) => {
    const head = `  ${name}`;
    if (help === "") return head;
    const gap = head.length + 2 > HELP_COLUMN ? `\n${" ".repeat(HELP_COLUMN)}` : "";
    return gap ? head + gap + help : head.padEnd(HELP_COLUMN) + help;
  });
  return `${title}:\n${lines.join("\n")}\n`;
}
