import { isVivError, type VivError } from "../base/errors.ts";
import type { Command, Surroundings } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { type Parsed, parseArguments, UsageError } from "./parse.ts";
import { helpOf, progOf, usageOf } from "./usage.ts";

/**
 * swarm-lib's command line on our store. Exit statuses are swarm-lib's: 0, also when there was
 * nothing to claim; 1 when it did not work; 2 for a wrong command line or an unknown schema.
 */
export async function runSwarmCli(args: readonly string[], around: Surroundings): Promise<number> {
  let parsed: Parsed;
  try {
    parsed = parseArguments(args, COMMANDS);
  } catch (error) {
    if (error instanceof UsageError) return explain(error, around);
    throw error;
  }
  if (parsed.kind === "help") {
    around.stdout.write(helpOf(parsed.command, COMMANDS, columnsOf(around)));
    return 0;
  }
  return execute(parsed.command, parsed, around);
}

function explain(error: UsageError, around: Surroundings): number {
  const usage = usageOf(error.command, columnsOf(around));
  around.stderr.write(`${usage}${progOf(error.command)}: error: ${error.message}\n`);
  return 2;
}

async function execute(
  command: Command,
  { values }: Parsed & { kind: "run" },
  around: Surroundings,
): Promise<number> {
  try {
    const verb = await command.load();
    return await verb(values, around);
  } catch (error) {
    around.stderr.write(`error: ${sentenceFor(error)}\n`);
    return 1;
  }
}

/** Advice that names a flag or command of `viv` is put into swarm-cli's terms. */
function sentenceFor(error: unknown): string {
  if (isVivError(error, "TASK_EXISTS")) return takenSentence(error);
  return error instanceof Error ? error.message : String(error);
}

function takenSentence({ details, message }: VivError): string {
  const { id, state, worker } = details;
  if (state === "gone") return message;
  const where = `${state}${worker ? ` by ${worker}` : ""}`;
  return `task ${id} is there already (${where}); choose another id`;
}

function columnsOf(around: Surroundings): number {
  return around.columns ?? around.stdout.columns ?? 80;
}
