import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type ModelMessage, modelMessageSchema } from "ai";
import { z } from "zod";
import { counted } from "../../base/text.ts";
import { replaceFileUnsynced } from "../../platform/files/atomic-write.ts";
import type { Tokens } from "../costs/usage.ts";
import { Ended } from "./call-failures.ts";
import { capped } from "./capped-text.ts";
import type { LlmRequest } from "./protocol.ts";

const DEFAULT_WINDOW = 128_000;
const LONGEST_ANSWER = 32_000;
const LONGEST_RESULT_CHARS = 30_000;
/** A full window is emptied to this; each time the vendor's cache begins anew. */
const ROOMY = 0.6;
/** The descriptions and schemas of our tools, about. */
const TOOLS_CHARS = 2_500;

/** The conversation as it is sent: kept within the window, and on disk. */
export class Conversation {
  readonly #request: LlmRequest;
  readonly #gauge = new Gauge();
  readonly #window: number;
  /** Sent besides the messages, in characters. */
  readonly #besides: number;
  messages: ModelMessage[] = [];
  /** Null: it is not kept. */
  session: string | null = null;
  /** In characters, after the API has refused a longer conversation. */
  #ceiling = Infinity;

  /** Throws Ended when the session to resume is lost. */
  constructor(request: LlmRequest, instructions: string) {
    const { resume, sessionDir, model, prompt, contextTokens } = request;
    this.#request = request;
    this.#window = contextTokens ?? DEFAULT_WINDOW;
    this.#besides = instructions.length + TOOLS_CHARS;
    if (resume !== null) this.messages = loadSession(sessionDir, resume, model);
    this.messages.push({ role: "user", content: prompt });
    if (sessionDir !== null) this.session = resume ?? randomUUID();
  }

  get answerRoom(): number {
    return Math.min(LONGEST_ANSWER, Math.floor(this.#window / 4));
  }

  /** As many characters as the window has tokens are about a quarter of it. */
  get resultRoom(): number {
    return Math.min(LONGEST_RESULT_CHARS, this.#window);
  }

  /** After an error it is not tried again. */
  save(): Error | null {
    const { sessionDir, model } = this.#request;
    if (sessionDir === null || this.session === null) return null;
    try {
      saveSession(sessionDir, this.session, model, this.messages);
      return null;
    } catch (error) {
      this.session = null;
      return error as Error;
    }
  }

  get tokens(): number {
    return this.#gauge.tokens(this.#besides + sizeOf(this.messages));
  }

  learn({ input, cacheRead, cacheWrite }: Tokens): void {
    this.#gauge.learn(this.#besides + sizeOf(this.messages), input + cacheRead + cacheWrite);
  }

  /** After a refusal as too long. False when it cannot be shortened. */
  mustShrink(): boolean {
    if (this.messages.length === 1) return false;
    this.#ceiling = sizeOf(this.messages) * 0.75;
    return true;
  }

  /** Makes room for the answer; returns a notice when it had to shorten. */
  fit(): string | null {
    const guess = this.#gauge.chars(this.#window - this.answerRoom) - this.#besides;
    const room = Math.min(guess, this.#ceiling);
    if (sizeOf(this.messages) <= room) return null;
    const { messages, shortened, dropped } = fitContext(this.messages, Math.floor(room * ROOMY));
    this.messages = messages;
    if (sizeOf(messages) > room) {
      const message = `the prompt alone is about ${counted(this.tokens, "token")}, and does not fit into ${this.#window} with its answer`;
      throw new Ended({ kind: "refused", message });
    }
    return `the window is full: ${counted(shortened, "old result")} shortened, ${counted(dropped, "old turn")} left out`;
  }
}

/** The file of a conversation, replaced after each step. */
const kept = z.object({
  version: z.literal(1),
  model: z.string(),
  messages: z.array(modelMessageSchema).min(1),
});

const ID = /^[A-Za-z0-9-]{8,64}$/;

export function saveSession(
  folder: string,
  id: string,
  model: string,
  messages: readonly ModelMessage[],
): void {
  mkdirSync(folder, { recursive: true });
  const path = pathOf(folder, id);
  const temporary = `${path}.new`; // one process has the session
  replaceFileUnsynced(path, JSON.stringify({ version: 1, model, messages }), { temporary });
}

export function loadSession(folder: string | null, id: string, model: string): ModelMessage[] {
  if (folder === null || !ID.test(id)) throw lost(id, "it was not kept");
  let text: string;
  try {
    text = readFileSync(pathOf(folder, id), "utf8");
  } catch (error) {
    throw lost(id, (error as Error).message);
  }
  try {
    const session = kept.parse(JSON.parse(text));
    return session.model === model ? session.messages : session.messages.map(withoutThoughts);
  } catch {
    throw lost(id, "its file is damaged"); // half of it would mislead the model
  }
}

/** Thoughts are signed by the model that had them; another one refuses them. */
function withoutThoughts(message: ModelMessage): ModelMessage {
  if (message.role !== "assistant" || typeof message.content === "string") return message;
  return { ...message, content: message.content.filter((part) => part.type !== "reasoning") };
}

const pathOf = (folder: string, id: string) => join(folder, `${id}.json`);

function lost(id: string, why: string): Ended {
  const message = `the session ${JSON.stringify(id)} is not there any more: ${why}`;
  return new Ended({ kind: "session_lost", message });
}

/** An old result is shortened to this, and to nothing less. */
const SHORT_CHARS = 400;
/** The model is likely still at work on these. */
const RECENT_TURNS = 3;

/** Otherwise the model would repeat the work of the turns that were dropped. */
const NOTE: ModelMessage = {
  role: "user",
  content: "[Turns from here on were left out to save room. What they did to the files is done.]",
};
const isNote = (message: ModelMessage) => message.content === NOTE.content;

export function sizeOf(messages: readonly ModelMessage[]): number {
  return messages.reduce((sum, message) => sum + charsOf(message), 0);
}

const charsOf = (message: ModelMessage) => JSON.stringify(message.content).length;

/** Converts characters to tokens: four to one, corrected by the counts of the API. */
export class Gauge {
  #perChar = 0.25;

  tokens(chars: number): number {
    return Math.ceil(chars * this.#perChar);
  }

  chars(tokens: number): number {
    return Math.floor(tokens / this.#perChar);
  }

  learn(chars: number, tokens: number): void {
    // Limited, because some servers count only the new part.
    if (chars > 0 && tokens > 0) this.#perChar = Math.min(1.5, Math.max(0.2, tokens / chars));
  }
}

interface Fit {
  messages: ModelMessage[];
  shortened: number;
  dropped: number;
}

/**
 * Makes a conversation fit into so many characters: old results of tools are shortened first, then the
 * oldest turns are dropped, and last the recent results are shortened. The first prompt and the last
 * always stay. A result and its call go together, or the API would refuse the rest.
 */
export function fitContext(messages: readonly ModelMessage[], limitChars: number): Fit {
  const fit: Fit = { messages: [...messages], shortened: 0, dropped: 0 };
  const excess = () => sizeOf(fit.messages) - limitChars;
  if (excess() <= 0) return fit;
  shortenResults(fit, RECENT_TURNS);
  if (excess() <= 0) return fit;
  dropTurns(fit, excess() + charsOf(NOTE));
  if (excess() > 0) shortenResults(fit, 0);
  return fit;
}

function shortenResults(fit: Fit, sparedTurns: number): void {
  const results = fit.messages.filter((one) => one.role === "tool");
  const isSpared = new Set(results.slice(results.length - sparedTurns));
  fit.messages = fit.messages.map((message) => {
    if (message.role !== "tool" || isSpared.has(message)) return message;
    let isChanged = false;
    const content = message.content.map((part) => {
      if (part.type !== "tool-result") return part;
      const { output } = part;
      if (output.type !== "text" && output.type !== "error-text") return part;
      // A short one must not be touched again: its note would grow, and the cache miss.
      if (output.value.length <= SHORT_CHARS * 1.25) return part;
      isChanged = true;
      return { ...part, output: { ...output, value: capped(output.value, SHORT_CHARS) } };
    });
    if (isChanged) fit.shortened++;
    return isChanged ? { ...message, content } : message;
  });
}

function dropTurns(fit: Fit, excess: number): void {
  const turns = turnsOf(fit.messages);
  const lastPrompt = turns.findLastIndex(([first]) => first?.role === "user" && !isNote(first));
  let left = excess;
  const kept = turns.filter((turn, i) => {
    const isFixed = i === 0 || i === lastPrompt || i === turns.length - 1;
    if (isFixed || left <= 0) return true;
    left -= sizeOf(turn);
    fit.dropped++;
    return false;
  });
  if (fit.dropped > 0) kept.splice(1, 0, [NOTE]);
  fit.messages = kept.flat();
}

/** A prompt, or an answer with the results of its calls. */
function turnsOf(messages: readonly ModelMessage[]): ModelMessage[][] {
  const turns: ModelMessage[][] = [];
  for (const message of messages) {
    const last = turns.at(-1);
    if (message.role === "tool" && last) last.push(message);
    else turns.push([message]);
  }
  return turns;
}
