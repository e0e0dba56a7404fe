import type { Command, Option } from "./command.ts";
import { repr } from "./python.ts";
import { Values } from "./values.ts";

/**
 * Command lines by the rules of Python's argparse, which swarm-cli's users know: `--flag value` or
 * `--flag=value`, any unambiguous beginning of a flag, and a value never begins with a dash unless
 * it is a number, a lone dash or has a space in it. The messages are argparse's too.
 */

/** The command line breaks a rule. `prog` is the parser that argparse would let speak. */
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

const HELP: readonly string[] = ["-h", "--help"];

export function parseArguments(args: readonly string[], commands: readonly Command[]): Parsed {
  const unrecognized: string[] = [];
  for (const [i, arg] of args.entries()) {
    const token = classify(arg, [], null);
    if (token.kind === "value") {
      const command = commands.find(({ name }) => name === arg);
      if (!command) throw unknownCommand(arg, commands);
      return parseCommand(command, args.slice(i + 1), unrecognized);
    }
    if (token.kind === "help") return help(token, null);
    unrecognized.push(arg);
  }
  throw new UsageError("the following arguments are required: COMMAND", null);
}

function unknownCommand(arg: string, commands: readonly Command[]): UsageError {
  const names = commands.map(({ name }) => repr(name)).join(", ");
  const message = `argument COMMAND: invalid choice: ${repr(arg)} (choose from ${names})`;
  return new UsageError(message, null);
}

function parseCommand(command: Command, args: readonly string[], before: string[]): Parsed {
  // All are classified before any is used: an ambiguous flag is an error even behind --help.
  const end = args.indexOf("--");
  const tokens = args.map((arg, i): Token => {
    if (end >= 0 && i >= end) return i === end ? { kind: "separator" } : { kind: "value" };
    return classify(arg, command.options, command);
  });
  const given = new Map<string, string | bigint | true>();
  const unrecognized = [...before];
  for (let i = 0; i < args.length; i++) {
    const token = tokens[i] as Token;
    if (token.kind === "help") return help(token, command);
    if (token.kind !== "flag") {
      unrecognized.push(args[i] as string);
      continue;
    }
    const { option } = token;
    if (option.kind === "switch") {
      if (token.explicit !== undefined) throw ignored(option.flag, token.explicit, command);
      assertAlone(option, given, command);
      given.set(option.flag, true);
      continue;
    }
    const next = tokens[i + 1]?.kind === "value" ? args[i + 1] : undefined;
    const value = token.explicit ?? next;
    if (value === undefined) {
      throw new UsageError(`argument ${option.flag}: expected one argument`, command);
    }
    if (token.explicit === undefined) i++;
    given.set(option.flag, option.kind === "whole" ? toWhole(option, value, command) : value);
  }
  assertComplete(command, given);
  if (unrecognized.length > 0) {
    throw new UsageError(`unrecognized arguments: ${unrecognized.join(" ")}`, null);
  }
  return { kind: "run", command, values: new Values(given) };
}

type Token =
  | { kind: "value" }
  | { kind: "separator" }
  | { kind: "unknown" }
  | { kind: "help"; flag: string; explicit?: string }
  | { kind: "flag"; option: Option; explicit?: string };

function classify(arg: string, options: readonly Option[], command: Command | null): Token {
  if (!arg.startsWith("-") || arg === "-") return { kind: "value" };
  const equals = arg.indexOf("=");
  const name = equals < 0 ? arg : arg.slice(0, equals);
  const explicit = equals < 0 ? {} : { explicit: arg.slice(equals + 1) };
  const matches = arg.startsWith("--") ? flagsLike(name, options) : [];
  if (matches.length > 1) {
    const could = matches.join(", ");
    throw new UsageError(`ambiguous option: ${arg} could match ${could}`, command);
  }
  const flag = matches[0];
  if (flag === "--help") return { kind: "help", flag, ...explicit };
  const option = options.find((one) => one.flag === flag);
  if (option) return { kind: "flag", option, ...explicit };
  if (arg.startsWith("-h")) {
    // Short flags may be written together: -hh asks for help twice, -hx for an x we do not have.
    const rest = arg.replace(/^-h+/, "");
    return { kind: "help", flag: "-h", ...(rest === "" ? {} : { explicit: rest }) };
  }
  if (/^-\d+$|^-\d*\.\d+$/.test(arg) || arg.includes(" ")) return { kind: "value" };
  return { kind: "unknown" };
}

/** The flag of this name, or else all that begin with it. */
function flagsLike(name: string, options: readonly Option[]): string[] {
  const flags = ["--help", ...options.map((option) => option.flag)];
  return flags.includes(name) ? [name] : flags.filter((flag) => flag.startsWith(name));
}

function help(token: { explicit?: string }, command: Command | null): Parsed {
  if (token.explicit !== undefined) throw ignored(HELP.join("/"), token.explicit, command);
  return { kind: "help", command };
}

function ignored(flag: string, explicit: string, command: Command | null): UsageError {
  return new UsageError(`argument ${flag}: ignored explicit argument ${repr(explicit)}`, command);
}

function assertAlone(option: Option, given: ReadonlyMap<string, unknown>, command: Command): void {
  if (!command.oneOf?.includes(option.flag)) return;
  const other = command.oneOf.find((flag) => flag !== option.flag && given.has(flag));
  if (other === undefined) return;
  throw new UsageError(`argument ${option.flag}: not allowed with argument ${other}`, command);
}

function toWhole(option: Option, value: string, command: Command): bigint {
  if (!/^\s*[+-]?\d+(_\d+)*\s*$/.test(value)) {
    throw new UsageError(`argument ${option.flag}: invalid int value: ${repr(value)}`, command);
  }
  return BigInt(value.replace(/[\s_+]/g, ""));
}

function assertComplete(command: Command, given: ReadonlyMap<string, unknown>): void {
  const missing = command.options.filter(({ flag, required }) => required && !given.has(flag));
  if (missing.length > 0) {
    const flags = missing.map(({ flag }) => flag).join(", ");
    throw new UsageError(`the following arguments are required: ${flags}`, command);
  }
  if (command.oneOf && !command.oneOf.some((flag) => given.has(flag))) {
    throw new UsageError(`one of the arguments ${command.oneOf.join(" ")} is required`, command);
  }
}
