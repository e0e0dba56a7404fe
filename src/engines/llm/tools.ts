import { type ChildProcess, spawn } from "node:child_process";
import type { ToolSet } from "ai";
import { z } from "zod";
import { afterOutput } from "../../platform/processes/after-output.ts";
import { brief } from "../vendors/event-reader.ts";
import { messageOf } from "./call-failures.ts";
import { CappedText } from "./capped-text.ts";
import {
  editFile,
  listFiles,
  readFile,
  ToolError,
  type Workspace,
  writeFile,
} from "./workspace-files.ts";

const LONGEST_COMMAND_S = 600;

export interface ToolContext {
  place: Workspace;
  /** Without the key. */
  env: NodeJS.ProcessEnv;
  signal: AbortSignal;
  commandMs: number;
  /** The longest result, so that one never fills the window. */
  limitChars: number;
}

/** `failure`: a short message for people; null after a success. */
interface ToolResult {
  text: string;
  failure: string | null;
}

interface Tool<I> {
  description: string;
  input: z.ZodType<I>;
  /** A path or a command, for people. */
  target(input: I): string;
  run(input: I, context: ToolContext): Promise<ToolResult> | ToolResult;
}

const path = z.string().min(1).describe("relative to the workspace");

const readTool = define({
  description: "Reads a text file of the workspace.",
  input: z.object({
    path,
    from: z.number().int().optional().describe("the first line, from 1 on"),
    lines: z.number().int().positive().optional().describe("how many lines"),
  }),
  target: (input) => input.path,
  run: (input, { place, limitChars }) => good(readFile(place, input, limitChars)),
});

const listTool = define({
  description: "Lists a folder of the workspace. Folders end with a slash.",
  input: z.object({ path: path.optional(), recursive: z.boolean().optional() }),
  target: (input) => input.path ?? ".",
  run: (input, { place }) => good(listFiles(place, input)),
});

const writeTool = define({
  description: "Writes a whole file of the workspace, and makes its folders.",
  input: z.object({ path, content: z.string() }),
  target: (input) => input.path,
  run: (input, { place }) => good(writeFile(place, input)),
});

const editTool = define({
  description:
    "Replaces a piece of a file. `old` must be there exactly, and once unless all: true.",
  input: z.object({ path, old: z.string(), new: z.string(), all: z.boolean().optional() }),
  target: (input) => input.path,
  run: (input, { place }) => good(editFile(place, input)),
});

const shellTool = define({
  description:
    "Runs a command with /bin/sh in the workspace. It has no terminal and no input. Of a long output the beginning and the end are kept.",
  input: z.object({
    command: z.string().min(1),
    timeout_seconds: z.number().positive().max(LONGEST_COMMAND_S).optional(),
  }),
  target: (input) => input.command,
  run: async (input, { place, env, signal, commandMs, limitChars }) => {
    const timeoutMs = input.timeout_seconds ? input.timeout_seconds * 1000 : commandMs;
    const options = { cwd: place.root, env, signal, timeoutMs, limitBytes: limitChars };
    const { exit, signal: by, isTimedOut, output } = await runShell(input.command, options);
    const ended = by ? `ended by ${by}` : `exit ${exit}`;
    const how = isTimedOut ? `ended after ${timeoutMs / 1000} s, its time limit` : ended;
    const last = output.trimEnd().split("\n").at(-1) ?? "";
    const failure = exit === 0 ? null : brief(last === "" ? how : `${how}: ${last}`);
    return { text: `[${how}]\n${output}`, failure };
  },
});

const READING = { read_file: readTool, list_files: listTool };
const ALL = { ...READING, write_file: writeTool, edit_file: editTool, shell: shellTool };

type Tools = Readonly<Record<string, Tool<unknown>>>;

/** In plan mode no tool can change anything. */
export function toolsFor(mode: "plan" | "edit"): Tools {
  return mode === "plan" ? READING : ALL;
}

/** For the `ai` package, without `execute`: the loop runs them between its calls. */
export function declare(tools: Tools): ToolSet {
  const entries = Object.entries(tools);
  return Object.fromEntries(
    entries.map(([name, { description, input }]) => [name, { description, inputSchema: input }]),
  );
}

/** Never throws: the model gets the error. */
export async function runTool(
  tools: Tools,
  name: string,
  input: unknown,
  context: ToolContext,
): Promise<ToolResult> {
  try {
    const found = Object.hasOwn(tools, name) ? tools[name] : undefined;
    if (!found) throw new ToolError(`There is no tool ${name}.`);
    return await found.run(found.input.parse(input), context);
  } catch (error) {
    return { text: `Error: ${messageOf(error)}`, failure: brief(messageOf(error)) };
  }
}

/** The target of a call, for people. */
export function targetOf(tools: Tools, name: string, input: unknown): string {
  const found = Object.hasOwn(tools, name) ? tools[name] : undefined;
  const parsed = found?.input.safeParse(input);
  return parsed?.success && found ? brief(found.target(parsed.data), 200) : "";
}

const good = (text: string): ToolResult => ({ text, failure: null });

/** The type of the input is needed only within a definition. */
function define<I>(one: Tool<I>): Tool<unknown> {
  return one as Tool<unknown>;
}

export interface ShellOptions {
  cwd: string;
  env: NodeJS.ProcessEnv;
  timeoutMs: number;
  limitBytes: number;
  signal: AbortSignal;
}

/**
 * Runs a command in a process group of its own, and ends the whole group on a time-out. After a normal
 * exit its background processes keep running: the next command may need a server among them, and the
 * worker ends our whole tree.
 */
export function runShell(
  command: string,
  options: ShellOptions,
): Promise<{ exit: number | null; signal: string | null; isTimedOut: boolean; output: string }> {
  const { cwd, env, timeoutMs, limitBytes, signal } = options;
  return new Promise((resolve, reject) => {
    const child = spawn("/bin/sh", ["-c", command], {
      cwd,
      env,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const output = new CappedText(limitBytes);
    child.stdout.on("data", (chunk: Buffer) => output.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => output.push(chunk));
    let isTimedOut = false;
    const timer = setTimeout(() => {
      isTimedOut = true;
      killGroup(child);
    }, timeoutMs);
    const onAbort = () => killGroup(child);
    signal.addEventListener("abort", onAbort);
    if (signal.aborted) onAbort();
    const over = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    };
    child.on("error", (error) => {
      over();
      reject(error);
    });
    child.on("exit", (exit, exitSignal) => {
      over();
      afterOutput(child, () => {
        child.stdout.destroy();
        child.stderr.destroy();
        resolve({ exit, signal: exitSignal, isTimedOut, output: output.toString() });
      });
    });
  });
}

/**
 * SIGKILL at once, without a SIGTERM first: after the leader has exited, its group's number may belong to
 * another group, and processes that ignored the SIGTERM would stay.
 */
function killGroup(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // it has just exited
  }
}
