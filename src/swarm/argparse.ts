import type { Verb } from "./context.ts";
import { repr } from "./python.ts";

/**
 * Command lines by the rules of Python's argparse: `--flag value` or `--flag=value`, any unambiguous
 * beginning of a flag, and a value begins with a dash only if it is a number, a lone dash or has a
 * space in it. Usage, help and messages are argparse's too.
 */

export interface Option {
  /** With its two dashes. */
  flag: string;
  kind: "text" | "whole" | "switch";
  required?: boolean;
  help?: string;
}

export interface Command {
  name: string;
  help: string;
  options: readonly Option[];
  /** Flags of which exactly one must be given. */
  oneOf?: readonly string[];
  run: Verb;
}

/** The values of the flags that were given. */
export class Values extends Map<string, string | bigint | true> {
  /** Of a required flag. */
  text(flag: string): string {
    return this.maybe(flag) ?? "";
  }

  maybe(flag: string): string | undefined {
    const value = this.get(flag);
    return typeof value === "string" ? value : undefined;
  }

  /** Undefined also for an empty value, as in swarm-lib. */
  filled(flag: string): string | undefined {
    return this.maybe(flag) || undefined;
  }

  /** The parts between commas, as they are. */
  list(flag: string): string[] | undefined {
    return this.filled(flag)?.split(",");
  }

  whole(flag: string): bigint | undefined {
    const value = this.get(flag);
    return typeof value === "bigint" ? value : undefined;
  }
}

/** A wrong command line. `command` is null for an error of the main parser. */
export class UsageError extends Error {
  readonly command: Command | null;

  constructor(message: string, command: Command | null) {
    super(message);
    this.command = command;
  }
}

export type Parsed =
  | { kind: "help"; command: Command | null }
  | { kind: "run"; command: Command; values: Values };

export function parseArguments(args: readonly string[], commands: readonly Command[]): Parsed {
  for (const [i, arg] of args.entries()) {
    const token = classify(arg, [], null);
    if (token.kind === "help") return helpFor(token, null);
    if (token.kind !== "value") continue;
    const command = commands.find(({ name }) => name === arg);
    if (command) return parseCommand(command, args.slice(i + 1), args.slice(0, i));
    const names = commands.map(({ name }) => repr(name)).join(", ");
    const message = `argument COMMAND: invalid choice: ${repr(arg)} (choose from ${names})`;
    throw new UsageError(message, null);
  }
  throw new UsageError("the following arguments are required: COMMAND", null);
}

function parseCommand(
  command: Command,
  args: readonly string[],
  unknownBefore: readonly string[],
): Parsed {
  const fail = (message: string) => new UsageError(message, command);
  // All are classified first: an ambiguous flag is an error even behind --help.
  const end = args.indexOf("--");
  const tokens = args.map((arg, i): Token => {
    if (end >= 0 && i >= end) return { kind: i === end ? "unknown" : "value" };
    return classify(arg, command.options, command);
  });
  const given = new Values();
  const unrecognized = [...unknownBefore];
  for (let i = 0; i < args.length; i++) {
    const token = tokens[i] as Token;
    if (token.kind === "help") return helpFor(token, command);
    if (token.kind !== "flag") {
      unrecognized.push(args[i] as string);
      continue;
    }
    const { flag, kind } = token.option;
    if (kind === "switch") {
      if (token.explicit !== undefined) throw ignored(flag, token.explicit, command);
      const group = command.oneOf?.includes(flag) ? command.oneOf : [];
      const other = group.find((one) => one !== flag && given.has(one));
      if (other) throw fail(`argument ${flag}: not allowed with argument ${other}`);
      given.set(flag, true);
      continue;
    }
    const next = tokens[i + 1]?.kind === "value" ? args[i + 1] : undefined;
    const value = token.explicit ?? next;
    if (value === undefined) throw fail(`argument ${flag}: expected one argument`);
    if (token.explicit === undefined) i++;
    if (kind === "whole" && !/^\s*[+-]?\d+(_\d+)*\s*$/.test(value)) {
      throw fail(`argument ${flag}: invalid int value: ${repr(value)}`);
    }
    given.set(flag, kind === "whole" ? BigInt(value.replace(/[\s_+]/g, "")) : value);
  }
  const missing = command.options.filter(({ flag, required }) => required && !given.has(flag));
  const flags = missing.map(({ flag }) => flag).join(", ");
  if (flags !== "") throw fail(`the following arguments are required: ${flags}`);
  if (command.oneOf && !command.oneOf.some((flag) => given.has(flag))) {
    throw fail(`one of the arguments ${command.oneOf.join(" ")} is required`);
  }
  if (unrecognized.length > 0) {
    throw new UsageError(`unrecognized arguments: ${unrecognized.join(" ")}`, null);
  }
  return { kind: "run", command, values: given };
}

type Token =
  | { kind: "value" | "unknown" }
  | { kind: "help"; explicit: string | undefined }
  | { kind: "flag"; option: Option; explicit: string | undefined };

function classify(arg: string, options: readonly Option[], command: Command | null): Token {
  if (!arg.startsWith("-") || arg === "-") return { kind: "value" };
  const equals = arg.indexOf("=");
  const name = equals < 0 ? arg : arg.slice(0, equals);
  const explicit = equals < 0 ? undefined : arg.slice(equals + 1);
  const flags = ["--help", ...options.map(({ flag }) => flag)];
  const like = flags.includes(name) ? [name] : flags.filter((flag) => flag.startsWith(name));
  const matches = arg.startsWith("--") ? like : [];
  if (matches.length > 1) {
    const message = `ambiguous option: ${arg} could match ${matches.join(", ")}`;
    throw new UsageError(message, command);
  }
  if (matches[0] === "--help") return { kind: "help", explicit };
  const option = options.find(({ flag }) => flag === matches[0]);
  if (option) return { kind: "flag", option, explicit };
  // Short flags may be written together: -hh asks for help twice, -hx has an unknown x.
  if (arg.startsWith("-h")) return { kind: "help", explicit: arg.replace(/^-h+/, "") || undefined };
  const isValue = /^-\d+$|^-\d*\.\d+$/.test(arg) || arg.includes(" ");
  return { kind: isValue ? "value" : "unknown" };
}

function helpFor({ explicit }: { explicit: string | undefined }, command: Command | null): Parsed {
  if (explicit !== undefined) throw ignored("-h/--help", explicit, command);
  return { kind: "help", command };
}

function ignored(flag: string, explicit: string, command: Command | null): UsageError {
  return new UsageError(`argument ${flag}: ignored explicit argument ${repr(explicit)}`, command);
}

const HELP_COLUMN = 24;
const HELP_ROW = ["-h, --help", "show this help and exit"] as const;

export function progOf(command: Command | null): string {
  return command ? `swarm-cli ${command.name}` : "swarm-cli";
}

/** Wrapped to two columns less than the terminal's, with a newline at the end. */
export function usageOf(command: Command | null, columns: number): string {
  const start = `usage: ${progOf(command)}`;
  const parts = ["[-h]", ...(command ? partsOf(command) : ["COMMAND ..."])];
  const line = [start, ...parts].join(" ");
  const width = Math.max(columns - 2, 11);
  if (line.length <= width) return `${line}\n`;
  const indent = " ".repeat(start.length + 1);
  const lines = [start];
  // Python breaks between a flag and its value too, but not within brackets.
  for (const word of parts.flatMap((part) => (/^[[(]/.test(part) ? [part] : part.split(" ")))) {
    const longer = `${lines.at(-1)} ${word}`;
    if (longer.length > width) lines.push(indent + word);
    else lines[lines.length - 1] = longer;
  }
  return `${lines.join("\n")}\n`;
}

function partsOf({ options, oneOf = [] }: Command): string[] {
  return options.flatMap((option) => {
    if (option.flag === oneOf[0]) return [`(${oneOf.join(" | ")})`];
    if (oneOf.includes(option.flag)) return [];
    return [option.required ? invocation(option) : `[${invocation(option)}]`];
  });
}

function invocation({ flag, kind }: Option): string {
  return kind === "switch" ? flag : `${flag} ${flag.slice(2).replaceAll("-", "_").toUpperCase()}`;
}

export function helpOf(
  command: Command | null,
  commands: readonly Command[],
  columns: number,
): string {
  const usage = usageOf(command, columns);
  if (command) {
    const rows = command.options.map((option) => [invocation(option), option.help ?? ""] as const);
    return `${usage}\n${section("options", [HELP_ROW, ...rows])}`;
  }
  const rows = commands.map(({ name, help }) => [`  ${name}`, help] as const);
  const about = "A queue of tasks in a run directory: swarm-lib's commands, on Vivarium's store.";
  return `${usage}\n${about}\n\n${section("commands", rows)}\n${section("options", [HELP_ROW])}`;
}

function section(title: string, rows: readonly (readonly [string, string])[]): string {
  const lines = rows.map(([name, help]) => {
    const head = `  ${name}`;
    if (help === "") return head;
    const fits = head.length + 2 <= HELP_COLUMN;
    return fits ? head.padEnd(HELP_COLUMN) + help : `${head}\n${" ".repeat(HELP_COLUMN)}${help}`;
  });
  return `${title}:\n${lines.join("\n")}\n`;
}
