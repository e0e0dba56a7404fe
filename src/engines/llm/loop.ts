import { setTimeout as sleep } from "node:timers/promises";
import type { LanguageModel, ToolContent } from "ai";
import { counted } from "../../base/text.ts";
import { addTokens, type ModelUsage, NO_TOKENS, type Tokens } from "../costs/usage.ts";
import type { EngineOutcome, Step } from "../engine.ts";
import { brief } from "../vendors/event-reader.ts";
import { type Answer, askModel, BrokenAnswer, type ToolCall } from "./ask-model.ts";
import { callWithRetries, classify, Ended, messageOf } from "./call-failures.ts";
import { connect, keyEnvOf, keyOf, urlOf } from "./connect.ts";
import { Conversation } from "./conversation.ts";
import type { LlmEvent, LlmRequest, ResultEvent } from "./protocol.ts";
import { declare, runTool, type ToolContext, targetOf, toolsFor } from "./tools.ts";
import { openWorkspace } from "./workspace-files.ts";

const MOST_STEPS = 60;
const MOST_BAD_ANSWERS = 5;

/** One run: asks the model, runs the tools it calls, until it calls none. */
export class Loop {
  readonly #request: LlmRequest;
  readonly #env: NodeJS.ProcessEnv;
  readonly #signal: AbortSignal;
  readonly #onEvent: (event: LlmEvent) => void;
  readonly #tools;
  readonly #meter: UsageMeter;
  #talk: Conversation | undefined;
  #text = "";
  #steps = 0;
  #badAnswers = 0;

  /** After an abort, `run` returns the result so far. */
  constructor(
    request: LlmRequest,
    env: NodeJS.ProcessEnv,
    signal: AbortSignal,
    onEvent: (event: LlmEvent) => void,
  ) {
    this.#request = request;
    this.#env = env;
    this.#signal = signal;
    this.#onEvent = onEvent;
    this.#tools = toolsFor(request.mode);
    this.#meter = new UsageMeter(request.model);
  }

  /** Never throws. */
  async run(): Promise<ResultEvent> {
    const outcome = await this.#work().catch((error: unknown) => this.#explain(error));
    this.#emitUsage("the rest of the usage");
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
    if (this.#signal.aborted) return { kind: "failed", message: "it was stopped by a signal" };
    if (error instanceof Ended) return error.outcome;
    return { kind: "failed", message: brief(messageOf(error), 500) };
  }

  async #work(): Promise<EngineOutcome> {
    const request = this.#request;
    const model = connect(request, keyOf(request, this.#env));
    const system = instructions(request.mode, request.cwd);
    const talk = new Conversation(request, system);
    const context = this.#context(talk.resultRoom);
    this.#talk = talk;
    this.#save(talk);
    if (talk.session !== null) this.#onEvent({ type: "session", session: talk.session });
    const most = Math.min(MOST_STEPS, request.turns ?? MOST_STEPS);
    while (this.#steps < most) {
      this.#steps++;
      const answer = await this.#ask(model, system, talk);
      talk.messages.push(...answer.messages);
      this.#show(answer);
      const isDone = await this.#react(answer, talk, context);
      this.#save(talk);
      if (isDone) return { kind: "done" };
    }
    return { kind: "turn_limit", message: `it was not done after ${counted(most, "step")}` };
  }

  async #react(answer: Answer, talk: Conversation, context: ToolContext): Promise<boolean> {
    if (answer.calls.length > 0) {
      talk.messages.push({ role: "tool", content: await this.#runCalls(answer.calls, context) });
    } else if (answer.finish === "length") {
      // Cut by its own limit. Asked to continue, it gives the rest, and may still call a tool.
      this.#countBad("its answers are cut off at the limit for output");
      talk.messages.push({ role: "user", content: "You were cut off. Go on from there." });
    } else if (answer.finish === "content-filter") {
      throw new Ended({ kind: "failed", message: "the vendor's filter stopped the answer" });
    } else return true;
    return false;
  }

  #context(limitChars: number): ToolContext {
    const env = { ...this.#env };
    const keyEnv = keyEnvOf(this.#request);
    if (keyEnv !== null) delete env[keyEnv]; // the model must not read it
    const { commandMs = 120_000 } = this.#request.limits ?? {};
    const place = openWorkspace(this.#request.cwd);
    return { place, env, signal: this.#signal, commandMs, limitChars };
  }

  #ask(model: LanguageModel, system: string, talk: Conversation): Promise<Answer> {
    const signal = this.#signal;
    const { api, limits } = this.#request;
    const call = async () => {
      signal.throwIfAborted();
      const text = talk.fit();
      if (text !== null) this.#emit({ kind: "notice", text });
      const answer = await askModel({
        model,
        instructions: system,
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
      retryMs: limits?.retryMs ?? 1_000,
      now: Date.now,
      sleep: (ms) => sleep(ms, undefined, { signal }),
      onAgain: (text) => this.#emit({ kind: "notice", text }),
      shorten: () => talk.mustShrink(),
    });
  }

  #judge(error: unknown, talk: Conversation) {
    if (error instanceof BrokenAnswer) this.#countBroken(error, talk);
    this.#signal.throwIfAborted();
    const cause = error instanceof BrokenAnswer ? error.cause : error;
    const { model } = this.#request;
    const keyEnv = keyEnvOf(this.#request);
    return classify(cause, { model, url: urlOf(this.#request), keyEnv, now: Date.now() });
  }

  /** An estimate is better than nothing where a budget has to hold. */
  #countBroken({ tokens, chars }: BrokenAnswer, talk: Conversation): void {
    const asked = tokens ?? { ...NO_TOKENS, input: talk.tokens };
    this.#meter.add({ ...asked, output: Math.max(asked.output, Math.ceil(chars / 4)) });
  }

  #show({ thought, text, calls }: Answer): void {
    if (thought.trim() !== "") this.#emit({ kind: "thought", text: brief(thought) });
    if (text.trim() !== "") {
      this.#text = text.trim();
      this.#emit({ kind: "text", text: brief(text) });
    }
    if (calls.length === 0) this.#emitUsage("an empty answer");
  }

  /** With the usage since the last step. */
  #emit(step: Step): void {
    this.#onEvent({ type: "step", ...step, usage: this.#meter.takeNew() ?? undefined });
  }

  #emitUsage(text: string): void {
    if (this.#meter.hasNew) this.#emit({ kind: "notice", text });
  }

  async #runCalls(calls: readonly ToolCall[], context: ToolContext): Promise<ToolContent> {
    const content: ToolContent = [];
    for (const call of calls) {
      this.#signal.throwIfAborted();
      const { text, isError } = await this.#runCall(call, context);
      const output = { type: isError ? ("error-text" as const) : ("text" as const), value: text };
      content.push({ type: "tool-result", toolCallId: call.id, toolName: call.name, output });
    }
    this.#signal.throwIfAborted(); // the result of an aborted command is not worth keeping
    return content;
  }

  async #runCall({ name, input, problem }: ToolCall, context: ToolContext) {
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
    const { text, failure } = await runTool(this.#tools, name, input, context);
    if (failure !== null) this.#emit({ kind: "notice", tool, target, text: failure });
    return { text, isError: failure !== null };
  }

  #countBad(what: string): void {
    if (++this.#badAnswers < MOST_BAD_ANSWERS) return;
    const message = brief(`given up after ${MOST_BAD_ANSWERS} in a row: ${what}`, 500);
    throw new Ended({ kind: "failed", message });
  }

  /** A run whose conversation cannot be saved continues. */
  #save(talk: Conversation): void {
    const error = talk.save();
    if (error === null) return;
    this.#emit({ kind: "notice", text: brief(`the session is not kept: ${error.message}`) });
  }
}

/** The system prompt. It never changes within a run, so that it can be cached. */
function instructions(mode: "plan" | "edit", cwd: string): string {
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

/** The usage of the run, and its part that no step has reported yet. */
class UsageMeter {
  readonly #model: string;
  #used: Tokens = NO_TOKENS;
  #new: Tokens | null = null;
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
    this.#new = addTokens(this.#new ?? NO_TOKENS, tokens);
  }

  get hasNew(): boolean {
    return this.#new !== null;
  }

  takeNew(): ModelUsage | null {
    const tokens = this.#new && { model: this.#model, ...this.#new, usd: null };
    this.#new = null;
    return tokens;
  }

  /** Null when one call was not counted: the sum of the others would mislead. */
  get total(): ModelUsage | null {
    return this.#isCounted ? { model: this.#model, ...this.#used, usd: null } : null;
  }
}
