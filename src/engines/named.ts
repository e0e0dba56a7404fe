import { resolve } from "node:path";
import type { EngineRoute } from "./config-engine.ts";
import type { Engine, EngineName, EngineSettings } from "./engine.ts";
import type { EnginePlaces } from "./own-programs.ts";

/** Loaded on first use. */
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
    case "llm":
      return (await import("./own-programs.ts")).llmEngine(places);
    case "script":
      return (await import("./own-programs.ts")).scriptEngine(places);
  }
}

/** With absolute paths; the command of `exec` is the route's handler. */
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

/** The variable with the key for `llm`: the configured one, or the vendor's. */
export function keyVariable({ keyEnv, api }: EngineSettings): string {
  return keyEnv ?? (api === "openai" ? "OPENAI_API_KEY" : "ANTHROPIC_API_KEY");
}
