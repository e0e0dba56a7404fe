import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { expect, onTestFinished } from "vitest";
import type {
  EngineRequest,
  EngineResult,
  EngineSettings,
  Step,
} from "../../src/engines/engine.ts";
import { llmEngine } from "../../src/engines/own-programs.ts";
import { within } from "../support/deadline.ts";
import { newFolder } from "../support/folders.ts";
import { DIST } from "../support/processes.ts";
import { type Asked, type LlmServer, MODEL } from "./llm-server.ts";
import { partsOf } from "./llm-wire.ts";
import { SETTINGS } from "./vendors/run.ts";

export type Api = "anthropic" | "openai";

export interface RunOptions extends Partial<Omit<EngineRequest, "settings" | "sessionDir">> {
  settings?: Partial<EngineSettings>;
  env?: Record<string, string>;
  sessionDir?: string | null;
  limits?: Record<string, number>;
}

export interface Ran extends EngineResult {
  steps: Step[];
  exit: number | null;
  stdout: string;
  stderr: string;
}

/** The real program, started and read through the engine, while it runs. */
export class Running {
  readonly cwd: string;
  readonly child: ChildProcess;
  readonly steps: Step[] = [];
  readonly result: Promise<Ran>;

  constructor(api: Api, url: string | null, options: RunOptions = {}) {
    const { settings, env, sessionDir = null, limits, ...given } = options;
    this.cwd = given.cwd ?? newFolder();
    const engine = llmEngine({ programs: DIST, sessions: sessionDir });
    const request: EngineRequest = {
      prompt: "Do it.",
      cwd: this.cwd,
      model: MODEL,
      mode: "edit",
      resume: null,
      turns: null,
      ...given,
      settings: { ...SETTINGS, url, api, ...settings },
    };
    const { argv, stdin } = engine.command(request);
    const [program = "", ...args] = argv;
    this.child = spawn(program, args, {
      cwd: this.cwd,
      env: { PATH: process.env.PATH ?? "", ...env },
      stdio: ["pipe", "pipe", "pipe"],
    });
    onTestFinished(() => void this.child.kill("SIGKILL"));
    const quick = { retryMs: 0, ...limits };
    this.child.stdin?.end(JSON.stringify({ ...JSON.parse(stdin), limits: quick }));
    this.result = within("the loop ends", this.#read(engine.reader(request)), 50);
  }

  async #read(reader: ReturnType<ReturnType<typeof llmEngine>["reader"]>): Promise<Ran> {
    let stdout = "";
    let stderr = "";
    this.child.stderr?.setEncoding("utf8").on("data", (text) => {
      stderr += text;
    });
    const lines = createInterface({ input: this.child.stdout as NodeJS.ReadableStream });
    lines.on("line", (line) => {
      stdout += `${line}\n`;
      this.steps.push(...reader.line(line));
    });
    const [exit, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) =>
      this.child.on("close", (...end) => resolve(end)),
    );
    const result = reader.end({ exit, signal, stderr, wasEnded: false });
    return { ...result, steps: this.steps, exit, stdout, stderr };
  }
}

/** To its end; it never crashes. */
export async function run(api: Api, server: LlmServer, options: RunOptions = {}): Promise<Ran> {
  const ran = await new Running(api, server.url, options).result;
  expect(ran.stderr).toBe("");
  return ran;
}

/** The results of tools in this request, in order. */
export function resultsIn(asked: Asked | undefined): string[] {
  return (asked?.body.messages ?? []).flatMap((message) => {
    if (message.role === "tool") return [String(message.content)];
    return partsOf(message)
      .filter((part) => part.type === "tool_result")
      .map(({ content }) => (Array.isArray(content) ? content[0]?.text : content) ?? "");
  });
}

/** The texts of the user's side. */
export function promptsIn(asked: Asked | undefined): string[] {
  return (asked?.body.messages ?? [])
    .filter((message) => message.role === "user")
    .flatMap((message) => {
      if (typeof message.content === "string") return [message.content];
      return partsOf(message).flatMap(({ type, text }) => (type === "text" && text ? [text] : []));
    });
}

export function toolsIn(asked: Asked | undefined): string[] {
  return (asked?.body.tools ?? []).map((tool) => tool.name ?? tool.function?.name ?? "").sort();
}
