import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type {
  Engine,
  EngineExit,
  EngineRequest,
  EngineResult,
  EngineSettings,
  Step,
} from "../../../src/engines/engine.ts";

/** The clock of the readers. */
export const NOW = Date.parse("2026-11-15T10:00:00Z");
export const now = () => NOW;

/** The end of the limits in the stand-ins. */
export const RESETS = Date.parse("2026-11-16T15:05:00Z");

export const SETTINGS: EngineSettings = {
  binary: null,
  flags: [],
  permission: null,
  url: null,
  api: null,
  keyEnv: null,
  contextTokens: null,
  scenario: null,
};

export function request(fields: Partial<EngineRequest> = {}): EngineRequest {
  return {
    prompt: "Make it so.",
    cwd: process.cwd(),
    model: null,
    mode: "edit",
    resume: null,
    turns: null,
    settings: SETTINGS,
    ...fields,
  };
}

/** The program that stands in for a vendor's. */
export function standIn(name: string): string {
  return fileURLToPath(new URL(`./${name}.mjs`, import.meta.url));
}

export interface Run extends EngineResult {
  steps: Step[];
  exit: EngineExit;
  argv: string[];
}

/** Runs the stand-in as a real process by the engine's own command, and reads what it prints. */
export async function run(
  engine: Engine,
  scenario: string,
  fields: Partial<EngineRequest> = {},
  wasEnded = false,
): Promise<Run> {
  const binary = fields.settings?.binary ?? standIn(engine.name);
  const asked = request({ ...fields, settings: { ...(fields.settings ?? SETTINGS), binary } });
  const { argv, stdin, env } = engine.command(asked);
  const [file = "", ...args] = argv;
  const child = spawn(file, args, {
    cwd: asked.cwd,
    env: {
      ...process.env,
      ...env,
      VENDOR_SCENARIO: scenario,
      VENDOR_RESETS_AT: String(RESETS / 1000),
    },
  });
  // A program need not read its prompt to the end, or at all.
  child.stdin.on("error", () => undefined).end(stdin);
  const reader = engine.reader(asked);
  const steps: Step[] = [];
  let rest = "";
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (data: string) => {
    stderr += data;
  });
  child.stdout.setEncoding("utf8").on("data", (data: string) => {
    const lines = (rest + data).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) steps.push(...reader.line(line));
  });
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (...ended) => resolve(ended));
  });
  if (rest !== "") steps.push(...reader.line(rest));
  const exit = { exit: code, signal, stderr, wasEnded };
  return { ...reader.end(exit), steps, exit, argv };
}

export function tools(steps: readonly Step[]): [string | undefined, string | undefined][] {
  return steps.filter(({ kind }) => kind === "tool").map(({ tool, target }) => [tool, target]);
}
