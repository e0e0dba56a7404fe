import {
  type FinishReason,
  type LanguageModel,
  type LanguageModelUsage,
  type ModelMessage,
  streamText,
  type TextStreamPart,
  type ToolSet,
} from "ai";
import type { Tokens } from "../costs/usage.ts";

export interface Question {
  model: LanguageModel;
  instructions: string;
  messages: readonly ModelMessage[];
  tools: ToolSet;
  maxOutputTokens: number | null;
  signal: AbortSignal;
}

export async function askModel(question: Question): Promise<Answer> {
  const { signal, maxOutputTokens } = question;
  const result = streamText({
    model: question.model,
    system: { role: "system", content: question.instructions, providerOptions: CACHED },
    messages: cachedUpToHere(question.messages),
    tools: question.tools,
    maxRetries: 0, // the loop decides on retries
    abortSignal: signal,
    includeRawChunks: true,
    onError: () => {}, // it is a part of the stream, too
    maxOutputTokens: maxOutputTokens ?? undefined,
  });
  const builder = new AnswerBuilder();
  try {
    for await (const part of result.fullStream) builder.add(part);
  } catch (error) {
    builder.fail(error); // the connection broke
  }
  builder.throwIfBroken();
  const { messages } = await result.response;
  return builder.answer(messages.filter((message) => message.role === "assistant"));
}

/** Anthropic caches everything before such a mark, and reads it at a tenth of the price. */
const CACHED = { anthropic: { cacheControl: { type: "ephemeral" as const } } };

function cachedUpToHere(messages: readonly ModelMessage[]): ModelMessage[] {
  return messages.map((message, i) =>
    i === messages.length - 1 ? { ...message, providerOptions: CACHED } : message,
  );
}

export interface Answer {
  text: string;
  thought: string;
  calls: ToolCall[];
  messages: ModelMessage[];
  finish: FinishReason;
  tokens: Tokens | null;
}

export interface ToolCall {
  id: string;
  name: string;
  input: unknown;
  /** An unknown tool, or an input that does not fit it; null: none. */
  problem: unknown;
}

/** A call that failed after its answer had begun, which is paid for as well. */
export class BrokenAnswer extends Error {
  readonly tokens: Tokens | null;
  readonly chars: number;

  constructor(cause: unknown, tokens: Tokens | null, chars: number) {
    super("the answer was cut off", { cause });
    this.tokens = tokens;
    this.chars = chars;
  }
}

/** Puts one answer together from the parts of its stream. */
export class AnswerBuilder {
  #failure: { error: unknown } | undefined;
  #finish: { finishReason: FinishReason; usage: LanguageModelUsage } | undefined;
  #text = "";
  #thought = "";
  #chars = 0;
  #tokens: Tokens | null = null;
  readonly #calls: ToolCall[] = [];

  add(part: TextStreamPart<ToolSet>): void {
    switch (part.type) {
      case "text-start":
        if (this.#text !== "") this.#text += "\n";
        break;
      case "text-delta":
        this.#text += part.text;
        this.#chars += part.text.length;
        break;
      case "reasoning-delta":
        this.#thought += part.text;
        this.#chars += part.text.length;
        break;
      case "tool-input-delta":
        this.#chars += part.delta.length;
        break;
      case "tool-call": {
        const problem = part.invalid ? (part.error ?? "it cannot be read") : null;
        const { toolCallId: id, toolName: name, input } = part;
        this.#calls.push({ id, name, input, problem });
        break;
      }
      case "raw":
        this.#meter(part.rawValue);
        break;
      case "finish-step":
        this.#finish = part;
        break;
      case "error":
        this.fail(part.error);
    }
  }

  /** The first error counts. */
  fail(error: unknown): void {
    this.#failure ??= { error };
  }

  throwIfBroken(): void {
    if (this.#finish && !this.#failure) return;
    const error = this.#failure?.error ?? new Error("the answer ended before it was complete");
    if (this.#chars === 0 && this.#tokens === null) throw error;
    throw new BrokenAnswer(error, this.#tokens, this.#chars);
  }

  answer(messages: ModelMessage[]): Answer {
    return {
      text: this.#text,
      thought: this.#thought,
      calls: this.#calls,
      messages,
      finish: this.#finish?.finishReason ?? "other",
      tokens: this.#finish ? tokensOf(this.#finish.usage) : null,
    };
  }

  /** Anthropic reports the tokens of the question before the answer: known also for a broken one. */
  #meter(raw: unknown): void {
    const { type, message, usage } = (raw ?? {}) as RawEvent;
    if (type === "message_start" && message?.usage) {
      this.#tokens = {
        input: countOf(message.usage.input_tokens),
        output: countOf(message.usage.output_tokens),
        cacheRead: countOf(message.usage.cache_read_input_tokens),
        cacheWrite: countOf(message.usage.cache_creation_input_tokens),
      };
    } else if (type === "message_delta" && usage && this.#tokens) {
      this.#tokens = { ...this.#tokens, output: countOf(usage.output_tokens) };
    }
  }
}

interface RawEvent {
  type?: unknown;
  message?: { usage?: Record<string, unknown> };
  usage?: Record<string, unknown>;
}

const countOf = (value: unknown) => (typeof value === "number" && value > 0 ? value : 0);

function tokensOf(usage: LanguageModelUsage): Tokens | null {
  const { inputTokens, outputTokens, inputTokenDetails } = usage;
  if (inputTokens === undefined || outputTokens === undefined) return null;
  const cacheRead = inputTokenDetails.cacheReadTokens ?? 0;
  const cacheWrite = inputTokenDetails.cacheWriteTokens ?? 0;
  const input = inputTokenDetails.noCacheTokens ?? inputTokens - cacheRead - cacheWrite;
  return { input: Math.max(0, input), output: outputTokens, cacheRead, cacheWrite };
}
