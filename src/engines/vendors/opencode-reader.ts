import type { ModelUsage } from "../costs/usage.ts";
import type {
  EngineExit,
  EngineOutcome,
  EngineRequest,
  EngineResult,
  Step,
  StreamReader,
  Waiting,
} from "../engine.ts";
import { idAt, type JsonObject, numberAt, objectAt, parseLine, stringAt } from "./json-line.ts";
import { brokenOff, type Complaint, outcome, outcomeOf, type Vendor, waiting } from "./limits.ts";
import { MAX_TEXT, targetOf, textStep, toolStep, Unknowns } from "./step-text.ts";
import { UNNAMED_MODEL, UsageSum } from "./usage-sum.ts";

const OPENCODE: Vendor = {
  name: "opencode",
  login:
    "Run `opencode auth login` as the user the workers run as, or give them the provider's key.",
  credit: "Add credit to the account of the provider opencode uses, then release the account.",
};

export class OpencodeReader implements StreamReader {
  readonly #now: () => number;
  readonly #model: string;
  readonly #unknowns = new Unknowns();
  readonly #sum = new UsageSum();
  #session: string | null = null;
  #message: string | null = null;
  #text = "";
  #error: { name: string; complaint: Complaint } | null = null;
  /** Why the last step ended; a run is over when it was not to call tools. */
  #reason: string | null = null;
  #isDone = false;
  #waitsFor: Waiting | null = null;

  get session(): string | null {
    return this.#session;
  }

  get waitsFor(): Waiting | null {
    return this.#waitsFor;
  }

  get isOver(): boolean {
    return this.#isDone || (this.#reason !== null && this.#reason !== "tool-calls");
  }

  constructor(request: EngineRequest, now: () => number) {
    this.#now = now;
    this.#model = request.model ?? UNNAMED_MODEL;
  }

  line(text: string): Step[] {
    const event = parseLine(text);
    if (event === null) return this.#unknowns.line(text);
    this.#session = idAt(event, "sessionID") ?? this.#session;
    this.#waitsFor = null;
    const type = stringAt(event, "type");
    const part = objectAt(event, "part");
    switch (type) {
      case "step_start":
        this.#reason = null;
        return [];
      case "text":
        return this.#said(part);
      case "reasoning":
        return [textStep("thought", stringAt(part, "text") ?? "")];
      case "tool_use": {
        const tool = stringAt(part, "tool") ?? "unknown";
        const state = objectAt(part, "state");
        return [toolStep(tool, targetOf(objectAt(state, "input")) ?? stringAt(state, "title"))];
      }
      case "step_finish":
        return this.#finished(part);
      case "error":
        return this.#complained(objectAt(event, "error"));
      case "done":
        this.#isDone = true;
        return [];
      default:
        return this.#unknowns.event(type);
    }
  }

  /** What it tries again is nowhere but in its log. A title that could not be made matters to nobody. */
  stderr(text: string): void {
    if (!text.includes('message="stream error"') || /\bsmall=true\b/.test(text)) return;
    const said = /\berror\.error="((?:[^"\\]|\\.)*)/.exec(text)?.[1] ?? "";
    const message = said.replace(/\\(.)/g, "$1").replace(/^AI_\w+: /, "");
    this.#waitsFor = waiting({ message }, OPENCODE, this.#now());
  }

  end(exit: EngineExit): EngineResult {
    return {
      outcome: this.#outcome(exit),
      text: this.#text,
      session: this.#session,
      usage: this.#sum.get(),
      unknown: this.#unknowns.count,
    };
  }

  /** The answer is all that the last message says, in one part or in several. */
  #said(part: JsonObject | null): Step[] {
    const text = stringAt(part, "text") ?? "";
    const message = stringAt(part, "messageID");
    const isSame = message !== null && message === this.#message;
    this.#message = message;
    this.#text = isSame ? (this.#text + text).slice(0, MAX_TEXT) : text;
    return text.trim() === "" ? [] : [textStep("text", text)];
  }

  #finished(part: JsonObject | null): Step[] {
    this.#reason = stringAt(part, "reason") ?? "unknown";
    const usage = stepUsage(part, this.#model);
    if (usage === null) return [];
    this.#sum.add(usage);
    return [{ kind: "notice", text: "a step is done", usage }];
  }

  #complained(error: JsonObject | null): Step[] {
    const data = objectAt(error, "data");
    const name = stringAt(error, "name") ?? "an error";
    const said = stringAt(data, "message") ?? stringAt(error, "message") ?? name;
    const complaint: Complaint = {
      message: [said, stringAt(data, "responseBody")].filter(Boolean).join(" "),
      status: numberAt(data, "statusCode"),
      until: this.#retryAt(objectAt(data, "responseHeaders")),
    };
    this.#error = { name, complaint };
    return [textStep("notice", said)];
  }

  #retryAt(headers: JsonObject | null): number | null {
    const millis = Number(stringAt(headers, "retry-after-ms") ?? Number.NaN);
    const seconds = Number(stringAt(headers, "retry-after") ?? Number.NaN);
    const wait = millis > 0 ? millis : seconds > 0 ? seconds * 1000 : null;
    return wait === null ? null : this.#now() + wait;
  }

  #outcome(exit: EngineExit): EngineOutcome {
    const now = this.#now();
    if (this.#error !== null) {
      const { name, complaint } = this.#error;
      if (name === "ProviderAuthError") return outcome("unauthorized", complaint, OPENCODE, now);
      if (name === "ProviderModelNotFoundError")
        return outcome("refused", complaint, OPENCODE, now);
      return outcomeOf(complaint, OPENCODE, now);
    }
    if (this.isOver && exit.exit === 0) return { kind: "done" };
    return brokenOff(exit, [], this.#unknowns.lastLines, OPENCODE, now);
  }
}

function stepUsage(part: JsonObject | null, model: string): ModelUsage | null {
  const tokens = objectAt(part, "tokens");
  const usd = numberAt(part, "cost");
  if (tokens === null && usd === null) return null;
  const cache = objectAt(tokens, "cache");
  return {
    model,
    input: numberAt(tokens, "input") ?? 0,
    output: (numberAt(tokens, "output") ?? 0) + (numberAt(tokens, "reasoning") ?? 0),
    cacheRead: numberAt(cache, "read") ?? 0,
    cacheWrite: numberAt(cache, "write") ?? 0,
    usd,
  };
}
