import { dirname } from "node:path";
import { VivError } from "../../base/errors.ts";
import type { ModelUsage } from "../costs/usage.ts";
import type {
  Engine,
  EngineExit,
  EngineOutcome,
  EngineRequest,
  EngineResult,
  Step,
  StreamReader,
} from "../engine.ts";
import {
  asObject,
  type JsonObject,
  listAt,
  numberAt,
  objectAt,
  parseLine,
  stringAt,
} from "../vendors/json-line.ts";
import { brief, MAX_TEXT, Unknowns } from "../vendors/step-text.ts";
import { UsageSum } from "../vendors/usage-sum.ts";
import type { LlmRequest } from "./protocol.ts";

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
    reportsDollars: "never",
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
    keys: request.keys,
  };
}

/** An address without a protocol is most likely an ollama, or one of its kin. */
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

const KINDS = ["tool", "text", "thought", "notice"] as const satisfies readonly Step["kind"][];

/** Reads what the program prints. Nothing in a line is trusted: a command may have written it. */
export class LlmReader implements StreamReader {
  readonly #model: string;
  readonly #used = new UsageSum();
  readonly #unknowns = new Unknowns();
  #session: string | null = null;
  #lastText = "";
  #result: Omit<EngineResult, "unknown"> | undefined;

  get session(): string | null {
    return this.#session;
  }

  get isOver(): boolean {
    return this.#result !== undefined;
  }

  /** The model is what usage is counted for, when a line does not say. */
  constructor(model: string) {
    this.#model = model;
  }

  line(text: string): Step[] {
    const event = parseLine(text);
    if (event === null) return this.#unknowns.line(text);
    const type = stringAt(event, "type");
    switch (type) {
      case "session":
        this.#session = stringAt(event, "session") ?? this.#session;
        return [];
      case "step":
        return this.#step(event);
      case "result":
        this.#result = this.#readResult(event);
        return [];
      default:
        return this.#unknowns.event(type);
    }
  }

  end(exit: EngineExit): EngineResult {
    const unknown = this.#unknowns.count;
    if (this.#result) return { ...this.#result, unknown };
    const how = exit.signal ? `ended by ${exit.signal}` : `exit ${exit.exit}`;
    const last = brief(exit.stderr.trimEnd().split("\n").at(-1) ?? "");
    const why = last === "" ? (this.#unknowns.lastLines.at(-1) ?? "") : last;
    const message = `the loop ended without a result (${how})${why === "" ? "" : `: ${why}`}`;
    return {
      outcome: { kind: "cut_off", message },
      text: this.#lastText,
      session: this.#session,
      usage: this.#used.get(),
      unknown,
    };
  }

  #step(event: JsonObject): Step[] {
    const kind = KINDS.find((one) => one === stringAt(event, "kind"));
    if (kind === undefined) return this.#unknowns.event("step");
    const step: Step = { kind };
    for (const name of ["tool", "target", "text"] as const) {
      const value = brief(stringAt(event, name) ?? "");
      if (value !== "") step[name] = value;
    }
    const usage = this.#usage(objectAt(event, "usage"));
    if (usage) {
      step.usage = usage;
      this.#used.add(usage);
    }
    if (kind === "text") this.#lastText = step.text ?? "";
    return [step];
  }

  #readResult(event: JsonObject): Omit<EngineResult, "unknown"> {
    const usage = listAt(event, "usage").map((one) => this.#usage(asObject(one)));
    const isTold = Array.isArray(event.usage) && usage.every((one) => one !== null);
    return {
      outcome: outcomeOf(objectAt(event, "outcome")),
      text: (stringAt(event, "text") ?? this.#lastText).slice(0, MAX_TEXT),
      session: stringAt(event, "session") ?? this.#session,
      // One that cannot be read makes the sum wrong: then there is none.
      usage: isTold ? usage : null,
    };
  }

  #usage(fields: JsonObject | null): ModelUsage | null {
    const input = numberAt(fields, "input");
    const output = numberAt(fields, "output");
    if (input === null || output === null) return null;
    return {
      model: stringAt(fields, "model") ?? this.#model,
      input,
      output,
      cacheRead: numberAt(fields, "cacheRead") ?? 0,
      cacheWrite: numberAt(fields, "cacheWrite") ?? 0,
      usd: numberAt(fields, "usd"),
    };
  }
}

function outcomeOf(fields: JsonObject | null): EngineOutcome {
  const kind = stringAt(fields, "kind");
  const message = brief(stringAt(fields, "message") ?? "no reason given", 500);
  switch (kind) {
    case "done":
      return { kind };
    case "failed":
    case "cut_off":
    case "turn_limit":
    case "session_lost":
    case "refused":
      return { kind, message };
    case "rate_limited":
    case "unavailable":
      return { kind, message, until: timeOf(stringAt(fields, "until")) };
    case "unauthorized":
    case "quota":
      return { kind, message, todo: brief(stringAt(fields, "todo") ?? "", 500) };
    default:
      return { kind: "failed", message: `a result of an unknown kind: ${message}` };
  }
}

function timeOf(text: string | null): string | null {
  const at = Date.parse(text ?? "");
  return Number.isNaN(at) ? null : new Date(at).toISOString();
}
