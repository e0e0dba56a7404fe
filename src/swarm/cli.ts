import { isVivError, messageOf } from "../base/errors.ts";
import {
  type Command,
  helpOf,
  type Option,
  type Parsed,
  parseArguments,
  progOf,
  UsageError,
  usageOf,
} from "./argparse.ts";
import type { Context } from "./context.ts";
import { ls } from "./ls.ts";
import { statusInit, statusShow, statusWrite } from "./status-commands.ts";
import { claim, complete, enqueue, heartbeat, reap } from "./task-commands.ts";

const text = (flag: string, help?: string): Option => ({ flag, kind: "text", help });
const required = (flag: string, help?: string): Option => ({ ...text(flag, help), required: true });
const toggle = (flag: string, help: string): Option => ({ flag, kind: "switch", help });
const whole = (flag: string, help: string): Option => ({ flag, kind: "whole", help });

const runDir = required("--run-dir", "the run directory");
const workerId = required("--worker-id", "the worker's name");

/** Every command of swarm-cli with its flags, in the order in which its usage shows them. */
export const COMMANDS: readonly Command[] = [
  {
    name: "enqueue",
    help: "publish a task to pending/",
    options: [
      runDir,
      required("--task-id", "its name; that of an ended task begins a new round"),
      required("--task-type", "what kind of work it is"),
      text("--payload", "a JSON object for the handler (default: {})"),
      text("--depends-on", "ids that must be done first, with commas between"),
      text("--tier-hint", "model tier, such as haiku, sonnet or opus"),
      text("--created-by", "who asks for it"),
    ],
    run: enqueue,
  },
  {
    name: "claim",
    help: "take the next task and print it as one line of JSON",
    options: [
      runDir,
      workerId,
      text("--task-type-filter", "only these types, with commas between"),
    ],
    run: claim,
  },
  {
    name: "complete",
    help: "end a claimed task: done or failed",
    options: [
      runDir,
      workerId,
      required("--task-id", "the claimed task"),
      toggle("--success", "it goes to done/"),
      toggle("--failure", "it goes to failed/"),
    ],
    oneOf: ["--success", "--failure"],
    run: complete,
  },
  {
    name: "status-init",
    help: "write a new status.json, with nothing completed",
    options: [
      runDir,
      required("--run-id", "the run's name"),
      text("--summary"),
      text("--next-step"),
      text("--next-task-id"),
      text("--metadata", "a JSON object"),
    ],
    run: statusInit,
  },
  {
    name: "status-show",
    help: "print status.json",
    options: [runDir],
    run: statusShow,
  },
  {
    name: "status-write",
    help: "write a new checkpoint; what is completed stays",
    options: [
      runDir,
      required("--summary"),
      required("--next-step"),
      text("--next-task-id"),
      text("--risk"),
      text("--current-worker"),
      text("--metadata", "a JSON object, merged into what is there"),
    ],
    run: statusWrite,
  },
  {
    name: "heartbeat",
    help: "say that this worker is alive",
    options: [runDir, workerId, text("--note", "free text, usually the current task's id")],
    run: heartbeat,
  },
  {
    name: "reap",
    help: "give the claims of silent workers back to pending/ and print which",
    options: [
      runDir,
      whole("--stale-after", "seconds of silence that count as death (default: 300)"),
    ],
    run: reap,
  },
  {
    name: "ls",
    help: "show how a run stands, or every run below a folder",
    options: [
      text("--run-dir", "this run only"),
      text("--root", "the folder whose runs are shown (default: ~/.swarm)"),
      toggle("--json", "print JSON"),
      toggle("--no-color", "print without colours"),
    ],
    run: ls,
  },
];

/**
 * swarm-lib's command line on our store, with its exit statuses: 0, also with nothing to claim; 1 for
 * a failure; 2 for a wrong command line or an unknown schema.
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
    return await parsed.command.run(parsed.values, context);
  } catch (error) {
    stderr.write(`error: ${inItsTerms(error)}\n`);
    return 1;
  }
}

/** Advice that names a flag or command of `viv` is put into swarm-cli's terms. */
function inItsTerms(error: unknown): string {
  if (isVivError(error, "TASK_EXISTS") && error.details.state !== "gone") {
    const { id, state, worker, other } = error.details;
    const where = `${state}${worker ? ` by ${worker}` : ""}`;
    const how = other ? ` with another ${other}` : "";
    return `task ${id} is there already (${where})${how}; choose another id`;
  }
  return messageOf(error);
}
