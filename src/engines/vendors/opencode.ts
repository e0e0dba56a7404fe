import { VivError } from "../../base/errors.ts";
import type { ModelUsage } from "../costs/usage.ts";
import type { Engine, EngineExit, EngineOutcome, EngineRequest, Step } from "../engine.ts";
import {
  EventReader,
  type Fields,
  MAX_TEXT,
  targetOf,
  textStep,
  toolStep,
  type Used,
} from "./event-reader.ts";
import { type Complaint, Diagnosis, type Vendor } from "./limits.ts";
import { opencodeHome } from "./private-home.ts";
import { argument } from "./untrusted-text.ts";
import { UNNAMED_MODEL, UsageSum } from "./usage-sum.ts";

/** OpenCode, without a terminal: questions to a person are refused, or allowed by `auto`. */
export function opencodeEngine(now = Date.now): Engine {
  return {
    name: "opencode",
    binary: "opencode",
    namesModel: true,
    reportsDollars: "each step",
    command,
    home: opencodeHome,
    reader: (request) => new OpencodeReader(request, now),
  };
}

/** Its plan agent keeps the shell, and falls back to the default agent where it is disabled. */
const NO_WRITES = '{"edit":"deny","bash":"deny"}';

/** Its waits are reported in its log alone. */
const LOG = ["--print-logs", "--log-level", "WARN"];

const command: Engine["command"] = (request) => {
  const { model, resume, settings } = request;
  const argv = [settings.binary ?? "opencode", "run", "--format", "json", ...LOG];
  if (model !== null) argv.push("--model", argument(model, "model"));
  if (resume !== null) argv.push("--session", argument(resume, "session"));
  const isPlan = request.mode === "plan";
  const permission = isPlan ? NO_WRITES : settings.permission;
  if (isPlan) argv.push("--agent", "plan");
  else if (permission === "auto") argv.push("--auto");
  else if (permission !== null && !permission.startsWith("{")) {
    throw new VivError(
      "INVALID",
      `opencode has no permission "${permission}": use "auto", or its permissions as JSON ({"bash":"deny"}).`,
    );
  }
  const rules = permission === "auto" ? null : permission;
  const env = permissions(rules ?? (request.isBudgeted ? "{}" : null), request);
  return { argv: [...argv, ...settings.flags], stdin: request.prompt, env };
};

/** Its stream does not report the usage of its subagents: under a budget it may start none. */
function permissions(text: string | null, { isBudgeted }: EngineRequest) {
  if (text === null) return undefined;
  if (!isBudgeted) return { OPENCODE_PERMISSION: text };
  try {
    const own = JSON.parse(text) as Record<string, unknown>;
    return { OPENCODE_PERMISSION: JSON.stringify({ ...own, task: "deny" }) };
  } catch (error) {
    const message = 'the permission of opencode is no JSON object, like {"bash":"deny"}.';
    throw new VivError("INVALID", message, {}, { cause: error });
  }
}

const OPENCODE: Vendor = {
  name: "opencode",
  login:
    "Run `opencode auth login` as the user the workers run as, or give them the provider's key.",
  credit: "Add credit to the account of the provider opencode uses, then release the account.",
};

class OpencodeReader extends EventReader {
  readonly #now: () => number;
  readonly #diagnosis: Diagnosis;
  readonly #model: string;
  readonly #sum = new UsageSum();
  #message: string | null = null;
  #error: { name: string; complaint: Complaint } | null = null;
  /** The reason of the last step's end; any other than a call of tools ends the run. */
  #reason: string | null = null;
  #isDone = false;

  get isOver(): boolean {
    return this.#isDone || (this.#reason !== null && this.#reason !== "tool-calls");
  }

  constructor(request: EngineRequest, now: () => number) {
    super();
    this.#now = now;
    this.#diagnosis = new Diagnosis(OPENCODE, now);
    this.#model = request.model ?? UNNAMED_MODEL;
  }

  protected read(type: string | null, event: Fields): Step[] | null {
    this.session = event.id("sessionID") ?? this.session;
    this.waitsFor = null;
    const part = event.at("part");
    switch (type) {
      case "step_start":
        this.#reason = null;
        return [];
      case "text":
        return this.#said(part);
      case "reasoning":
        return [textStep("thought", part.string("text") ?? "")];
      case "tool_use": {
        const tool = part.string("tool") ?? "unknown";
        const state = part.at("state");
        return [toolStep(tool, targetOf(state.at("input")) ?? state.string("title"))];
      }
      case "step_finish":
        return this.#finished(part);
      case "error":
        return this.#complained(event.at("error"));
      case "done":
        this.#isDone = true;
        return [];
      default:
        return null;
    }
  }

  /** Its retries are in its log alone. A failed title does not matter. */
  stderr(text: string): void {
    if (!text.includes('message="stream error"') || /\bsmall=true\b/.test(text)) return;
    const said = /\berror\.error="((?:[^"\\]|\\.)*)/.exec(text)?.[1] ?? "";
    const message = said.replace(/\\(.)/g, "$1").replace(/^AI_\w+: /, "");
    this.waitsFor = this.#diagnosis.waiting({ message });
  }

  protected used(): Used {
    return { usage: this.#sum.get() };
  }

  /** The answer is the whole last message, in one part or in several. */
  #said(part: Fields): Step[] {
    const text = part.string("text") ?? "";
    const message = part.string("messageID");
    const isSame = message !== null && message === this.#message;
    this.#message = message;
    this.text = isSame ? (this.text + text).slice(0, MAX_TEXT) : text;
    return text.trim() === "" ? [] : [textStep("text", text)];
  }

  #finished(part: Fields): Step[] {
    this.#reason = part.string("reason") ?? "unknown";
    const usage = stepUsage(part, this.#model);
    if (usage === null) return [];
    this.#sum.add(usage);
    return [{ kind: "notice", text: "a step is done", usage }];
  }

  #complained(error: Fields): Step[] {
    const data = error.at("data");
    const name = error.string("name") ?? "an error";
    const said = data.string("message") ?? error.string("message") ?? name;
    const complaint: Complaint = {
      message: [said, data.string("responseBody")].filter(Boolean).join(" "),
      status: data.number("statusCode"),
      until: this.#retryAt(data.at("responseHeaders")),
    };
    this.#error = { name, complaint };
    return [textStep("notice", said)];
  }

  #retryAt(headers: Fields): number | null {
    const millis = Number(headers.string("retry-after-ms") ?? Number.NaN);
    const seconds = Number(headers.string("retry-after") ?? Number.NaN);
    const wait = millis > 0 ? millis : seconds > 0 ? seconds * 1000 : null;
    return wait === null ? null : this.#now() + wait;
  }

  protected outcome(exit: EngineExit): EngineOutcome {
    const diagnosis = this.#diagnosis;
    if (this.#error !== null) {
      const { name, complaint } = this.#error;
      if (name === "ProviderAuthError") return diagnosis.outcome("unauthorized", complaint);
      if (name === "ProviderModelNotFoundError") return diagnosis.outcome("refused", complaint);
      return diagnosis.outcomeOf(complaint);
    }
    if (this.isOver && exit.exit === 0) return { kind: "done" };
    return diagnosis.brokenOff(exit, null, this.otherLines);
  }
}

function stepUsage(part: Fields, model: string): ModelUsage | null {
  const tokens = part.at("tokens");
  const usd = part.number("cost");
  if (tokens.isMissing && usd === null) return null;
  const cache = tokens.at("cache");
  return {
    model,
    input: tokens.count("input"),
    output: tokens.count("output") + tokens.count("reasoning"),
    cacheRead: cache.count("read"),
    cacheWrite: cache.count("write"),
    usd,
  };
}
