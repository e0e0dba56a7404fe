import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type ModelMessage, modelMessageSchema } from "ai";
import { z } from "zod";
import { replaceFileUnsynced } from "../../platform/files/atomic-write.ts";
import type { Tokens } from "../costs/usage.ts";
import { Ended } from "./call-errors.ts";
import { fitContext, Gauge, sizeOf } from "./fit-context.ts";
import type { LlmRequest } from "./protocol.ts";

const DEFAULT_WINDOW = 128_000;
const LONGEST_ANSWER = 32_000;
const LONGEST_RESULT_CHARS = 30_000;
/** When the window is full it is emptied to this: the vendor's cache begins anew each time. */
const ROOMY = 0.6;
/** What the descriptions and schemas of our tools take, about. */
const TOOLS_CHARS = 2_500;

/** All that was said, as it is sent: kept within the window, and on disk. */
export class Conversation {
  readonly #request: LlmRequest;
  readonly #gauge = new Gauge();
  readonly #window: number;
  /** What is sent besides, in characters. */
  readonly #besides: number;
  #messages: ModelMessage[] = [];
  #session: string | null = null;
  /** In characters: what the API has refused is surely too much. */
  #ceiling = Infinity;

  /** Throws Ended when the session to go on with is lost. */
  constructor(request: LlmRequest, instructions: string) {
    const { resume, sessionDir, model, prompt, contextTokens } = request;
    this.#request = request;
    this.#window = contextTokens ?? DEFAULT_WINDOW;
    this.#besides = instructions.length + TOOLS_CHARS;
    if (resume !== null) this.#messages = loadSession(sessionDir, resume, model);
    this.#messages.push({ role: "user", content: prompt });
    if (sessionDir !== null) this.#session = resume ?? newSessionId();
  }

  get messages(): readonly ModelMessage[] {
    return this.#messages;
  }

  get session(): string | null {
    return this.#session;
  }

  /** In tokens. */
  get answerRoom(): number {
    return Math.min(LONGEST_ANSWER, Math.floor(this.#window / 4));
  }

  /** As many characters as the window has tokens are about a quarter of it. */
  get resultRoom(): number {
    return Math.min(LONGEST_RESULT_CHARS, this.#window);
  }

  add(...messages: ModelMessage[]): void {
    this.#messages.push(...messages);
  }

  /** Why it could not be kept; then it is not tried again. */
  save(): Error | null {
    const { sessionDir, model } = this.#request;
    if (sessionDir === null || this.#session === null) return null;
    try {
      saveSession(sessionDir, this.#session, model, this.#messages);
      return null;
    } catch (error) {
      this.#session = null;
      return error as Error;
    }
  }

  /** What it takes of the window, about. */
  get tokens(): number {
    return this.#gauge.tokens(this.#besides + sizeOf(this.#messages));
  }

  /** The API has counted it. */
  learn({ input, cacheRead, cacheWrite }: Tokens): void {
    this.#gauge.learn(this.#besides + sizeOf(this.#messages), input + cacheRead + cacheWrite);
  }

  /** The API has refused it as too long. False when nothing can be done about that. */
  mustShrink(): boolean {
    if (this.#messages.length === 1) return false;
    this.#ceiling = sizeOf(this.#messages) * 0.75;
    return true;
  }

  /** Makes room for the answer, when there is none; says what was done for it. */
  fit(): string | null {
    const guess = this.#gauge.chars(this.#window - this.answerRoom) - this.#besides;
    const room = Math.min(guess, this.#ceiling);
    if (sizeOf(this.#messages) <= room) return null;
    const { messages, shortened, dropped } = fitContext(this.#messages, Math.floor(room * ROOMY));
    this.#messages = messages;
    if (sizeOf(messages) > room) {
      const message = `the prompt alone is about ${this.tokens} tokens, and does not fit into ${this.#window} with its answer`;
      throw new Ended({ kind: "refused", message });
    }
    return `the window is full: ${shortened} old results shortened, ${dropped} old turns left out`;
  }
}

/** A conversation as it is kept: one file, replaced whole after each step. */
const kept = z.object({
  version: z.literal(1),
  model: z.string(),
  messages: z.array(modelMessageSchema).min(1),
});

const ID = /^[A-Za-z0-9-]{8,64}$/;

export const newSessionId = () => randomUUID();

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

/** Throws Ended when there is no such session that could be gone on with. */
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
    throw lost(id, "its file cannot be read as one"); // half of it would mislead the model
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
