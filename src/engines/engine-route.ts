import { resolve } from "node:path";
import type { EngineRoute, EngineSettings } from "./config-engine.ts";

/** The variable with the key for our own loop: the configured one, or the vendor's. */
export function keyVariable({ keyEnv, api }: EngineSettings): string {
  return keyEnv ?? (api === "openai" ? "OPENAI_API_KEY" : "ANTHROPIC_API_KEY");
}

/** With its paths resolved; the command of `exec` is the route's handler. */
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
