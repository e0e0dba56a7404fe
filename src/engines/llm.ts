import { dirname } from "node:path";
import { VivError } from "../base/errors.ts";
import type { Engine, EngineRequest } from "./engine.ts";
import { LlmReader } from "./llm/read.ts";
import type { LlmRequest } from "./llm/request.ts";

export interface LlmOptions {
  /** The path of dist/llm.cjs, which runs the loop as a process of its own. */
  program: string;
  /** Where conversations are kept, so that a later attempt can go on; null: they are not. */
  sessionDir: string | null;
}

/** Our own agent loop, against Anthropic or whatever speaks OpenAI's protocol. */
export function llmEngine({ program, sessionDir }: LlmOptions): Engine {
  return {
    name: "llm",
    binary: process.execPath,
    tellsDollars: "never",
    command: (request) => ({
      argv: [request.settings.binary ?? process.execPath, program],
      stdin: JSON.stringify(requestOf(request, sessionDir)),
      isSecret: true,
      reads: [dirname(program)],
    }),
    reader: (request) => new LlmReader(request.model ?? ""),
  };
}

function requestOf(request: EngineRequest, sessionDir: string | null): LlmRequest {
  const { settings, model } = request;
  if (model === null) throw invalid("needs a model: name one in the route");
  if (settings.flags.length > 0) throw invalid(`takes no flags, but got ${settings.flags[0]}`);
  if (settings.permission !== null) throw invalid("knows no permission; use mode plan or edit");
  const url = settings.url === null ? null : checked(settings.url);
  const { contextTokens } = settings;
  if (contextTokens !== null && !(contextTokens >= 2_000)) {
    throw invalid(`cannot work with a window of ${contextTokens} tokens; at least 2000 are needed`);
  }
  return {
    prompt: request.prompt,
    cwd: request.cwd,
    model,
    mode: request.mode,
    turns: request.turns,
    api: settings.api ?? apiOf(url),
    url,
    keyEnv: settings.keyEnv,
    contextTokens,
    sessionDir: request.sessionDir ?? sessionDir,
    resume: request.resume,
    ...(request.keys ? { keys: request.keys } : {}),
  };
}

/** Whoever names an address and no protocol most likely has an ollama, or one of its many kin. */
function apiOf(url: string | null): "anthropic" | "openai" {
  return url === null || new URL(url).hostname === "api.anthropic.com" ? "anthropic" : "openai";
}

function checked(url: string): string {
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url;
  throw invalid(`cannot use the url ${JSON.stringify(url)}; write it like http://localhost:11434`);
}

function invalid(what: string): VivError {
  return new VivError("INVALID", `The engine llm ${what}.`);
}
