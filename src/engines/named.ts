import { join } from "node:path";
import type { Engine, EngineName } from "./engine.ts";

export interface EnginePlaces {
  /** Where our own programs lie. */
  programs: string;
  /** Where `llm` keeps its conversations. */
  sessions: string;
}

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
    case "llm": {
      const program = join(places.programs, "llm.cjs");
      return (await import("./llm/engine.ts")).llmEngine({ program, sessionDir: places.sessions });
    }
    case "script": {
      const program = join(places.programs, "script-engine.cjs");
      return (await import("./script/engine.ts")).scriptEngine({ program });
    }
  }
}
