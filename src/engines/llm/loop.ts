import type { LanguageModel, ModelMessage, ToolContent } from "ai";
import type { Step } from "../../model/step.ts";
import { addTokens, NO_TOKENS, type Tokens } from "../../model/usage.ts";
import type { EngineOutcome } from "../engine.ts";
import { brief } from "../json-line-steps.ts";
import { askModel } from "./ask-model.ts";
import { classify } from "./classify.ts";
import { openWorkspace } from "./confine.ts";
import { connect, keyEnvOf, keyOf, urlOf } from "./connect.ts";
import { Ended } from "./ended.ts";
import type { LlmEvent, ResultEvent } from "./events.ts";
import { fitContext, Gauge, sizeOf } from "./fit-context.ts";
import { instructions } from "./instruct.ts";
import { type Answer, BrokenAnswer, type ToolCall } from "./listen.ts";
import { messageOf } from "./message-of.ts";
import { persist } from "./persist.ts";
import type { LlmRequest } from "./request.ts";
import { loadSession, newSessionId, saveSession } from "./session.ts";
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
const MOST_BAD_CALLS = 5;
const DEFAULT_CONTEXT = 128_000;
const LONGEST_ANSWER = 32_000;
const LONGEST_RESULT_CHARS = 30_000;
/** When the window is full it is emptied to this: the cache begins anew each time. */
const ROOMY = 0.6;

/** The whole of one run: asks the model, runs the tools it calls, until it calls none. */
export class Loop {
  readonly #request: LlmRequest;
  readonly #around: Surroundings;
  readonly #gauge = new Gauge();
  readonly #tools;
  #messages: ModelMessage[] = [];
  #session: string | null = null;
  #used: Tokens = NO_TOKENS;
  /** Used, but not yet told with a step. */
  #untold: Tokens | null = null;
  #isCounted = true;
  /** In characters: what the API has refused is surely too much. */
  #ceiling = Infinity;
  #text = "";
  #steps = 0;
  #badCalls = 0;

  constructor(request: LlmRequest, around: Surroundings) {
    this.#request = request;
    this.#around = around;
    this.#tools = toolsFor(request.mode);
  }

  /** Never throws. */
  async run(): Promise<ResultEvent> {
    let outcome: EngineOutcome;
    try {
      outcome = await this.#work();
    } catch (error) {
      outcome =
        error instanceof Ended
          ? error.outcome
          : { kind: "failed", message: brief(messageOf(error), 500) };
    }
    if (this.#around.signal.aborted) outcome = { kind: "failed", message: "it was told to end" };
    this.#tell({ kind: "notice", text: "the rest of what was used" }, true);
    const { model } = this.#request;
    const usage = this.#steps === 0 ? [] : [{ model, ...this.#used, usd: null }];
    return {
      type: "result",
      outcome,
      text: this.#text,
      session: this.#session,
      usage: this.#isCounted ? usage : null,
      steps: this.#steps,
    };
  }

  async #work(): Promise<EngineOutcome> {
    const request = this.#request;
    const model = connect(request, keyOf(request, this.#around.env));
    const bench = this.#bench();
    this.#begin();
    const most = Math.min(MOST_STEPS, request.turns ?? MOST_STEPS);
    while (this.#steps < most) {
      const answer = await this.#ask(model);
      this.#messages.push(...answer.messages);
      this.#show(answer);
      if (answer.calls.length > 0) {
        const content = await this.#runCalls(answer.calls, bench);
        this.#messages.push({ role: "tool", content });
      } else if (answer.finish === "length") {
        // Cut by its own limit; asked to go on it says the rest, and may still call a tool.
        this.#countBad("its answers are cut off at the limit for output");
        this.#messages.push({ role: "user", content: "You were cut off. Go on from there." });
      } else if (answer.finish === "content-filter") {
        throw new Ended({ kind: "failed", message: "the vendor's filter stopped the answer" });
      }
      this.#save();
      const isOver = answer.calls.length === 0 && answer.finish !== "length";
      if (isOver) return { kind: "done" };
    }
    const message = `it was not done after ${most} steps`;
    return { kind: "turn_limit", message };
  }

  #bench(): Bench {
    const env = { ...this.#around.env };
    const keyEnv = keyEnvOf(this.#request);
    if (keyEnv !== null) delete env[keyEnv]; // the model has no business with it
    const { commandMs = 120_000 } = this.#request.limits ?? {};
    // As many characters as the window has tokens are about a quarter of it.
    const limitChars = Math.min(LONGEST_RESULT_CHARS, this.#window);
    const { signal } = this.#around;
    return { place: openWorkspace(this.#request.cwd), env, signal, commandMs, limitChars };
  }

  #begin(): void {
    const { resume, sessionDir, model, prompt } = this.#request;
    if (resume !== null) this.#messages = loadSession(sessionDir, resume, model);
    this.#messages.push({ role: "user", content: prompt });
    if (sessionDir === null) return;
    this.#session = resume ?? newSessionId();
    this.#save();
    if (this.#session !== null) this.#around.say({ type: "session", session: this.#session });
  }

  async #ask(model: LanguageModel): Promise<Answer> {
    const { signal, now, sleep } = this.#around;
    const { retryMs = 1_000, waitMs = 30_000 } = this.#request.limits ?? {};
    const told = instructions(this.#request.mode, this.#request.cwd);
    const tools = declare(this.#tools);
    const fixedChars = told.length + TOOLS_CHARS;
    const call = async () => {
      signal.throwIfAborted();
      this.#fit(fixedChars);
      const chars = fixedChars + sizeOf(this.#messages);
      const answer = await askModel({
        model,
        instructions: told,
        messages: this.#messages,
        tools,
        maxOutputTokens: this.#request.api === "anthropic" ? this.#answerRoom : null,
        signal,
      });
      this.#use(answer.tokens);
      if (answer.tokens) {
        const { input, cacheRead, cacheWrite } = answer.tokens;
        this.#gauge.learn(chars, input + cacheRead + cacheWrite);
      }
      return answer;
    };
    this.#steps++;
    const where = { model: this.#request.model, url: urlOf(this.#request) };
    const keyEnv = keyEnvOf(this.#request);
    return persist(
      call,
      (error) => {
        signal.throwIfAborted();
        if (error instanceof BrokenAnswer) this.#useBroken(error, fixedChars);
        const cause = error instanceof BrokenAnswer ? error.cause : error;
        return classify(cause, { ...where, keyEnv, now: now() });
      },
      {
        retryMs,
        waitMs,
        now,
        sleep: (ms) => sleep(ms, signal),
        onAgain: (text) => this.#tell({ kind: "notice", text }),
        shorten: () => {
          if (this.#messages.length === 1) return false;
          this.#ceiling = sizeOf(this.#messages) * 0.75;
          return true;
        },
      },
    );
  }

  get #window(): number {
    return this.#request.contextTokens ?? DEFAULT_CONTEXT;
  }

  get #answerRoom(): number {
    return Math.min(LONGEST_ANSWER, Math.floor(this.#window / 4));
  }

  /** Makes room for the answer, when there is none. */
  #fit(fixedChars: number): void {
    const guess = this.#gauge.chars(this.#window - this.#answerRoom) - fixedChars;
    const room = Math.min(guess, this.#ceiling);
    if (sizeOf(this.#messages) <= room) return;
    const { messages, shortened, dropped } = fitContext(this.#messages, Math.floor(room * ROOMY));
    const size = sizeOf(messages);
    if (size > room) {
      const tokens = this.#gauge.tokens(fixedChars + size);
      const message = `the prompt alone is about ${tokens} tokens, and does not fit into ${this.#window} with its answer`;
      throw new Ended({ kind: "refused", message });
    }
    this.#messages = messages;
    const text = `the window is full: ${shortened} old results shortened, ${dropped} old turns left out`;
    this.#tell({ kind: "notice", text });
  }

  #use(tokens: Tokens | null): void {
    if (tokens === null) {
      this.#isCounted = false;
      return;
    }
    this.#used = addTokens(this.#used, tokens);
    this.#untold = addTokens(this.#untold ?? NO_TOKENS, tokens);
  }

  /** An estimate is better than nothing where a budget has to hold. */
  #useBroken({ tokens, chars }: BrokenAnswer, fixedChars: number): void {
    const said = Math.ceil(chars / 4);
    if (tokens) this.#use({ ...tokens, output: Math.max(tokens.output, said) });
    else {
      const input = this.#gauge.tokens(fixedChars + sizeOf(this.#messages));
      this.#use({ ...NO_TOKENS, input, output: said });
    }
  }

  #show({ thought, text, calls }: Answer): void {
    if (thought.trim() !== "") this.#tell({ kind: "thought", text: brief(thought) });
    if (text.trim() !== "") {
      this.#text = text.trim();
      this.#tell({ kind: "text", text: brief(text) });
    }
    if (calls.length === 0) this.#tell({ kind: "notice", text: "it said nothing" }, true);
  }

  /** With what was used since the last; `ifUsed`: not at all when that is nothing. */
  #tell(step: Step, ifUsed = false): void {
    if (ifUsed && this.#untold === null) return;
    const { model } = this.#request;
    const usage = this.#untold && { model, ...this.#untold, usd: null };
    this.#untold = null;
    this.#around.say({ type: "step", ...step, ...(usage ? { usage } : {}) });
  }

  async #runCalls(calls: readonly ToolCall[], bench: Bench): Promise<ToolContent> {
    const content: ToolContent = [];
    for (const { id, name, input, problem } of calls) {
      const answered = (type: "text" | "error-text", value: string) =>
        content.push({
          type: "tool-result",
          toolCallId: id,
          toolName: name,
          output: { type, value },
        });
      if (problem !== null) {
        const text = brief(messageOf(problem), 1_000);
        this.#tell({
          kind: "notice",
          tool: brief(name, 60),
          text: brief(`a malformed call: ${text}`),
        });
        this.#countBad(`its calls of tools are malformed: ${text}`);
        answered("error-text", `This call could not be read: ${text}`);
        continue;
      }
      this.#badCalls = 0;
      const target = targetOf(this.#tools, name, input);
      this.#tell({ kind: "tool", tool: name, target });
      const { text, failure } = await runTool(this.#tools, name, input, bench);
      bench.signal.throwIfAborted();
      if (failure !== null) this.#tell({ kind: "notice", tool: name, target, text: failure });
      answered(failure === null ? "text" : "error-text", text);
    }
    return content;
  }

  #countBad(what: string): void {
    if (++this.#badCalls < MOST_BAD_CALLS) return;
    const message = brief(`given up after ${MOST_BAD_CALLS} in a row: ${what}`, 500);
    throw new Ended({ kind: "failed", message });
  }

  /** A conversation that cannot be kept is no reason to stop working. */
  #save(): void {
    const { sessionDir, model } = this.#request;
    if (sessionDir === null || this.#session === null) return;
    try {
      saveSession(sessionDir, this.#session, model, this.#messages);
    } catch (error) {
      this.#session = null;
      this.#tell({ kind: "notice", text: brief(`the session is not kept: ${messageOf(error)}`) });
    }
  }
}

/** What the descriptions and schemas of our tools take, about. */
const TOOLS_CHARS = 2_500;
