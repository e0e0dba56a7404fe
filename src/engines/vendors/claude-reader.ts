import {
  addTokens,
  type ModelUsage,
  NO_TOKENS,
  type SessionUsed,
  type Tokens,
} from "../costs/usage.ts";
import type {
  EngineExit,
  EngineOutcome,
  EngineRequest,
  EngineResult,
  Step,
  StreamReader,
  Waiting,
} from "../engine.ts";
import { addUsage, claudeUsage, messageTokens, runUsage } from "./claude-usage.ts";
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
import {
  brokenOff,
  type Complaint,
  failed,
  outcome,
  outcomeOf,
  recognise,
  type Vendor,
  waiting,
} from "./limits.ts";
import { epochMs } from "./limits-reset.ts";
import { targetOf, textStep, toolStep, Unknowns } from "./step-text.ts";
import { modelName, moreThan, UNNAMED_MODEL, UsageSum, usageOfRun } from "./usage-sum.ts";

const CLAUDE: Vendor = {
  name: "claude",
  login:
    "Run `claude` and then /login as the user the workers run as, or give them a valid ANTHROPIC_API_KEY.",
  credit: "Add credit or a plan to the account claude is logged in to, then release the account.",
};

/** Events that say nothing a person waits for. */
const SILENT = new Set([
  "user",
  "tool_progress",
  "tool_use_summary",
  "keep_alive",
  "auth_status",
  "prompt_suggestion",
  "control_request",
  "control_response",
]);

/** The pieces of an answer: thousands of lines, and none says what was used. */
export const CLAUDE_NOISE = '{"type":"stream_event","event":{"type":"content_block_';

/** Since this version a resumed run's totals are the session's. */
const SESSION_TOTALS_SINCE = [2, 1, 277];

/** A message comes in several events, close together; so few need to be remembered. */
const MAX_MESSAGES = 256;

export class ClaudeReader implements StreamReader {
  readonly #now: () => number;
  readonly #request: EngineRequest;
  readonly #unknowns = new Unknowns();
  readonly #sum = new UsageSum();
  readonly #messages = new Map<string, Tokens>();
  /** The message under way, by its author: the agent itself, or one of its subagents. */
  readonly #saying = new Map<string, JsonObject>();
  #isSessions = false;
  /** One process may end several turns, and tells of each what it has used since the last. */
  #run: ModelUsage[] | null = null;
  #session: string | null = null;
  #model = UNNAMED_MODEL;
  #text = "";
  /** What the last message was marked with, when it was the vendor's and no model's. */
  #error: { word: string; text: string } | null = null;
  #rejection: { until: number | null; limit: string } | null = null;
  #result: JsonObject | null = null;
  #waitsFor: Waiting | null = null;

  get session(): string | null {
    return this.#session;
  }

  get waitsFor(): Waiting | null {
    return this.#waitsFor;
  }

  get isOver(): boolean {
    return this.#result !== null;
  }

  constructor(request: EngineRequest, now: () => number) {
    this.#request = request;
    this.#now = now;
  }

  line(text: string): Step[] {
    if (text.startsWith(CLAUDE_NOISE)) return [];
    const event = parseLine(text);
    if (event === null) return this.#unknowns.line(text);
    const type = stringAt(event, "type");
    this.#session = idAt(event, "session_id") ?? this.#session;
    if (type === "assistant") return this.#assistant(event);
    if (type === "system") return this.#system(event);
    if (type !== "rate_limit_event") this.#waitsFor = null;
    if (type === "rate_limit_event") return this.#rateLimit(event);
    if (type === "stream_event") return this.#partial(event);
    if (type === "result") {
      this.#result = event;
      const run = runUsage(event);
      if (run !== null) this.#run = addUsage(this.#run, run);
      return [];
    }
    return type !== null && SILENT.has(type) ? [] : this.#unknowns.event(type);
  }

  /** The transcripts of its subagents: of these the stream tells less, or nothing. */
  logLine(text: string, isPast: boolean): Step[] {
    if (isPast || !text.includes('"assistant"')) return [];
    const event = parseLine(text);
    if (stringAt(event, "type") !== "assistant") return [];
    return this.#usedStep(objectAt(event, "message"));
  }

  end(exit: EngineExit): EngineResult {
    const total = this.#result && claudeUsage(this.#result, this.#model);
    const isSessions = this.#isSessions || this.#run !== null;
    const told = { total, isSessions, run: this.#run };
    return {
      outcome: this.#outcome(exit),
      text: stringAt(this.#result, "result") ?? this.#text,
      session: this.#session,
      usage: usageOfRun(told, this.#sum.get(), this.#before()),
      sessionTotal: isSessions ? (total ?? undefined) : undefined,
      unknown: this.#unknowns.count,
    };
  }

  /** Not of a session that could not be resumed after all. A new one has used nothing. */
  #before(): SessionUsed | undefined {
    const { resume, resumeUsed } = this.#request;
    if (resume === null || resume !== this.#session) return { total: [], since: [] };
    return resumeUsed;
  }

  /** `assistant` events carry the count of the message's start; how long it became is told here. */
  #partial(event: JsonObject): Step[] {
    const inner = objectAt(event, "event");
    const by = stringAt(event, "parent_tool_use_id") ?? "";
    const type = stringAt(inner, "type");
    if (type === "message_start") {
      const message = objectAt(inner, "message");
      if (message === null) return [];
      this.#saying.set(by, message);
      return this.#usedStep(message).map((step) => ({ ...step, isBegun: true }));
    }
    const message = this.#saying.get(by);
    const usage = objectAt(inner, "usage");
    if (type !== "message_delta" || message === undefined || usage === null) return [];
    this.#saying.delete(by);
    return this.#usedStep({ ...message, usage: { ...objectAt(message, "usage"), ...usage } });
  }

  #usedStep(message: JsonObject | null): Step[] {
    const usage = this.#used(message);
    if (usage === null) return [];
    this.#sum.add(usage);
    return [{ kind: "notice", usage }];
  }

  #system(event: JsonObject): Step[] {
    const subtype = stringAt(event, "subtype");
    if (subtype === "init") {
      this.#model = modelName(stringAt(event, "model")) ?? this.#model;
      this.#isSessions = isAtLeast(stringAt(event, "claude_code_version"), SESSION_TOTALS_SINCE);
    }
    if (subtype !== "api_retry") return [];
    const status = numberAt(event, "error_status");
    const word = stringAt(event, "error");
    const why = status === null ? "no connection" : [status, word].filter(Boolean).join(" ");
    const attempt = numberAt(event, "attempt");
    const pause = numberAt(event, "retry_delay_ms");
    const until = pause === null ? null : this.#now() + pause;
    const known = waiting({ message: `no answer: ${why}`, status, until }, CLAUDE, this.#now());
    // The first may be a login that has run out, and that claude renews before it tries again.
    this.#waitsFor = { ...known, isFinal: known.isFinal && (attempt ?? 2) > 1 };
    return [textStep("notice", `attempt ${attempt ?? "?"} failed: ${why}`)];
  }

  #assistant(event: JsonObject): Step[] {
    this.#waitsFor = null;
    const message = objectAt(event, "message");
    const steps: Step[] = [];
    let said = "";
    for (const item of listAt(message, "content")) {
      const block = asObject(item);
      const type = stringAt(block, "type");
      if (type === "text") {
        const text = stringAt(block, "text") ?? "";
        said += text;
        if (text.trim() !== "") steps.push(textStep("text", text));
      } else if (type === "thinking") {
        steps.push(textStep("thought", stringAt(block, "thinking") ?? ""));
      } else if (type === "tool_use" || type === "server_tool_use") {
        const tool = stringAt(block, "name") ?? "unknown";
        steps.push(toolStep(tool, targetOf(objectAt(block, "input"))));
      }
    }
    const word = stringAt(event, "error");
    this.#error = word === null ? null : { word, text: said };
    // A subagent's words are not the answer.
    if (said !== "" && stringAt(event, "parent_tool_use_id") === null) this.#text = said;
    const usage = this.#used(message);
    if (usage !== null) {
      this.#sum.add(usage);
      if (steps.length === 0) steps.push({ kind: "thought" });
      steps[0] = { ...(steps[0] as Step), usage };
    }
    return steps;
  }

  /** Each event of a message repeats the usage of the whole: only what is new counts. */
  #used(message: JsonObject | null): ModelUsage | null {
    const tokens = messageTokens(objectAt(message, "usage"));
    const id = idAt(message, "id");
    if (tokens === null) return null;
    const before = (id !== null && this.#messages.get(id)) || NO_TOKENS;
    const more = moreThan(before, tokens);
    if (id !== null) {
      this.#messages.delete(id);
      this.#messages.set(id, addTokens(before, more ?? NO_TOKENS));
      const [oldest] = this.#messages.keys();
      if (this.#messages.size > MAX_MESSAGES && oldest !== undefined) this.#messages.delete(oldest);
    }
    const prompt = tokens.input + tokens.cacheRead + tokens.cacheWrite;
    const model = modelName(stringAt(message, "model")) ?? this.#model;
    return more && { model, ...more, usd: null, prompt };
  }

  #rateLimit(event: JsonObject): Step[] {
    const info = objectAt(event, "rate_limit_info");
    const status = stringAt(info, "status");
    const limit = stringAt(info, "rateLimitType") ?? "usage";
    // What goes over the limit may still be served, on the account's extra usage.
    const served = info?.isUsingOverage === true && stringAt(info, "overageStatus") !== "rejected";
    if (status === "rejected" && !served) {
      const at = numberAt(info, "resetsAt");
      this.#rejection = { until: at === null ? null : epochMs(at), limit };
      return [textStep("notice", `the ${limit} limit is reached`)];
    }
    this.#rejection = null;
    return status === "allowed_warning" ? [textStep("notice", `the ${limit} limit is near`)] : [];
  }

  #outcome(exit: EngineExit): EngineOutcome {
    const now = this.#now();
    const result = this.#result;
    if (result === null) {
      return (
        this.#named(this.#error?.text ?? "") ??
        (this.#rejection && this.#limited(`the ${this.#rejection.limit} limit is reached`)) ??
        brokenOff(exit, [], this.#unknowns.lastLines, CLAUDE, now)
      );
    }
    const subtype = stringAt(result, "subtype");
    const errors = listAt(result, "errors").filter((item) => typeof item === "string");
    const text = [stringAt(result, "result") ?? "", ...errors].join("\n").trim();
    if (subtype === "error_max_turns") {
      return { kind: "turn_limit", message: "claude used up the turns it was given" };
    }
    if (subtype === "error_max_budget_usd") {
      return { kind: "failed", message: "claude used up the dollars it was given" };
    }
    const isBad = result.is_error === true || subtype !== "success" || OLD_LIMIT.test(text);
    if (!isBad && this.#error === null) return { kind: "done" };
    const status = numberAt(result, "api_error_status");
    const complaint: Complaint = { message: text, status, until: this.#rejection?.until ?? null };
    return (
      this.#named(text) ??
      recognise(complaint, CLAUDE, now) ??
      (this.#rejection === null ? null : this.#limited(text)) ??
      (text === ""
        ? failed(`ended with ${subtype ?? "an error"}`, CLAUDE)
        : outcomeOf(complaint, CLAUDE, now))
    );
  }

  /** The causes the vendor marks its own messages with. */
  #named(text: string): EngineOutcome | null {
    const complaint = { message: text, until: this.#rejection?.until ?? null };
    const word = this.#error?.word;
    if (word === "authentication_failed" || word === "oauth_org_not_allowed") {
      return outcome("unauthorized", complaint, CLAUDE, this.#now());
    }
    if (word === "billing_error") return outcome("quota", complaint, CLAUDE, this.#now());
    if (word === "model_not_found") return outcome("refused", complaint, CLAUDE, this.#now());
    if (word === "overloaded" || word === "server_error") {
      return outcome("unavailable", complaint, CLAUDE, this.#now());
    }
    return word === "rate_limit" ? this.#limited(text) : null;
  }

  #limited(message: string): EngineOutcome {
    const complaint = { message, until: this.#rejection?.until ?? null };
    return outcome("rate_limited", complaint, CLAUDE, this.#now());
  }
}

/** Older versions report the limit as a success, with this for an answer. */
const OLD_LIMIT = /^Claude AI usage limit reached\|\d+$/;

function isAtLeast(version: string | null, wanted: readonly number[]): boolean {
  const parts = /^(\d+)\.(\d+)\.(\d+)/
    .exec(version ?? "")
    ?.slice(1)
    .map(Number);
  if (parts === undefined) return false;
  const at = parts.findIndex((part, i) => part !== wanted[i]);
  return at < 0 || (parts[at] ?? 0) > (wanted[at] ?? 0);
}
