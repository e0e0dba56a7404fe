import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModel } from "ai";
import { Ended } from "./call-failures.ts";
import type { LlmRequest } from "./protocol.ts";

/** The addresses of the vendors, and the variables of their own tools for the key. */
const VENDORS = {
  anthropic: { url: "https://api.anthropic.com/v1", keyEnv: "ANTHROPIC_API_KEY" },
  openai: { url: "https://api.openai.com/v1", keyEnv: "OPENAI_API_KEY" },
} as const;

type Address = Pick<LlmRequest, "api" | "url" | "keyEnv">;

/** The base that `/messages` or `/chat/completions` is added to. */
export function urlOf({ api, url }: Address): string {
  if (url === null) return VENDORS[api].url;
  const parsed = new URL(url);
  // People write the address of their ollama; both protocols are under /v1.
  return parsed.pathname === "/" ? `${parsed.origin}/v1` : url.replace(/\/+$/, "");
}

/**
 * The variable with the key; null when none is needed. A vendor's key goes to that vendor only:
 * any other address needs a variable of its own.
 */
export function keyEnvOf(request: Address): string | null {
  if (request.keyEnv !== null) return request.keyEnv;
  const url = urlOf(request);
  if (new URL(url).origin === new URL(VENDORS[request.api].url).origin) {
    return VENDORS[request.api].keyEnv;
  }
  if (isLocal(new URL(url).hostname)) return null;
  throw new Ended({
    kind: "unauthorized",
    message: `no variable is named that holds the key for ${url}`,
    todo: `Put the key for ${url} into a variable, and name it as key_env in viv.toml.`,
  });
}

/** Throws Ended when the variable is empty. */
export function keyOf(request: Address, env: NodeJS.ProcessEnv): string | null {
  const name = keyEnvOf(request);
  if (name === null) return null;
  const key = env[name]?.trim();
  if (key) return key;
  throw new Ended({
    kind: "unauthorized",
    message: `${name} is not set`,
    todo: `Set ${name} to a key for ${urlOf(request)} where the worker runs.`,
  });
}

export function connect(request: LlmRequest, key: string | null): LanguageModel {
  const baseURL = urlOf(request);
  if (request.api === "anthropic") {
    // The package needs a key; a server without one ignores it.
    return createAnthropic({ baseURL, apiKey: key ?? "none" })(request.model);
  }
  const provider = createOpenAICompatible({
    name: "openai",
    baseURL,
    includeUsage: true, // otherwise no usage is reported, and no budget could hold
    apiKey: key ?? undefined,
  });
  return provider(request.model);
}

function isLocal(host: string): boolean {
  return /^(?:.+\.)?localhost$|^\[::1\]$|^127\.\d+\.\d+\.\d+$/.test(host);
}
