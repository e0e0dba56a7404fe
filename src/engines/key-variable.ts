import type { EngineSettings } from "./config-engine.ts";

/** Which variable holds the key of our own loop: the one that is named, or the vendor's. */
export function keyVariable({ keyEnv, api }: EngineSettings): string {
  return keyEnv ?? (api === "openai" ? "OPENAI_API_KEY" : "ANTHROPIC_API_KEY");
}
