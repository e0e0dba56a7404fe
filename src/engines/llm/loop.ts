import type { LanguageModel, ToolContent } from "ai";
import { addTokens, type ModelUsage, NO_TOKENS, type Tokens } from "../costs/usage.ts";
import type { EngineOutcome, Step } from "../engine.ts";
import { brief } from "../vendors/event-reader.ts";
import { type Answer, askModel, BrokenAnswer, type ToolCall } from "./ask-model.ts";
import { classify, Ended, messageOf } from "./call-errors.ts";
import { connect, keyEnvOf, keyOf, urlOf } from "./connect.ts";
import { Conversation } from "./conversation.ts";
import { openWorkspace } from "./files.ts";
import type { LlmEvent, LlmRequest, ResultEvent } from "./protocol.ts";
import { callWithRetries } from "./retry-call.ts";
import { type Bench, declare, runTool, targetOf, toolsFor } from "./tools.ts";

export interface Surroundings {
  env: NodeJS.ProcessEnv;
  /** Aborted: the result so far, now. */
  signal: AbortSignal;
  say(event: LlmEvent): void;
  now(): number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

const MOST_STEPS = 60;
const MOST_BAD_ANSWERS = 5;

/** The whole of one run: asks the model, runs the tools it calls, until it calls none. */
export class Loop {
  readonly #request: LlmRequest;
  readonly #around: Surroundings;
  readonly #tools;
  readonly #meter: UsageMeter;
  #talk: Conversation | undefined;
  #text = "";
  #steps = 0;
  #badAnswers = 0;

  constructor(request: LlmRequest, around: Surroundings) {
    this.#request = request;
    this.#around = around;
    this.#tools = toolsFor(request.mode);
    this.#meter = new UsageMeter(request.model);
  }

  /** Never throws. */
  async run(): Promise<ResultEvent> {
    const outcome = await this.#work().catch((error: unknown) => this.#explain(error));
    this.#emit({ kind: "notice", text: "the rest of what was used" }, true);
    const { total } = this.#meter;
    return {
      type: "result",
      outcome,
      text: this.#text,
      session: this.#talk?.session ?? null,
      usage: this.#steps === 0 ? [] : total && [total],
      steps: this.#steps,
    };
  }

  #explain(error: unknown): EngineOutcome {
    if (this.#around.signal.aborted) return { kind: "failed", message: "it was told to end" };
    if (error instanceof Ended) return error.outcome;
    return { kind: "failed", message: brief(messageOf(error), 500) };
  }

  async #work(): Promise<EngineOutcome> {
    const request = this.#request;
    const model = connect(request, keyOf(request, this.#around.env));
    const told = instructions(request.mode, request.cwd);
    const talk = new Conversation(request, told);
    const bench = this.#bench(talk.resultRoom);
    this.#talk = talk;
    this.#save(talk);
    if (talk.session !== null) this.#around.say({ type: "session", session: talk.session });
    const most = Math.min(MOST_STEPS, request.turns ?? MOST_STEPS);
    while (this.#steps < most) {
      this.#steps++;
      const answer = await this.#ask(model, told, talk);
      talk.add(...answer.messages);
      this.#show(answer);
      if (answer.calls.length > 0) {
        talk.add({ role: "tool", content: await this.#runCalls(answer.calls, bench) });
      } else if (answer.finish === "length") {
        // Cut by its own limit; asked to go on it says the rest, and may still call a tool.
        this.#countBad("its answers are cut off at the limit for output");
        talk.add({ role: "user", content: "You were cut off. Go on from there." });
      } else if (answer.finish === "content-filter") {
        throw new Ended({ kind: "failed", message: "the vendor's filter stopped the answer" });
      } else {
        this.#save(talk);
        return { kind: "done" };
      }
      this.#save(talk);
    }
    return { kind: "turn_limit", message: `it was not done after ${most} steps` };
  }

  #bench(limitChars: number): Bench {
    const env = { ...this.#around.env };
    const keyEnv = keyEnvOf(this.#request);
    if (keyEnv !== null) delete env[keyEnv]; // the model has no business with it
    const { commandMs = 120_000 } = this.#request.limits ?? {};
    const { signal } = this.#around;
    return { place: openWorkspace(this.#request.cwd), env, signal, commandMs, limitChars };
  }

  #ask(model: LanguageModel, told: string, talk: Conversation): Promise<Answer> {
    const { signal, now, sleep } = this.#around;
    const { api, limits } = this.#request;
    const { retryMs = 1_000, waitMs = 30_000 } = limits ?? {};
    const call = async () => {
      signal.throwIfAborted();
      const text = talk.fit();
      if (text !== null) this.#emit({ kind: "notice", text });
      const answer = await askModel({
        model,
        instructions: told,
        messages: talk.messages,
        tools: declare(this.#tools),
        maxOutputTokens: api === "anthropic" ? talk.answerRoom : null,
        signal,
      });
      this.#meter.add(answer.tokens);
      if (answer.tokens) talk.learn(answer.tokens);
      return answer;
    };
    return callWithRetries(call, (error) => this.#judge(error, talk), {
      retryMs,
      waitMs,
      now,
      sleep: (ms) => sleep(ms, signal),
      onAgain: (text) => this.#emit({ kind: "notice", text }),
      shorten: () => talk.mustShrink(),
    });
  }

  #judge(error: unknown, talk: Conversation) {
    if (error instanceof BrokenAnswer) this.#countBroken(error, talk);
    this.#around.signal.throwIfAborted();
    const cause = error instanceof BrokenAnswer ? error.cause : error;
    const { model } = this.#request;
    const keyEnv = keyEnvOf(this.#request);
    return classify(cause, { model, url: urlOf(this.#request), keyEnv, now: this.#around.now() });
  }

  /** An estimate is better than nothing where a budget has to hold. */
  #countBroken({ tokens, chars }: BrokenAnswer, talk: Conversation): void {
    const said = Math.ceil(chars / 4);
    const asked = tokens ?? { ...NO_TOKENS, input: talk.tokens };
    this.#meter.add({ ...asked, output: Math.max(asked.output, said) });
  }

  #show({ thought, text, calls }: Answer): void {
    if (thought.trim() !== "") this.#emit({ kind: "thought", text: brief(thought) });
    if (text.trim() !== "") {
      this.#text = text.trim();
      this.#emit({ kind: "text", text: brief(text) });
    }
    if (calls.length === 0) this.#emit({ kind: "notice", text: "it said nothing" }, true);
  }

  /** With what was used since the last; `ifUsed`: not at all when that is nothing. */
  #emit(step: Step, ifUsed = false): void {
    if (ifUsed && !this.#meter.hasNews) return;
    this.#around.say({ type: "step", ...step, usage: this.#meter.takeNews() ?? undefined });
  }

  async #runCalls(calls: readonly ToolCall[], bench: Bench): Promise<ToolContent> {
    const content: ToolContent = [];
    for (const call of calls) {
      bench.signal.throwIfAborted();
      const { text, isError } = await this.#runCall(call, bench);
      const output = { type: isError ? ("error-text" as const) : ("text" as const), value: text };
      content.push({ type: "tool-result", toolCallId: call.id, toolName: call.name, output });
    }
    bench.signal.throwIfAborted(); // what was ended by that says nothing worth keeping
    return content;
  }

  async #runCall({ name, input, problem }: ToolCall, bench: Bench) {
    const tool = brief(name, 80);
    if (problem !== null) {
      const why = brief(messageOf(problem), 1_000);
      this.#emit({ kind: "notice", tool, text: brief(`a malformed call: ${why}`) });
      this.#countBad(`its calls of tools are malformed: ${why}`);
      return { text: `This call could not be read: ${why}`, isError: true };
    }
    this.#badAnswers = 0;
    const target = targetOf(this.#tools, name, input);
    this.#emit({ kind: "tool", tool, target });
    const { text, failure } = await runTool(this.#tools, name, input, bench);
    if (failure !== null) this.#emit({ kind: "notice", tool, target, text: failure });
    return { text, isError: failure !== null };
  }

  #countBad(what: string): void {
    if (++this.#badAnswers < MOST_BAD_ANSWERS) return;
    const message = brief(`given up after ${MOST_BAD_ANSWERS} in a row: ${what}`, 500);
    throw new Ended({ kind: "failed", message });
  }

  /** A conversation that cannot be kept is no reason to stop working. */
  #save(talk: Conversation): void {
    const error = talk.save();
    if (error === null) return;
    this.#emit({ kind: "notice", text: brief(`the session is not kept: ${error.message}`) });
  }
}

/** What every model is told before the prompt. It stays the same, so that it can be cached. */
export function instructions(mode: "plan" | "edit", cwd: string): string {
  const lines = [
    `You work on your own in the folder ${cwd}, your workspace; nobody can answer questions.`,
    "Use the tools to look at things before you rely on them. Paths are relative to the workspace.",
    mode === "plan"
      ? "You can read, and change nothing: your answer is a plan, or a report of what you found."
      : "Make the changes that the task needs, check them by running them, and leave nothing half done.",
    "A tool that fails says why; correct the call and go on.",
    "When the task is done, answer without calling a tool: say briefly what you did and what is left.",
  ];
  return lines.join("\n");
}

/** What the run has used, and what of that has not been told yet. */
export class UsageMeter {
  readonly #model: string;
  #used: Tokens = NO_TOKENS;
  #untold: Tokens | null = null;
  #isCounted = true;

  constructor(model: string) {
    this.#model = model;
  }

  /** Null: the API did not count. */
  add(tokens: Tokens | null): void {
    if (tokens === null) {
      this.#isCounted = false;
      return;
    }
    this.#used = addTokens(this.#used, tokens);
    this.#untold = addTokens(this.#untold ?? NO_TOKENS, tokens);
  }

  get hasNews(): boolean {
    return this.#untold !== null;
  }

  /** What has come since it was last asked for. */
  takeNews(): ModelUsage | null {
    const news = this.#untold && { model: this.#model, ...this.#untold, usd: null };
    this.#untold = null;
    return news;
  }

  /** Null when one call was not counted: the sum of the others would mislead. */
  get total(): ModelUsage | null {
    return this.#isCounted ? { model: this.#model, ...this.#used, usd: null } : null;
  }
}
