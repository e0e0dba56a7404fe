import { addTokens, type ModelUsage, NO_TOKENS, type Tokens } from "../costs/usage.ts";
import type {
  EngineExit,
  EngineOutcome,
  EngineRequest,
  EngineResult,
  Step,
  StreamReader,
  Waiting,
} from "../engine.ts";
import {
  asObject,
  idAt,
  type JsonObject,
  numberAt,
  objectAt,
  parseLine,
  stringAt,
} from "./json-line.ts";
import {
  brokenOff,
  type Complaint,
  outcome,
  outcomeOf,
  recognise,
  type Vendor,
  waiting,
} from "./limits.ts";
import { MAX_TEXT, targetOf, textStep, toolStep, Unknowns } from "./step-text.ts";
import { atLeast, modelName, moreThan, UNNAMED_MODEL, UsageSum } from "./usage-sum.ts";

const GEMINI: Vendor = {
  name: "gemini",
  login: "Run `gemini` and log in as the user the workers run as, or give them a GEMINI_API_KEY.",
  credit: "Add a plan or billing to the Google account gemini uses, then release the account.",
  quotasRefill: true,
};

/** The statuses gemini documents, and those its own errors have. */
const EXIT = { login: 41, input: 42, configuration: 52, turns: 53, untrusted: 55 };

/** `Attempt 1 failed with status 503. Retrying with backoff... …`; a limit, on several lines. */
const AGAIN = /^Attempt \d+ failed\b(?!.*\bMax attempts reached)/;
const RETRY_IN = /\bRetrying after \d+ms/;

const TURNS = /maximum session turns|max session turns/i;

export class GeminiReader implements StreamReader {
  readonly #now: () => number;
  readonly #unknowns = new Unknowns();
  #model: string;
  #session: string | null = null;
  /** What it is saying, in pieces, until it does something else. */
  #saying = "";
  #text = "";
  #error: Complaint | null = null;
  /** By its session file, which tells each answer, some of them twice. */
  readonly #sum = new UsageSum();
  readonly #messages = new Map<string, Tokens>();
  /** Emitted from the result, by model, before the session file had it: it may be read late. */
  readonly #ahead = new Map<string, Tokens>();
  #usage: ModelUsage[] | null = null;
  #status: string | null = null;
  #waitsFor: Waiting | null = null;
  #trying = "";

  get session(): string | null {
    return this.#session;
  }

  get waitsFor(): Waiting | null {
    return this.#waitsFor;
  }

  get isOver(): boolean {
    return this.#status !== null;
  }

  constructor(request: EngineRequest, now: () => number) {
    this.#now = now;
    this.#model = request.model ?? UNNAMED_MODEL;
  }

  line(text: string): Step[] {
    const event = parseLine(text);
    if (event === null) return this.#unknowns.line(text);
    const type = stringAt(event, "type");
    this.#waitsFor = null;
    switch (type) {
      case "init":
        this.#session = idAt(event, "session_id") ?? this.#session;
        this.#model = modelName(stringAt(event, "model")) ?? this.#model;
        return [];
      case "message":
        return this.#message(event);
      case "tool_use": {
        const tool = stringAt(event, "tool_name") ?? "unknown";
        return [...this.#said(), toolStep(tool, targetOf(objectAt(event, "parameters")))];
      }
      case "tool_result":
        return [];
      case "error":
        return this.#complained(event);
      case "result":
        return this.#ended(event);
      default:
        return this.#unknowns.event(type);
    }
  }

  /** What it tries again it says only here. */
  stderr(text: string): void {
    const isMore = this.#waitsFor !== null && RETRY_IN.test(text);
    if (!isMore && !AGAIN.test(text)) return;
    this.#trying = isMore ? `${this.#trying} ${text}` : text;
    this.#waitsFor = waiting({ message: this.#trying }, GEMINI, this.#now());
  }

  /** Its session file, and those of its subagents. */
  logLine(text: string, isPast: boolean): Step[] {
    if (!text.includes('"tokens"')) return [];
    const event = parseLine(text);
    const id = idAt(event, "id");
    const usage = messageUsage(event, this.#model);
    if (id === null || usage === null) return [];
    const before = this.#messages.get(id) ?? NO_TOKENS;
    const more = moreThan(before, usage);
    this.#messages.set(id, addTokens(before, more ?? NO_TOKENS));
    if (isPast || more === null) return [];
    this.#sum.add({ ...usage, ...more });
    const ahead = this.#ahead.get(usage.model) ?? NO_TOKENS;
    this.#ahead.set(usage.model, moreThan(more, ahead) ?? NO_TOKENS);
    const fresh = moreThan(ahead, more);
    return fresh === null ? [] : [{ kind: "notice", usage: { ...usage, ...fresh } }];
  }

  end(exit: EngineExit): EngineResult {
    this.#said();
    return {
      outcome: this.#outcome(exit),
      text: this.#text,
      session: this.#session,
      usage: this.#usage ? atLeast(this.#usage, this.#sum.get() ?? []) : this.#sum.get(),
      unknown: this.#unknowns.count,
    };
  }

  #message(event: JsonObject): Step[] {
    if (stringAt(event, "role") !== "assistant") return [];
    const content = stringAt(event, "content") ?? "";
    const before = event.delta === true ? [] : this.#said();
    this.#saying += content.slice(0, MAX_TEXT - this.#saying.length);
    return before;
  }

  #said(): Step[] {
    const text = this.#saying;
    this.#saying = "";
    if (text.trim() === "") return [];
    this.#text = text;
    return [textStep("text", text)];
  }

  #complained(event: JsonObject): Step[] {
    const message = stringAt(event, "message") ?? "";
    if (stringAt(event, "severity") === "error") this.#error = { message };
    return [textStep("notice", message)];
  }

  #ended(event: JsonObject): Step[] {
    const steps = this.#said();
    this.#status = stringAt(event, "status") ?? "error";
    const message = stringAt(objectAt(event, "error"), "message");
    if (message !== null) this.#error = { message };
    this.#usage = geminiUsage(objectAt(event, "stats"), this.#model);
    const read = this.#sum.get() ?? [];
    for (const usage of this.#usage ?? []) {
      const same = read.find(({ model }) => model === usage.model) ?? NO_TOKENS;
      const ahead = this.#ahead.get(usage.model) ?? NO_TOKENS;
      const more = moreThan(addTokens(same, ahead), usage);
      if (more === null) continue;
      this.#ahead.set(usage.model, addTokens(ahead, more));
      steps.push({ kind: "notice", text: "the run is over", usage: { ...usage, ...more } });
    }
    return steps;
  }

  #outcome(exit: EngineExit): EngineOutcome {
    const now = this.#now();
    const complaint = this.#error ?? { message: exit.stderr };
    if (exit.exit === EXIT.turns || TURNS.test(this.#error?.message ?? "")) {
      return { kind: "turn_limit", message: "gemini used up the turns its settings allow" };
    }
    if (this.#status === "success") return { kind: "done" };
    if (exit.exit === EXIT.login) return outcome("unauthorized", complaint, GEMINI, now);
    if ([EXIT.input, EXIT.configuration, EXIT.untrusted].includes(exit.exit ?? 0)) {
      return recognise(complaint, GEMINI, now) ?? outcome("refused", complaint, GEMINI, now);
    }
    if (this.#status !== null) return outcomeOf(complaint, GEMINI, now);
    const complaints = this.#error === null ? [] : [this.#error];
    return brokenOff(exit, complaints, this.#unknowns.lastLines, GEMINI, now);
  }
}

/** The tokens of a whole run, by model where this version of gemini tells them apart. */
export function geminiUsage(stats: JsonObject | null, model: string): ModelUsage[] | null {
  const byModel = Object.entries(objectAt(stats, "models") ?? {}).flatMap(([name, value]) => {
    const usage = tokens(asObject(value), modelName(name) ?? model);
    return usage === null ? [] : [usage];
  });
  if (byModel.length > 0) return byModel;
  const usage = tokens(stats, model);
  return usage === null ? null : [usage];
}

/** Of one answer, as the session file has it. */
export function messageUsage(message: JsonObject | null, model: string): ModelUsage | null {
  const used = objectAt(message, "tokens");
  const prompt = numberAt(used, "input");
  if (prompt === null) return null;
  const cacheRead = numberAt(used, "cached") ?? 0;
  const said = (numberAt(used, "output") ?? 0) + (numberAt(used, "thoughts") ?? 0);
  return {
    model: modelName(stringAt(message, "model")) ?? model,
    input: Math.max(0, prompt - cacheRead),
    output: Math.max(said, (numberAt(used, "total") ?? 0) - prompt),
    cacheRead,
    cacheWrite: 0,
    usd: null,
    prompt,
  };
}

/** `output_tokens` leaves out the thoughts, which cost as much; the total has them in. */
function tokens(stats: JsonObject | null, model: string): ModelUsage | null {
  const prompt = numberAt(stats, "input_tokens");
  const total = numberAt(stats, "total_tokens");
  if (prompt === null && total === null) return null;
  const cacheRead = numberAt(stats, "cached") ?? 0;
  const said = numberAt(stats, "output_tokens") ?? 0;
  return {
    model,
    input: Math.max(0, (prompt ?? 0) - cacheRead),
    output: Math.max(said, (total ?? 0) - (prompt ?? 0)),
    cacheRead,
    cacheWrite: 0,
    usd: null,
  };
}
