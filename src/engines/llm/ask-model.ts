import {
  type FinishReason,
  type LanguageModel,
  type LanguageModelUsage,
  type ModelMessage,
  streamText,
  type ToolSet,
} from "ai";
import type { Tokens } from "../../model/usage.ts";

export interface Question {
  model: LanguageModel;
  instructions: string;
  messages: readonly ModelMessage[];
  tools: ToolSet;
  maxOutputTokens: number | null;
  signal: AbortSignal;
}

export interface ToolCall {
  id: string;
  name: string;
  input: unknown;
  /** Why it is none: no such tool, or an input that is not what the tool takes. */
  problem: unknown;
}

export interface Answer {
  text: string;
  thought: string;
  calls: ToolCall[];
  /** What goes into the conversation. */
  messages: ModelMessage[];
  finish: FinishReason;
  /** Null when the API does not count. */
  tokens: Tokens | null;
}

/** A call that failed after it had begun to answer: that is paid for as well. */
export class BrokenAnswer extends Error {
  /** As far as it was told; null when nothing was. */
  readonly tokens: Tokens | null;
  readonly chars: number;

  constructor(cause: unknown, tokens: Tokens | null, chars: number) {
    super("the answer was cut off", { cause });
    this.tokens = tokens;
    this.chars = chars;
  }
}

/** One call of the model, from the question to the last word of its answer. */
export async function askModel(question: Question): Promise<Answer> {
  const { signal, maxOutputTokens } = question;
  const result = streamText({
    model: question.model,
    system: { role: "system", content: question.instructions, providerOptions: CACHED },
    messages: cachedUpToHere(question.messages),
    tools: question.tools,
    maxRetries: 0, // whether a call is worth another is our decision
    abortSignal: signal,
    includeRawChunks: true,
    onError: () => {}, // it comes as a part of the stream too
    ...(maxOutputTokens === null ? {} : { maxOutputTokens }),
  });
  let failure: { error: unknown } | undefined;
  let finish: { finishReason: FinishReason; usage: LanguageModelUsage } | undefined;
  let text = "";
  let thought = "";
  let chars = 0;
  const calls: ToolCall[] = [];
  const meter = new Meter();
  for await (const part of result.fullStream) {
    if (part.type === "text-start" && text !== "") text += "\n";
    if (part.type === "text-delta") text += part.text;
    if (part.type === "reasoning-delta") thought += part.text;
    if (part.type === "text-delta" || part.type === "reasoning-delta") chars += part.text.length;
    if (part.type === "tool-input-delta") chars += part.delta.length;
    if (part.type === "tool-call") {
      const problem = part.invalid ? (part.error ?? "it cannot be read") : null;
      calls.push({ id: part.toolCallId, name: part.toolName, input: part.input, problem });
    }
    if (part.type === "raw") meter.see(part.rawValue);
    if (part.type === "finish-step") finish = part;
    if (part.type === "error") failure ??= { error: part.error };
  }
  signal.throwIfAborted();
  if (failure || !finish) {
    const error = failure?.error ?? new Error("the answer ended before it was complete");
    if (chars === 0 && meter.tokens === null) throw error;
    throw new BrokenAnswer(error, meter.tokens, chars);
  }
  const { messages } = await result.response;
  return {
    text,
    thought,
    calls,
    messages: messages.filter((message) => message.role === "assistant"),
    finish: finish.finishReason,
    tokens: tokensOf(finish.usage),
  };
}

/** Anthropic keeps what comes before such a mark, and reads it at a tenth of the price. */
const CACHED = { anthropic: { cacheControl: { type: "ephemeral" as const } } };

function cachedUpToHere(messages: readonly ModelMessage[]): ModelMessage[] {
  return messages.map((message, i) =>
    i === messages.length - 1 ? { ...message, providerOptions: CACHED } : message,
  );
}

function tokensOf({
  inputTokens,
  outputTokens,
  inputTokenDetails,
}: LanguageModelUsage): Tokens | null {
  if (inputTokens === undefined || outputTokens === undefined) return null;
  const cacheRead = inputTokenDetails.cacheReadTokens ?? 0;
  const cacheWrite = inputTokenDetails.cacheWriteTokens ?? 0;
  const input = inputTokenDetails.noCacheTokens ?? inputTokens - cacheRead - cacheWrite;
  return { input: Math.max(0, input), output: outputTokens, cacheRead, cacheWrite };
}

/** Anthropic tells what the question cost before it answers: known also when the answer breaks. */
class Meter {
  tokens: Tokens | null = null;

  see(raw: unknown): void {
    const { type, message, usage } = (raw ?? {}) as RawEvent;
    if (type === "message_start" && message?.usage) {
      this.tokens = {
        input: number(message.usage.input_tokens),
        output: number(message.usage.output_tokens),
        cacheRead: number(message.usage.cache_read_input_tokens),
        cacheWrite: number(message.usage.cache_creation_input_tokens),
      };
    } else if (type === "message_delta" && usage && this.tokens) {
      this.tokens = { ...this.tokens, output: number(usage.output_tokens) };
    }
  }
}

interface RawEvent {
  type?: unknown;
  message?: { usage?: Record<string, unknown> };
  usage?: Record<string, unknown>;
}

const number = (value: unknown) => (typeof value === "number" && value > 0 ? value : 0);
