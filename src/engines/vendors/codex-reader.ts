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
  listAt,
  numberAt,
  objectAt,
  parseLine,
  stringAt,
} from "./json-line.ts";
import { brokenOff, type Complaint, outcomeOf, type Vendor, waiting } from "./limits.ts";
import { targetOf, textStep, toolStep, Unknowns } from "./step-text.ts";
import { modelName, moreThan, mostOf, sumOf, UNNAMED_MODEL } from "./usage-sum.ts";

const CODEX: Vendor = {
  name: "codex",
  login: "Run `codex login` as the user the workers run as, or give them a valid CODEX_API_KEY.",
  credit: "Add credit or a plan to the account codex is logged in to, then release the account.",
};

/** `Reconnecting... 2/5 (…)`, `Reconnecting... waiting for network (…)`: it is not at its end. */
const AGAIN = /^Reconnecting\b[^(]*(?:\((.*)\))?$/s;
/** Of its log, at level WARN: `retrying sampling request (1/5 in 3599.99s)`. */
const RETRY_IN = /\bretrying [^(]{0,40}\(\d+\/\d+ in (\d+(?:\.\d+)?)s\)/;

/** Items that have begun; so few need to be remembered to tell no call twice. */
const MAX_ITEMS = 256;

export class CodexReader implements StreamReader {
  readonly #now: () => number;
  #model: string;
  readonly #unknowns = new Unknowns();
  readonly #begun = new Set<string>();
  /** The thread's counters when this run began: they go on where an earlier run left them. */
  #before: Tokens;
  /** The last counters that were told. */
  #thread: Tokens | null = null;
  /** By the answers that its session file has told, each for itself. */
  #answers: Tokens | null = null;
  #used: Tokens | null = null;
  #session: string | null = null;
  #text = "";
  #error: Complaint | null = null;
  #last: "completed" | "failed" | null = null;
  #waitsFor: Complaint | null = null;
  /** When it tries again: it says so on stderr alone. */
  #until: number | null = null;

  get session(): string | null {
    return this.#session;
  }

  get waitsFor(): Waiting | null {
    if (this.#waitsFor === null) return null;
    return waiting({ ...this.#waitsFor, until: this.#until }, CODEX, this.#now());
  }

  get isOver(): boolean {
    return this.#last !== null;
  }

  constructor(request: EngineRequest, now: () => number) {
    this.#now = now;
    this.#model = request.model ?? UNNAMED_MODEL;
    const { resume, resumeUsed } = request;
    const isCounted = resume !== null && resumeUsed !== undefined;
    this.#before = isCounted ? sumOf([...resumeUsed.total, ...resumeUsed.since]) : NO_TOKENS;
  }

  line(text: string): Step[] {
    const event = parseLine(text);
    if (event === null) return this.#unknowns.line(text);
    const type = stringAt(event, "type");
    if (type !== "error") {
      this.#waitsFor = null;
      this.#until = null;
    }
    switch (type) {
      case "thread.started":
        this.#session = idAt(event, "thread_id") ?? this.#session;
        return [];
      case "turn.started":
        this.#last = null;
        return [];
      case "turn.completed":
        this.#last = "completed";
        return this.#completed(tokensOf(objectAt(event, "usage")));
      case "turn.failed":
        this.#last = "failed";
        this.#error = complaintOf(stringAt(objectAt(event, "error"), "message") ?? "");
        return [];
      case "error":
        // Also while it tries again; whether it was fatal is told by what comes after.
        this.#error = complaintOf(stringAt(event, "message") ?? "");
        this.#waitsFor = tryingAgain(this.#error.message);
        return [textStep("notice", this.#error.message)];
      case "item.started":
      case "item.updated":
      case "item.completed":
        return this.#item(type, objectAt(event, "item"));
      default:
        return this.#unknowns.event(type);
    }
  }

  stderr(text: string): void {
    const seconds = RETRY_IN.exec(text)?.[1];
    if (seconds !== undefined) this.#until = this.#now() + Number(seconds) * 1000;
  }

  /**
   * Its session file. A record for each answer is certain; the counters of the thread are not: of a run
   * that was killed while a tool ran, they go on without its last answer.
   */
  logLine(text: string, isPast: boolean): Step[] {
    const event = LOGGED.test(text) ? parseLine(text) : null;
    const payload = objectAt(event, "payload");
    const type = stringAt(event, "type");
    if (type === "turn_context") {
      this.#model = modelName(stringAt(payload, "model")) ?? this.#model;
      return [];
    }
    if (type === "token_usage_record") {
      const answer = tokensOf(objectAt(payload, "usage"));
      if (isPast || answer === null) return [];
      this.#answers = addTokens(this.#answers ?? NO_TOKENS, answer);
      return this.#count("", promptOf(answer));
    }
    const info = objectAt(payload, "info");
    const thread = tokensOf(objectAt(info, "total_token_usage"));
    if (thread === null) return [];
    if (isPast) this.#before = thread;
    else this.#thread = thread;
    return isPast ? [] : this.#count("", promptOf(tokensOf(objectAt(info, "last_token_usage"))));
  }

  end(exit: EngineExit): EngineResult {
    return {
      outcome: this.#outcome(exit),
      text: this.#text,
      session: this.#session,
      usage: this.#used && [this.#usage(this.#used)],
      sessionTotal: this.#thread ? [this.#usage(this.#thread)] : undefined,
      unknown: this.#unknowns.count,
    };
  }

  #item(type: string, item: JsonObject | null): Step[] {
    const { step, answer, isKnown } = codexItem(item);
    if (!isKnown) return this.#unknowns.event(`${type} ${stringAt(item, "type") ?? ""}`);
    if (step === null) return [];
    if (step.kind !== "tool") {
      if (type !== "item.completed") return [];
      if (answer !== null) this.#text = answer;
      return [step];
    }
    // A call is told when it begins; what has no beginning, when it is over.
    const id = idAt(item, "id") ?? "";
    if (type === "item.updated" || (type === "item.completed" && this.#begun.delete(id))) return [];
    if (type === "item.started") {
      this.#begun.add(id);
      const [oldest] = this.#begun;
      if (this.#begun.size > MAX_ITEMS && oldest !== undefined) this.#begun.delete(oldest);
    }
    return [step];
  }

  /** The counters are the whole thread's. */
  #completed(thread: Tokens | null): Step[] {
    if (thread === null) return [];
    this.#thread = thread;
    return this.#count("the turn is done");
  }

  /** What the answers add up to, or what the thread's counters say, whichever is more. */
  #count(text: string, prompt?: number): Step[] {
    const counted = this.#thread && (moreThan(this.#before, this.#thread) ?? NO_TOKENS);
    const used = mostOf(mostOf(this.#answers ?? NO_TOKENS, counted ?? NO_TOKENS), this.#used);
    const more = moreThan(this.#used ?? NO_TOKENS, used);
    this.#used = used;
    if (more === null) return [];
    return [{ kind: "notice", text: text || undefined, usage: { ...this.#usage(more), prompt } }];
  }

  #usage(tokens: Tokens): ModelUsage {
    return { model: this.#model, ...tokens, usd: null };
  }

  #outcome(exit: EngineExit): EngineOutcome {
    if (this.#last === "completed" && exit.exit === 0) return { kind: "done" };
    if (this.#last === "failed" && this.#error !== null) {
      return outcomeOf(this.#error, CODEX, this.#now());
    }
    const complaints = this.#error === null ? [] : [this.#error];
    return brokenOff(exit, complaints, this.#unknowns.lastLines, CODEX, this.#now());
  }
}

function tryingAgain(message: string): Complaint | null {
  const found = AGAIN.exec(message);
  return found && { message: found[1] ?? message };
}

/** Of a session file's lines, which may be whole files: the few that matter. */
const LOGGED = /^.{0,200}"type":"(token_usage_record|event_msg|turn_context)"/;

/** As codex counts: cached tokens within the input. */
function tokensOf(usage: JsonObject | null): Tokens | null {
  const all = numberAt(usage, "input_tokens");
  if (all === null) return null;
  const cacheRead = numberAt(usage, "cached_input_tokens") ?? 0;
  const cacheWrite = numberAt(usage, "cache_write_input_tokens") ?? 0;
  const input = Math.max(0, all - cacheRead - cacheWrite);
  return { input, output: numberAt(usage, "output_tokens") ?? 0, cacheRead, cacheWrite };
}

function promptOf(answer: Tokens | null): number | undefined {
  return answer ? answer.input + answer.cacheRead + answer.cacheWrite : undefined;
}

/** A message may be the API's answer as it came: then what it says is inside. */
function complaintOf(message: string): Complaint {
  const answer = parseLine(message);
  const inner = stringAt(objectAt(answer, "error"), "message") ?? stringAt(answer, "detail");
  return inner === null ? { message } : { message: inner, status: numberAt(answer, "status") };
}

export interface CodexItem {
  step: Step | null;
  /** What it said, when it is a message. */
  answer: string | null;
  isKnown: boolean;
}

/** One thing in a thread: a message, a thought, a call of a tool. */
export function codexItem(item: JsonObject | null): CodexItem {
  const text = stringAt(item, "text") ?? "";
  switch (stringAt(item, "type")) {
    case "agent_message":
      return { step: textStep("text", text), answer: text, isKnown: true };
    case "reasoning":
    case "plan":
      return known(textStep("thought", text));
    case "command_execution":
      return known(toolStep("shell", innerCommand(stringAt(item, "command") ?? "")));
    case "file_change":
      return known(toolStep("edit", changedPaths(item)));
    case "mcp_tool_call": {
      const name = [stringAt(item, "server"), stringAt(item, "tool")].filter(Boolean).join(".");
      return known(toolStep(name, targetOf(objectAt(item, "arguments"))));
    }
    case "collab_tool_call":
      return known(toolStep(stringAt(item, "tool") ?? "agent", stringAt(item, "prompt")));
    case "web_search":
      return known(toolStep("web_search", stringAt(item, "query")));
    case "error":
      return known(textStep("notice", stringAt(item, "message") ?? ""));
    case "todo_list":
      return known(null);
    default:
      return { step: null, answer: null, isKnown: false };
  }
}

function known(step: Step | null): CodexItem {
  return { step, answer: null, isKnown: true };
}

/** `/bin/bash -lc 'npm test'` is `npm test` to a reader. */
function innerCommand(command: string): string {
  const [, quote, inner] = /^\S*\b(?:ba|z)?sh -l?c (['"]?)([\s\S]*)\1$/.exec(command) ?? [];
  return inner === undefined || (quote !== "" && inner === "") ? command : inner;
}

function changedPaths(item: JsonObject | null): string {
  return listAt(item, "changes")
    .map((change) => stringAt(asObject(change), "path"))
    .filter(Boolean)
    .slice(0, 20)
    .join(" ");
}
