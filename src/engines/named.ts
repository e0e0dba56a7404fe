import { join, resolve } from "node:path";
import type { EngineRoute } from "./config-engine.ts";
import type { Engine, EngineName } from "./engine.ts";

export interface EnginePlaces {
  /** Where our own programs lie. */
  programs: string;
  /** Where `llm` keeps its conversations. */
  sessions: string;
}

/** Each is loaded by who uses it. */
export async function engineNamed(name: EngineName, places: EnginePlaces): Promise<Engine> {
  switch (name) {
    case "exec":
      return (await import("./exec.ts")).execEngine;
    case "claude":
      return (await import("./vendors/claude.ts")).claudeEngine();
    case "codex":
      return (await import("./vendors/codex.ts")).codexEngine();
    case "gemini":
      return (await import("./vendors/gemini.ts")).geminiEngine();
    case "opencode":
      return (await import("./vendors/opencode.ts")).opencodeEngine();
    case "llm": {
      const program = join(places.programs, "llm.cjs");
      return (await import("./llm.ts")).llmEngine({ program, sessionDir: places.sessions });
    }
    case "script": {
      const program = join(places.programs, "script-engine.cjs");
      return (await import("./script.ts")).scriptEngine({ program });
    }
  }
}

/** Its paths are resolved; the command of `exec` is the route's handler. */
export function readyEngine(
  engine: EngineRoute,
  handler: readonly string[],
  folder: string,
): EngineRoute {
  const { binary, scenario } = engine.settings;
  const [command = null, ...flags] = handler;
  const settings = {
    ...engine.settings,
    binary: binary?.includes("/") ? resolve(folder, binary) : binary,
    scenario: scenario === null ? null : resolve(folder, scenario),
    ...(engine.name === "exec" ? { binary: command, flags } : {}),
  };
  return { ...engine, settings };
}
