import { join } from "node:path";
import { VivError } from "../../base/errors.ts";
import { addTokens, type ModelUsage, NO_TOKENS, type Tokens } from "../costs/usage.ts";
import type { Engine, EngineExit, EngineOutcome, EngineRequest, Step } from "../engine.ts";
import {
  EventReader,
  type Fields,
  MAX_TEXT,
  parseLine,
  targetOf,
  textStep,
  toolStep,
  type Used,
} from "./event-reader.ts";
import { type Complaint, Diagnosis, type Vendor } from "./limits.ts";
import { geminiHome } from "./private-home.ts";
import { argument, GEMINI_MENTION, inertPrompt } from "./untrusted-text.ts";
import {
  atLeast,
  MessageTokens,
  modelName,
  moreThan,
  UNNAMED_MODEL,
  UsageSum,
} from "./usage-sum.ts";

/** Gemini, without a terminal; that makes it read its prompt from stdin. */
export function geminiEngine(now = Date.now): Engine {
  return {
    name: "gemini",
    binary: "gemini",
    namesModel: true,
    reportsDollars: "never",
    command,
    home: geminiHome,
    reader: (request) => new GeminiReader(request, now),
    logs,
  };
}

const command: Engine["command"] = (request) => {
  const { model, resume, settings } = request;
  const stdin = inertPrompt(request.prompt, GEMINI_MENTION);
  const argv = [settings.binary ?? "gemini", "--output-format", "stream-json"];
  if (model !== null) argv.push("--model", argument(model, "model"));
  if (resume !== null) argv.push("--resume", argument(resume, "session"));
  if (request.mode === "plan") {
    assertPlanHolds(settings.flags);
    return { argv: [...argv, "--approval-mode", "plan", ...settings.flags], stdin };
  }
  argv.push("--approval-mode", argument(settings.permission ?? "yolo", "permission"));
  // In an untrusted workspace it asks before each call, and no person is there to answer.
  const env = { GEMINI_CLI_TRUST_WORKSPACE: "true" };
  return { argv: [...argv, ...settings.flags], stdin, env };
};

/**
 * Without a person, gemini leaves its plan mode by itself and carries out the plan. None of its flags
 * prevents that; a policy that denies the tools it leaves by does.
 */
function assertPlanHolds(flags: readonly string[]): void {
  if (flags.some((flag) => /^--(admin-)?policy(=|$)/.test(flag))) return;
  throw new VivError(
    "INVALID",
    "gemini leaves plan mode by itself when it runs without a terminal, and carries out the plan. Use another engine for this route, or write a policy file that denies enter_plan_mode and exit_plan_mode and name it in the engine's flags (--policy FILE).",
  );
}

/** Named by the beginning of the session's id; those of its subagents are in a folder of its name. */
const logs: Engine["logs"] = ({ session, env }) => {
  const root = join(env.GEMINI_CLI_HOME || (env.HOME ?? "/"), ".gemini", "tmp");
  const file = new RegExp(`^session-.*-${session.slice(0, 8).replaceAll(".", "\\.")}\\.jsonl?$`);
  return { root, path: [/./, "chats", file], beside: [session], isOnlySource: true };
};

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

class GeminiReader extends EventReader {
  readonly #diagnosis: Diagnosis;
  #model: string;
  /** The text under way, which comes in pieces. */
  #saying = "";
  #error: Complaint | null = null;
  /** By its session file, which has each answer, some of them twice. */
  readonly #sum = new UsageSum();
  readonly #messages = new MessageTokens();
  /** Emitted from the result, by model, before the session file had it: it may be read late. */
  readonly #ahead = new Map<string, Tokens>();
  #usage: ModelUsage[] | null = null;
  #status: string | null = null;
  #trying = "";

  get isOver(): boolean {
    return this.#status !== null;
  }

  constructor(request: EngineRequest, now: () => number) {
    super();
    this.#diagnosis = new Diagnosis(GEMINI, now);
    this.#model = request.model ?? UNNAMED_MODEL;
  }

  protected read(type: string | null, event: Fields): Step[] | null {
    this.waitsFor = null;
    switch (type) {
      case "init":
        this.session = event.id("session_id") ?? this.session;
        this.#model = modelName(event.string("model")) ?? this.#model;
        return [];
      case "message":
        return this.#message(event);
      case "tool_use": {
        const tool = event.string("tool_name") ?? "unknown";
        return [...this.#endText(), toolStep(tool, targetOf(event.at("parameters")))];
      }
      case "tool_result":
        return [];
      case "error": {
        const message = event.string("message") ?? "";
        if (event.string("severity") === "error") this.#error = { message };
        return [textStep("notice", message)];
      }
      case "result":
        return this.#ended(event);
      default:
        return null;
    }
  }

  /** Its retries are reported here alone. */
  stderr(text: string): void {
    const isMore = this.waitsFor !== null && RETRY_IN.test(text);
    if (!isMore && !AGAIN.test(text)) return;
    this.#trying = isMore ? `${this.#trying} ${text}` : text;
    this.waitsFor = this.#diagnosis.waiting({ message: this.#trying });
  }

  /** Its session file, and those of its subagents. */
  logLine(text: string, isPast: boolean): Step[] {
    if (!text.includes('"tokens"')) return [];
    const event = parseLine(text);
    const id = event.id("id");
    const usage = messageUsage(event, this.#model);
    if (id === null || usage === null) return [];
    const more = this.#messages.more(id, usage);
    if (isPast || more === null) return [];
    this.#sum.add({ ...usage, ...more });
    const ahead = this.#ahead.get(usage.model) ?? NO_TOKENS;
    this.#ahead.set(usage.model, moreThan(more, ahead) ?? NO_TOKENS);
    const fresh = moreThan(ahead, more);
    return fresh === null ? [] : [{ kind: "notice", usage: { ...usage, ...fresh } }];
  }

  override end(exit: EngineExit) {
    this.#endText();
    return super.end(exit);
  }

  protected used(): Used {
    const seen = this.#sum.get();
    return { usage: this.#usage ? atLeast(this.#usage, seen ?? []) : seen };
  }

  #message(event: Fields): Step[] {
    if (event.string("role") !== "assistant") return [];
    const content = event.string("content") ?? "";
    const before = event.isTrue("delta") ? [] : this.#endText();
    this.#saying += content.slice(0, MAX_TEXT - this.#saying.length);
    return before;
  }

  #endText(): Step[] {
    const text = this.#saying;
    this.#saying = "";
    if (text.trim() === "") return [];
    this.text = text;
    return [textStep("text", text)];
  }

  #ended(event: Fields): Step[] {
    const steps = this.#endText();
    this.#status = event.string("status") ?? "error";
    const message = event.at("error").string("message");
    if (message !== null) this.#error = { message };
    this.#usage = geminiUsage(event.at("stats"), this.#model);
    const seen = this.#sum.get() ?? [];
    for (const usage of this.#usage ?? []) {
      const same = seen.find(({ model }) => model === usage.model) ?? NO_TOKENS;
      const ahead = this.#ahead.get(usage.model) ?? NO_TOKENS;
      const more = moreThan(addTokens(same, ahead), usage);
      if (more === null) continue;
      this.#ahead.set(usage.model, addTokens(ahead, more));
      steps.push({ kind: "notice", text: "the run is over", usage: { ...usage, ...more } });
    }
    return steps;
  }

  protected outcome(exit: EngineExit): EngineOutcome {
    const diagnosis = this.#diagnosis;
    const complaint = this.#error ?? { message: exit.stderr };
    if (exit.exit === EXIT.turns || TURNS.test(this.#error?.message ?? "")) {
      return { kind: "turn_limit", message: "gemini used up the turns its settings allow" };
    }
    if (this.#status === "success") return { kind: "done" };
    if (exit.exit === EXIT.login) return diagnosis.outcome("unauthorized", complaint);
    if ([EXIT.input, EXIT.configuration, EXIT.untrusted].includes(exit.exit ?? 0)) {
      return diagnosis.recognise(complaint) ?? diagnosis.outcome("refused", complaint);
    }
    if (this.#status !== null) return diagnosis.outcomeOf(complaint);
    return diagnosis.brokenOff(exit, this.#error, this.otherLines);
  }
}

/** The tokens of a whole run, by model where this version of gemini reports them. */
function geminiUsage(stats: Fields, model: string): ModelUsage[] | null {
  const found = stats.at("models").entries();
  const byModel = found.flatMap(([name, used]) => runUsage(used, modelName(name) ?? model) ?? []);
  if (byModel.length > 0) return byModel;
  const usage = runUsage(stats, model);
  return usage && [usage];
}

/** `output_tokens` leaves out the thoughts, which cost as much; the total includes them. */
function runUsage(stats: Fields, model: string): ModelUsage | null {
  const prompt = stats.number("input_tokens");
  const total = stats.number("total_tokens");
  if (prompt === null && total === null) return null;
  const output = stats.count("output_tokens");
  return usageOf(model, prompt ?? 0, output, stats.number("cached"), total);
}

/** Of one answer, as the session file has it. */
function messageUsage(message: Fields, model: string): ModelUsage | null {
  const used = message.at("tokens");
  const prompt = used.number("input");
  if (prompt === null) return null;
  const name = modelName(message.string("model")) ?? model;
  const output = used.count("output") + used.count("thoughts");
  const usage = usageOf(name, prompt, output, used.number("cached"), used.number("total"));
  return { ...usage, prompt };
}

function usageOf(
  model: string,
  prompt: number,
  said: number,
  cached: number | null,
  total: number | null,
): ModelUsage {
  const cacheRead = cached ?? 0;
  const output = Math.max(said, (total ?? 0) - prompt);
  return {
    model,
    input: Math.max(0, prompt - cacheRead),
    output,
    cacheRead,
    cacheWrite: 0,
    usd: null,
  };
}
