import { type ModelUsage, NO_TOKENS, type SessionUsed, type Tokens } from "../costs/usage.ts";
import type { EngineExit, EngineOutcome, EngineRequest, EngineResult, Step } from "../engine.ts";
import {
  EventReader,
  Fields,
  parseLine,
  targetOf,
  textStep,
  toolStep,
  type Used,
} from "./event-reader.ts";
import { Diagnosis, epochMs, type Vendor } from "./limits.ts";
import {
  MessageTokens,
  modelName,
  moreThan,
  UNNAMED_MODEL,
  UsageSum,
  usageOfRun,
} from "./usage-sum.ts";

const CLAUDE: Vendor = {
  name: "claude",
  login:
    "Run `claude` and then /login as the user the workers run as, or give them a valid ANTHROPIC_API_KEY.",
  credit: "Add credit or a plan to the account claude is logged in to, then release the account.",
};

/** Events without news for a person. */
const SILENT = new Set([
  ...["user", "tool_progress", "tool_use_summary", "keep_alive", "auth_status"],
  ...["prompt_suggestion", "control_request", "control_response"],
]);

/** The pieces of an answer: thousands of lines, none with usage. */
export const CLAUDE_NOISE = '{"type":"stream_event","event":{"type":"content_block_';

/** Since this version a resumed run's totals are the session's. */
const SESSION_TOTALS_SINCE = [2, 1, 277];

/** Older versions report the limit as a success, with this for an answer. */
const OLD_LIMIT = /^Claude AI usage limit reached\|\d+$/;

/** The words that mark messages of the vendor itself. */
const MARKED = {
  authentication_failed: "unauthorized",
  oauth_org_not_allowed: "unauthorized",
  billing_error: "quota",
  model_not_found: "refused",
  overloaded: "unavailable",
  server_error: "unavailable",
  rate_limit: "rate_limited",
} as const;

export class ClaudeReader extends EventReader {
  readonly #now: () => number;
  readonly #diagnosis: Diagnosis;
  readonly #request: EngineRequest;
  readonly #sum = new UsageSum();
  /** The events of a message come close together. */
  readonly #messages = new MessageTokens(256);
  /** The message under way, by its author: the agent itself, or one of its subagents. */
  readonly #saying = new Map<string, Fields>();
  #isSessions = false;
  /** One process may end several turns, and reports each one's usage by itself. */
  #run: UsageSum | null = null;
  #model = UNNAMED_MODEL;
  /** The mark of the last message, when it was the vendor's and not a model's. */
  #error: { word: string; text: string } | null = null;
  #rejection: { until: number | null; limit: string } | null = null;
  #result: Fields | null = null;

  get isOver(): boolean {
    return this.#result !== null;
  }

  constructor(request: EngineRequest, now: () => number) {
    super();
    this.#request = request;
    this.#now = now;
    this.#diagnosis = new Diagnosis(CLAUDE, now);
  }

  override line(text: string): Step[] {
    return text.startsWith(CLAUDE_NOISE) ? [] : super.line(text);
  }

  protected read(type: string | null, event: Fields): Step[] | null {
    this.session = event.id("session_id") ?? this.session;
    if (type === "rate_limit_event") return this.#rateLimit(event);
    if (type === "system") return this.#system(event);
    this.waitsFor = null;
    if (type === "assistant") return this.#assistant(event);
    if (type === "stream_event") return this.#partial(event);
    if (type === "result") {
      this.#result = event;
      const run = event.at("model_usage_since_last_result");
      if (!run.isMissing) this.#run ??= new UsageSum();
      for (const usage of modelsIn(run, UNNAMED_MODEL)) this.#run?.add(usage);
      return [];
    }
    return type !== null && SILENT.has(type) ? [] : null;
  }

  /** The transcripts of its subagents: the stream has little or nothing of these. */
  logLine(text: string, isPast: boolean): Step[] {
    if (isPast || !text.includes('"assistant"')) return [];
    const event = parseLine(text);
    return event.string("type") === "assistant" ? this.#usedStep(event.at("message")) : [];
  }

  override end(exit: EngineExit): EngineResult {
    const result = super.end(exit);
    return { ...result, text: this.#result?.string("result") ?? result.text };
  }

  protected used(): Used {
    const total = this.#result && claudeUsage(this.#result, this.#model);
    const isSessions = this.#isSessions || this.#run !== null;
    const reported = { total, isSessions, run: this.#run && (this.#run.get() ?? []) };
    return {
      usage: usageOfRun(reported, this.#sum.get(), this.#before()),
      sessionTotal: isSessions ? (total ?? undefined) : undefined,
    };
  }

  /** A new session has used nothing, also when it replaces one that could not be resumed. */
  #before(): SessionUsed | undefined {
    const { resume, resumeUsed } = this.#request;
    if (resume === null || resume !== this.session) return { total: [], since: [] };
    return resumeUsed;
  }

  /** `assistant` events carry the count of the message's start; its length is reported here. */
  #partial(event: Fields): Step[] {
    const inner = event.at("event");
    const by = event.string("parent_tool_use_id") ?? "";
    const type = inner.string("type");
    if (type === "message_start") {
      const message = inner.at("message");
      if (message.isMissing) return [];
      this.#saying.set(by, message);
      return this.#usedStep(message).map((step) => ({ ...step, isBegun: true }));
    }
    const message = this.#saying.get(by);
    const usage = inner.at("usage");
    if (type !== "message_delta" || message === undefined || usage.isMissing) return [];
    this.#saying.delete(by);
    return this.#usedStep(message, usage.over(message.at("usage")));
  }

  #usedStep(message: Fields, used?: Fields): Step[] {
    const usage = this.#count(message, used);
    return usage === null ? [] : [{ kind: "notice", usage }];
  }

  #system(event: Fields): Step[] {
    const subtype = event.string("subtype");
    if (subtype === "init") {
      this.#model = modelName(event.string("model")) ?? this.#model;
      this.#isSessions = isAtLeast(event.string("claude_code_version"), SESSION_TOTALS_SINCE);
    }
    if (subtype !== "api_retry") return [];
    const status = event.number("error_status");
    const word = event.string("error");
    const why = status === null ? "no connection" : [status, word].filter(Boolean).join(" ");
    const attempt = event.number("attempt");
    const pause = event.number("retry_delay_ms");
    const until = pause === null ? null : this.#now() + pause;
    const waiting = this.#diagnosis.waiting({ message: `no answer: ${why}`, status, until });
    // The first may be an expired login, which claude renews before it tries again.
    this.waitsFor = { ...waiting, isFinal: waiting.isFinal && (attempt ?? 2) > 1 };
    return [textStep("notice", `attempt ${attempt ?? "?"} failed: ${why}`)];
  }

  #assistant(event: Fields): Step[] {
    const message = event.at("message");
    const steps: Step[] = [];
    let said = "";
    for (const item of message.list("content") ?? []) {
      const block = new Fields(item);
      const type = block.string("type");
      if (type === "text") {
        const text = block.string("text") ?? "";
        said += text;
        if (text.trim() !== "") steps.push(textStep("text", text));
      } else if (type === "thinking") {
        steps.push(textStep("thought", block.string("thinking") ?? ""));
      } else if (type === "tool_use" || type === "server_tool_use") {
        const tool = block.string("name") ?? "unknown";
        steps.push(toolStep(tool, targetOf(block.at("input"))));
      }
    }
    const word = event.string("error");
    this.#error = word === null ? null : { word, text: said };
    // A subagent's words are not the answer.
    if (said !== "" && event.string("parent_tool_use_id") === null) this.text = said;
    const usage = this.#count(message);
    if (usage !== null) steps[0] = { ...(steps[0] ?? { kind: "thought" }), usage };
    return steps;
  }

  /** Each event of a message repeats the usage of the whole message. */
  #count(message: Fields, used = message.at("usage")): ModelUsage | null {
    const tokens = messageTokens(used);
    if (tokens === null) return null;
    const id = message.id("id");
    const more = id === null ? moreThan(NO_TOKENS, tokens) : this.#messages.more(id, tokens);
    if (more === null) return null;
    const prompt = tokens.input + tokens.cacheRead + tokens.cacheWrite;
    const model = modelName(message.string("model")) ?? this.#model;
    const usage = { model, ...more, usd: null, prompt };
    this.#sum.add(usage);
    return usage;
  }

  #rateLimit(event: Fields): Step[] {
    const info = event.at("rate_limit_info");
    const status = info.string("status");
    const limit = info.string("rateLimitType") ?? "usage";
    // Requests over the limit may still be served, on the account's extra usage.
    const served = info.isTrue("isUsingOverage") && info.string("overageStatus") !== "rejected";
    if (status === "rejected" && !served) {
      const at = info.number("resetsAt");
      this.#rejection = { until: at === null ? null : epochMs(at), limit };
      return [textStep("notice", `the ${limit} limit is reached`)];
    }
    this.#rejection = null;
    return status === "allowed_warning" ? [textStep("notice", `the ${limit} limit is near`)] : [];
  }

  protected outcome(exit: EngineExit): EngineOutcome {
    const diagnosis = this.#diagnosis;
    const result = this.#result;
    const until = this.#rejection?.until ?? null;
    const limited = (message: string) =>
      this.#rejection && diagnosis.outcome("rate_limited", { message, until });
    if (result === null) {
      return (
        this.#marked(this.#error?.text ?? "") ??
        limited(`the ${this.#rejection?.limit} limit is reached`) ??
        diagnosis.brokenOff(exit, null, this.otherLines)
      );
    }
    const subtype = result.string("subtype");
    const errors = (result.list("errors") ?? []).filter((item) => typeof item === "string");
    const text = [result.string("result") ?? "", ...errors].join("\n").trim();
    if (subtype === "error_max_turns") {
      return { kind: "turn_limit", message: "claude used up the turns it was given" };
    }
    if (subtype === "error_max_budget_usd") {
      return { kind: "failed", message: "claude used up the dollars it was given" };
    }
    const isBad = result.isTrue("is_error") || subtype !== "success" || OLD_LIMIT.test(text);
    if (!isBad && this.#error === null) return { kind: "done" };
    const complaint = { message: text, status: result.number("api_error_status"), until };
    return (
      this.#marked(text) ??
      diagnosis.recognise(complaint) ??
      limited(text) ??
      diagnosis.failed(text === "" ? `ended with ${subtype ?? "an error"}` : text)
    );
  }

  #marked(message: string): EngineOutcome | null {
    const word = this.#error?.word ?? "";
    const cause = Object.hasOwn(MARKED, word) ? MARKED[word as keyof typeof MARKED] : null;
    const complaint = { message, until: this.#rejection?.until ?? null };
    return cause && this.#diagnosis.outcome(cause, complaint);
  }
}

function isAtLeast(version: string | null, wanted: readonly number[]): boolean {
  const [, ...parts] = /^(\d+)\.(\d+)\.(\d+)/.exec(version ?? "") ?? [];
  if (parts.length === 0) return false;
  const at = parts.findIndex((part, i) => Number(part) !== wanted[i]);
  return at < 0 || Number(parts[at]) > (wanted[at] ?? 0);
}

/** The tokens of one message; null when it reports none. */
function messageTokens(usage: Fields): Tokens | null {
  if (usage.isMissing) return null;
  return {
    input: usage.count("input_tokens"),
    output: usage.count("output_tokens"),
    cacheRead: usage.count("cache_read_input_tokens"),
    cacheWrite: usage.count("cache_creation_input_tokens"),
  };
}

function modelsIn(byModel: Fields, model: string): ModelUsage[] {
  const found = byModel.entries().filter(([, usage]) => !usage.isMissing);
  return found.map(([name, usage]) => ({
    model: modelName(name) ?? model,
    input: usage.count("inputTokens"),
    output: usage.count("outputTokens"),
    cacheRead: usage.count("cacheReadInputTokens"),
    cacheWrite: usage.count("cacheCreationInputTokens"),
    usd: usage.number("costUSD"),
  }));
}

/**
 * The last event's report of the whole run. `modelUsage` includes the subagents, the event's own `usage`
 * does not. The dollars of the models must come to `total_cost_usd` at least.
 */
function claudeUsage(result: Fields, model: string): ModelUsage[] | null {
  const total = result.number("total_cost_usd");
  const used = modelsIn(result.at("modelUsage"), model);
  if (used.length > 0) return total === null ? used : withTotal(used, total);
  const tokens = messageTokens(result.at("usage"));
  return tokens === null ? null : [{ model, ...tokens, usd: total }];
}

/** Dollars that no model accounts for go to the dearest; a smaller total takes nothing away. */
function withTotal(used: ModelUsage[], total: number): ModelUsage[] {
  const sum = used.reduce((dollars, { usd }) => dollars + (usd ?? 0), 0);
  if (total <= sum) return used;
  const dearest = used.reduce((a, b) => ((b.usd ?? 0) > (a.usd ?? 0) ? b : a));
  return used.map((usage) => {
    const rest = usage === dearest ? total - sum : 0;
    return { ...usage, usd: (usage.usd ?? 0) + rest };
  });
}
