import { join } from "node:path";
import { VivError } from "../../base/errors.ts";
import { addTokens, type ModelUsage, NO_TOKENS, type Tokens } from "../costs/usage.ts";
import type { Engine, EngineExit, EngineOutcome, EngineRequest, Step } from "../engine.ts";
import {
  EventReader,
  Fields,
  parseLine,
  targetOf,
  textStep,
  toolStep,
  type Used,
} from "./event-reader.ts";
import { type Complaint, Diagnosis, type Vendor } from "./limits.ts";
import { codexHome } from "./private-home.ts";
import { argument } from "./untrusted-text.ts";
import { modelName, moreThan, mostOf, sumOf, UNNAMED_MODEL } from "./usage-sum.ts";

/**
 * Codex, without a terminal. Its stream reports tokens only at the end of a turn; its session file
 * reports those of each answer.
 */
export function codexEngine(now = Date.now): Engine {
  return {
    name: "codex",
    binary: "codex",
    namesModel: true,
    reportsDollars: "never",
    command,
    home: codexHome,
    reader: (request) => new CodexReader(request, now),
    logs,
  };
}

/** Inside our sandbox codex cannot make its own; ours holds instead. */
function sandboxOf({ mode, settings, isConfined }: EngineRequest): string {
  const wanted = mode === "plan" ? "read-only" : (settings.permission ?? "workspace-write");
  if (!isConfined) return argument(wanted, "permission");
  if (wanted !== "read-only") return "danger-full-access";
  throw new VivError(
    "INVALID",
    "codex cannot be kept from writing inside a sandbox, where its own read-only one does not work: set sandbox to off for plan mode, or use another engine.",
  );
}

/** Its only source for the length of a wait. */
const LOG = { RUST_LOG: "error,codex_core::responses_retry=warn" };

const NO_SUBAGENTS = ["-c", "features.multi_agent=false", "-c", "features.multi_agent_v2=false"];

const command: Engine["command"] = (request) => {
  const { model, resume, settings } = request;
  const argv = [settings.binary ?? "codex", "exec", "--json"];
  if (model !== null) argv.push("--model", argument(model, "model"));
  argv.push("--sandbox", sandboxOf(request));
  // Otherwise it asks, and so ends, in a folder that is no git repository it knows.
  argv.push("--skip-git-repo-check");
  // The usage of its subagents is in none of the files that we follow.
  if (request.isBudgeted) argv.push(...NO_SUBAGENTS);
  // `resume` is a command of its own and knows few options: all of them stand before it.
  argv.push(...settings.flags);
  if (resume !== null) argv.push("resume", argument(resume, "session"));
  return { argv: [...argv, "-"], stdin: request.prompt, env: LOG };
};

const logs: Engine["logs"] = ({ session, env, settings }) => {
  if (settings.flags.includes("--ephemeral")) return null;
  const root = join(env.CODEX_HOME || join(env.HOME ?? "/", ".codex"), "sessions");
  const file = new RegExp(`-${session.replaceAll(".", "\\.")}\\.jsonl$`);
  return { root, path: [/^\d{4}$/, /^\d\d$/, /^\d\d$/, file], isOnlySource: true };
};

const CODEX: Vendor = {
  name: "codex",
  login: "Run `codex login` as the user the workers run as, or give them a valid CODEX_API_KEY.",
  credit: "Add credit or a plan to the account codex is logged in to, then release the account.",
};

/** `Reconnecting... 2/5 (…)`, `Reconnecting... waiting for network (…)`: it is not at its end. */
const AGAIN = /^Reconnecting\b[^(]*(?:\((.*)\))?$/s;
/** Of its log, at level WARN: `retrying sampling request (1/5 in 3599.99s)`. */
const RETRY_IN = /\bretrying [^(]{0,40}\(\d+\/\d+ in (\d+(?:\.\d+)?)s\)/;
/** The few lines of a session file that matter; others may hold whole files. */
const LOGGED = /^.{0,200}"type":"(token_usage_record|event_msg|turn_context)"/;

/** Items under way that are remembered, so that no call is reported twice. */
const MAX_ITEMS = 256;

class CodexReader extends EventReader {
  readonly #now: () => number;
  readonly #diagnosis: Diagnosis;
  #model: string;
  readonly #begun = new Set<string>();
  /** The thread's counters when this run began: they continue those of an earlier run. */
  #before: Tokens;
  /** The latest counters of the thread. */
  #thread: Tokens | null = null;
  /** The sum of the answers in its session file. */
  #answers: Tokens | null = null;
  #used: Tokens | null = null;
  #error: Complaint | null = null;
  #last: "completed" | "failed" | null = null;
  /** The cause of the retries under way. */
  #retrying: Complaint | null = null;
  /** When it tries again: reported on stderr alone. */
  #until: number | null = null;

  get isOver(): boolean {
    return this.#last !== null;
  }

  constructor(request: EngineRequest, now: () => number) {
    super();
    this.#now = now;
    this.#diagnosis = new Diagnosis(CODEX, now);
    this.#model = request.model ?? UNNAMED_MODEL;
    const { resume, resumeUsed } = request;
    const isCounted = resume !== null && resumeUsed !== undefined;
    this.#before = isCounted ? sumOf([...resumeUsed.total, ...resumeUsed.since]) : NO_TOKENS;
  }

  protected read(type: string | null, event: Fields): Step[] | null {
    if (type !== "error") {
      this.#until = null;
      this.#setRetrying(null);
    }
    switch (type) {
      case "thread.started":
        this.session = event.id("thread_id") ?? this.session;
        return [];
      case "turn.started":
        this.#last = null;
        return [];
      case "turn.completed": {
        this.#last = "completed";
        // The counters are the whole thread's.
        const thread = tokensOf(event.at("usage"));
        if (thread === null) return [];
        this.#thread = thread;
        return this.#count("the turn is done");
      }
      case "turn.failed":
        this.#last = "failed";
        this.#error = complaintOf(event.at("error").string("message") ?? "");
        return [];
      case "error": {
        // Also while it tries again; the events after it show whether it was fatal.
        this.#error = complaintOf(event.string("message") ?? "");
        const { message } = this.#error;
        const again = AGAIN.exec(message);
        this.#setRetrying(again && { message: again[1] ?? message });
        return [textStep("notice", message)];
      }
      case "item.started":
      case "item.updated":
      case "item.completed":
        return this.#item(type, event.at("item"));
      default:
        return null;
    }
  }

  stderr(text: string): void {
    const seconds = RETRY_IN.exec(text)?.[1];
    if (seconds === undefined) return;
    this.#until = this.#now() + Number(seconds) * 1000;
    this.#setRetrying(this.#retrying);
  }

  #setRetrying(complaint: Complaint | null): void {
    this.#retrying = complaint;
    this.waitsFor = complaint && this.#diagnosis.waiting({ ...complaint, until: this.#until });
  }

  /**
   * Its session file. A record for each answer is certain; the counters of the thread are not: after a
   * run that was killed while a tool ran, they continue without its last answer.
   */
  logLine(text: string, isPast: boolean): Step[] {
    if (!LOGGED.test(text)) return [];
    const event = parseLine(text);
    const payload = event.at("payload");
    const type = event.string("type");
    if (type === "turn_context") {
      this.#model = modelName(payload.string("model")) ?? this.#model;
      return [];
    }
    if (type === "token_usage_record") {
      const answer = tokensOf(payload.at("usage"));
      if (isPast || answer === null) return [];
      this.#answers = addTokens(this.#answers ?? NO_TOKENS, answer);
      return this.#count(undefined, answer);
    }
    const info = payload.at("info");
    const thread = tokensOf(info.at("total_token_usage"));
    if (thread === null) return [];
    if (isPast) {
      this.#before = thread;
      return [];
    }
    this.#thread = thread;
    return this.#count(undefined, tokensOf(info.at("last_token_usage")));
  }

  protected used(): Used {
    return {
      usage: this.#used && [this.#usage(this.#used)],
      sessionTotal: this.#thread ? [this.#usage(this.#thread)] : undefined,
    };
  }

  #item(type: string, item: Fields): Step[] {
    const step = stepOf(item);
    if (step === undefined) return this.unknownEvent(`${type} ${item.string("type") ?? ""}`);
    if (step === null) return [];
    if (step.kind !== "tool") {
      if (type !== "item.completed") return [];
      if (step.kind === "text") this.text = item.string("text") ?? "";
      return [step];
    }
    // A call is reported when it begins; one without a beginning, when it is over.
    const id = item.id("id") ?? "";
    if (type === "item.updated" || (type === "item.completed" && this.#begun.delete(id))) return [];
    if (type === "item.started") {
      this.#begun.add(id);
      const [oldest] = this.#begun;
      if (this.#begun.size > MAX_ITEMS && oldest !== undefined) this.#begun.delete(oldest);
    }
    return [step];
  }

  /** The sum of the answers or the thread's counters, whichever is more. */
  #count(text: string | undefined, answer: Tokens | null = null): Step[] {
    const counted = this.#thread && (moreThan(this.#before, this.#thread) ?? NO_TOKENS);
    const used = mostOf(mostOf(this.#answers ?? NO_TOKENS, counted ?? NO_TOKENS), this.#used);
    const more = moreThan(this.#used ?? NO_TOKENS, used);
    this.#used = used;
    if (more === null) return [];
    const prompt = answer ? answer.input + answer.cacheRead + answer.cacheWrite : undefined;
    return [{ kind: "notice", text, usage: { ...this.#usage(more), prompt } }];
  }

  #usage(tokens: Tokens): ModelUsage {
    return { model: this.#model, ...tokens, usd: null };
  }

  protected outcome(exit: EngineExit): EngineOutcome {
    if (this.#last === "completed" && exit.exit === 0) return { kind: "done" };
    if (this.#last === "failed" && this.#error !== null) {
      return this.#diagnosis.outcomeOf(this.#error);
    }
    return this.#diagnosis.brokenOff(exit, this.#error, this.otherLines);
  }
}

/** As codex counts: cached tokens within the input. */
function tokensOf(usage: Fields): Tokens | null {
  const all = usage.number("input_tokens");
  if (all === null) return null;
  const cacheRead = usage.count("cached_input_tokens");
  const cacheWrite = usage.count("cache_write_input_tokens");
  const input = Math.max(0, all - cacheRead - cacheWrite);
  return { input, output: usage.count("output_tokens"), cacheRead, cacheWrite };
}

/** A message may be the API's answer as it came, with the reason inside. */
function complaintOf(message: string): Complaint {
  const answer = parseLine(message);
  const inner = answer.at("error").string("message") ?? answer.string("detail");
  return inner === null ? { message } : { message: inner, status: answer.number("status") };
}

/** An item of a thread: a message, a thought, a call of a tool. Undefined: an unknown one. */
function stepOf(item: Fields): Step | null | undefined {
  const text = item.string("text") ?? "";
  switch (item.string("type")) {
    case "agent_message":
      return textStep("text", text);
    case "reasoning":
    case "plan":
      return textStep("thought", text);
    case "command_execution":
      return toolStep("shell", innerCommand(item.string("command") ?? ""));
    case "file_change":
      return toolStep("edit", changedPaths(item));
    case "mcp_tool_call": {
      const name = [item.string("server"), item.string("tool")].filter(Boolean).join(".");
      return toolStep(name, targetOf(item.at("arguments")));
    }
    case "collab_tool_call":
      return toolStep(item.string("tool") ?? "agent", item.string("prompt"));
    case "web_search":
      return toolStep("web_search", item.string("query"));
    case "error":
      return textStep("notice", item.string("message") ?? "");
    case "todo_list":
      return null;
    default:
      return undefined;
  }
}

/** `/bin/bash -lc 'npm test'` is `npm test` to a reader. */
function innerCommand(command: string): string {
  const [, quote, inner] = /^\S*\b(?:ba|z)?sh -l?c (['"]?)([\s\S]*)\1$/.exec(command) ?? [];
  return inner === undefined || (quote !== "" && inner === "") ? command : inner;
}

function changedPaths(item: Fields): string {
  return (item.list("changes") ?? [])
    .map((change) => new Fields(change).string("path"))
    .filter(Boolean)
    .slice(0, 20)
    .join(" ");
}
