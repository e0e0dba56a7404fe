import type { Command, Option } from "./argparse.ts";

const text = (flag: string, help?: string): Option => ({ flag, kind: "text", help });
const required = (flag: string, help?: string): Option => ({ ...text(flag, help), required: true });
const toggle = (flag: string, help: string): Option => ({ flag, kind: "switch", help });
const whole = (flag: string, help: string): Option => ({ flag, kind: "whole", help });

const runDir = required("--run-dir", "the run directory");
const workerId = required("--worker-id", "the worker's name");

const taskCommands = () => import("./task-commands.ts");
const statusCommands = () => import("./status-commands.ts");

/** Every command of swarm-cli with its flags, in the order in which its usage shows them. */
export const COMMANDS: readonly Command[] = [
  {
    name: "enqueue",
    help: "publish a task to pending/",
    options: [
      runDir,
      required("--task-id", "a name that is new in this run"),
      required("--task-type", "what kind of work it is"),
      text("--payload", "a JSON object for the handler (default: {})"),
      text("--depends-on", "ids that must be done first, with commas between"),
      text("--tier-hint", "model tier, such as haiku, sonnet or opus"),
      text("--created-by", "who asks for it"),
    ],
    load: async () => (await taskCommands()).enqueue,
  },
  {
    name: "claim",
    help: "take the next task and print it as one line of JSON",
    options: [
      runDir,
      workerId,
      text("--task-type-filter", "only these types, with commas between"),
    ],
    load: async () => (await taskCommands()).claim,
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
    load: async () => (await taskCommands()).complete,
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
    load: async () => (await statusCommands()).statusInit,
  },
  {
    name: "status-show",
    help: "print status.json",
    options: [runDir],
    load: async () => (await statusCommands()).statusShow,
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
    load: async () => (await statusCommands()).statusWrite,
  },
  {
    name: "heartbeat",
    help: "say that this worker is alive",
    options: [runDir, workerId, text("--note", "free text, usually the current task's id")],
    load: async () => (await taskCommands()).heartbeat,
  },
  {
    name: "reap",
    help: "give the claims of silent workers back to pending/ and print which",
    options: [
      runDir,
      whole("--stale-after", "seconds of silence that count as death (default: 300)"),
    ],
    load: async () => (await taskCommands()).reap,
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
    load: async () => (await import("./ls.ts")).ls,
  },
];
