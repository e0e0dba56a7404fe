import { join } from "node:path";
import { VivError } from "../base/errors.ts";
import { counted } from "../base/text.ts";
import type { ModelUsage } from "./costs/usage.ts";
import type {
  Engine,
  EngineExit,
  EngineOutcome,
  EngineRequest,
  EngineResult,
  Step,
} from "./engine.ts";
import type { LlmRequest } from "./llm/protocol.ts";
import { brief, EventReader, Fields, MAX_TEXT, type Used } from "./vendors/event-reader.ts";
import { UsageSum } from "./vendors/usage-sum.ts";

/** The folders of our own programs, and of the conversations of `llm`; null: they are not kept. */
export interface EnginePlaces {
  programs: string;
  sessions: string | null;
}

/** Our own agent loop, against Anthropic or any server with OpenAI's protocol. */
export function llmEngine({ programs, sessions }: EnginePlaces): Engine {
  return {
    name: "llm",
    binary: process.execPath,
    reportsDollars: "never",
    command: (request) => ({
      argv: [request.settings.binary ?? process.execPath, join(programs, "llm.cjs")],
      stdin: JSON.stringify(llmRequest(request, sessions)),
      isSecret: true,
      reads: [programs],
    }),
    reader: (request) => new ProgramReader(request.model ?? ""),
  };
}

/** A scenario instead of a model: for demos and tests. See script/scenario.ts. */
export function scriptEngine({ programs }: EnginePlaces): Engine {
  return {
    name: "script",
    binary: process.execPath,
    reportsDollars: "each step",
    command: ({ prompt, model, mode, resume, settings: { scenario, binary } }) => {
      if (scenario === null) throw new VivError("INVALID", "The engine script needs a scenario.");
      return {
        argv: [binary ?? process.execPath, join(programs, "script-engine.cjs"), scenario],
        stdin: JSON.stringify({ prompt, model, mode, resume }),
        reads: [programs, scenario],
      };
    },
    reader: ({ model }) => new ProgramReader(model ?? "script"),
  };
}

function llmRequest(request: EngineRequest, sessions: string | null): LlmRequest {
  const { settings, prompt, cwd, model, mode, turns, resume, keys, sessionDir } = request;
  const { url, keyEnv, contextTokens } = settings;
  if (model === null) throw invalid("needs a model: name one in the route");
  if (settings.flags.length > 0) throw invalid(`takes no flags, but got ${settings.flags[0]}`);
  if (settings.permission !== null) throw invalid("knows no permission; use mode plan or edit");
  if (url !== null && !(URL.canParse(url) && /^https?:$/.test(new URL(url).protocol))) {
    throw invalid(
      `cannot use the url ${JSON.stringify(url)}; write it like http://localhost:11434`,
    );
  }
  if (contextTokens !== null && !(contextTokens >= 2_000)) {
    throw invalid(
      `cannot work with a window of ${counted(contextTokens, "token")}; at least 2000 are needed`,
    );
  }
  // An address without a protocol is most likely an ollama, or a similar server.
  const isAnthropic = url === null || new URL(url).hostname === "api.anthropic.com";
  const api = settings.api ?? (isAnthropic ? "anthropic" : "openai");
  return {
    ...{ prompt, cwd, model, mode, turns, resume, keys, api, url, keyEnv, contextTokens },
    sessionDir: sessionDir ?? sessions,
  };
}

function invalid(what: string): VivError {
  return new VivError("INVALID", `The engine llm ${what}.`);
}

const KINDS = ["tool", "text", "thought", "notice"] as const satisfies readonly Step["kind"][];

/** Reads the events of llm/protocol.ts. No line is trusted: a command may have printed it. */
class ProgramReader extends EventReader {
  readonly #model: string;
  readonly #sum = new UsageSum();
  #result: Pick<EngineResult, "outcome" | "usage"> | undefined;

  get isOver(): boolean {
    return this.#result !== undefined;
  }

  constructor(model: string) {
    super();
    this.#model = model;
  }

  protected read(type: string | null, event: Fields): Step[] | null {
    if (type === "step") return this.#step(event);
    if (type !== "session" && type !== "result") return null;
    this.session = event.string("session") ?? this.session;
    if (type === "result") {
      this.text = (event.string("text") ?? this.text).slice(0, MAX_TEXT);
      const parts = event.list("usage")?.map((one) => this.#usage(new Fields(one))) ?? [null];
      // One unreadable part makes the sum wrong: then there is none.
      const usage = parts.every((one) => one !== null) ? parts : null;
      this.#result = { outcome: outcomeOf(event.at("outcome")), usage };
    }
    return [];
  }

  protected used(): Used {
    return { usage: this.#result ? this.#result.usage : this.#sum.get() };
  }

  protected outcome(exit: EngineExit): EngineOutcome {
    if (this.#result) return this.#result.outcome;
    const how = exit.signal ? `ended by ${exit.signal}` : `exit ${exit.exit}`;
    const last = brief(exit.stderr.trimEnd().split("\n").at(-1) ?? "");
    const why = last || (this.otherLines.at(-1) ?? "");
    const message = `the loop ended without a result (${how})${why === "" ? "" : `: ${why}`}`;
    return { kind: "cut_off", message };
  }

  #step(event: Fields): Step[] | null {
    const kind = KINDS.find((one) => one === event.string("kind"));
    if (kind === undefined) return null;
    const step: Step = { kind };
    for (const name of ["tool", "target", "text"] as const) {
      const value = brief(event.string(name) ?? "");
      if (value !== "") step[name] = value;
    }
    const usage = this.#usage(event.at("usage"));
    if (usage) {
      step.usage = usage;
      this.#sum.add(usage);
    }
    if (kind === "text" && !this.isOver) this.text = step.text ?? "";
    return [step];
  }

  #usage(fields: Fields): ModelUsage | null {
    const input = fields.number("input");
    const output = fields.number("output");
    if (input === null || output === null) return null;
    return {
      model: fields.string("model") ?? this.#model,
      input,
      output,
      cacheRead: fields.count("cacheRead"),
      cacheWrite: fields.count("cacheWrite"),
      usd: fields.number("usd"),
    };
  }
}

function outcomeOf(fields: Fields): EngineOutcome {
  const kind = fields.string("kind");
  const message = brief(fields.string("message") ?? "no reason given", 500);
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
    case "unavailable": {
      const until = Date.parse(fields.string("until") ?? "");
      return { kind, message, until: Number.isNaN(until) ? null : new Date(until).toISOString() };
    }
    case "unauthorized":
    case "quota":
      return { kind, message, todo: brief(fields.string("todo") ?? "", 500) };
    default:
      return { kind: "failed", message: `a result of an unknown kind: ${message}` };
  }
}
