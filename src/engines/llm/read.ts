import type { ModelUsage } from "../costs/usage.ts";
import type { EngineExit, EngineOutcome, EngineResult, StreamReader } from "../engine.ts";
import type { Step } from "../step.ts";
import {
  asObject,
  type JsonObject,
  listAt,
  numberAt,
  objectAt,
  parseLine,
  stringAt,
} from "../vendors/json-line.ts";
import { brief, MAX_TEXT, Unknowns } from "../vendors/json-line-steps.ts";
import { UsageSum } from "../vendors/json-line-usage.ts";

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
