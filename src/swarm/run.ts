import { isVivError } from "../base/errors.ts";
import { helpOf, type Parsed, parseArguments, progOf, UsageError, usageOf } from "./argparse.ts";
import { COMMANDS } from "./commands.ts";
import type { Context } from "./context.ts";

/**
 * swarm-lib's command line on our store. Exit statuses are swarm-lib's: 0, also when there was
 * nothing to claim; 1 when it did not work; 2 for a wrong command line or an unknown schema.
 */
export async function runSwarmCli(args: readonly string[], context: Context): Promise<number> {
  const { stdout, stderr } = context;
  const columns = context.columns ?? stdout.columns ?? 80;
  let parsed: Parsed;
  try {
    parsed = parseArguments(args, COMMANDS);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const { command, message } = error;
    stderr.write(`${usageOf(command, columns)}${progOf(command)}: error: ${message}\n`);
    return 2;
  }
  if (parsed.kind === "help") {
    stdout.write(helpOf(parsed.command, COMMANDS, columns));
    return 0;
  }
  try {
    const verb = await parsed.command.load();
    return await verb(parsed.values, context);
  } catch (error) {
    stderr.write(`error: ${messageOf(error)}\n`);
    return 1;
  }
}

/** Advice that names a flag or command of `viv` is put into swarm-cli's terms. */
function messageOf(error: unknown): string {
  if (isVivError(error, "TASK_EXISTS") && error.details.state !== "gone") {
    const { id, state, worker } = error.details;
    const where = `${state}${worker ? ` by ${worker}` : ""}`;
    return `task ${id} is there already (${where}); choose another id`;
  }
  return error instanceof Error ? error.message : String(error);
}
