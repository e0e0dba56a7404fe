import { type LanguageModel, type ModelMessage, streamText, type ToolSet } from "ai";
import { type Answer, Listener } from "./listen.ts";

export interface Question {
  model: LanguageModel;
  instructions: string;
  messages: readonly ModelMessage[];
  tools: ToolSet;
  maxOutputTokens: number | null;
  signal: AbortSignal;
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
  const listener = new Listener();
  try {
    for await (const part of result.fullStream) listener.hear(part);
  } catch (error) {
    listener.fail(error); // the connection broke
  }
  listener.throwIfBroken();
  const { messages } = await result.response;
  return listener.answer(messages.filter((message) => message.role === "assistant"));
}

/** Anthropic keeps what comes before such a mark, and reads it at a tenth of the price. */
const CACHED = { anthropic: { cacheControl: { type: "ephemeral" as const } } };

function cachedUpToHere(messages: readonly ModelMessage[]): ModelMessage[] {
  return messages.map((message, i) =>
    i === messages.length - 1 ? { ...message, providerOptions: CACHED } : message,
  );
}
