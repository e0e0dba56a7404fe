import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { type Body, checkAnthropic, checkOpenai } from "./llm-wire.ts";

/** One answer of the model, or a failure. */
export type Reply = Said | Refusal;

export interface Said {
  thought?: string;
  text?: string;
  /** A string is sent as it is, like malformed JSON of a model. */
  calls?: { name: string; input: object | string }[];
  finish?: string;
  usage?: Partial<Counts> | null;
  /** The connection breaks after the first words, or stays open in silence. */
  breaks?: "cut" | "hang";
  /** Instead of the end: an error event in the middle of the stream. */
  error?: { type: string; message: string };
}

export interface Refusal {
  status: number;
  headers?: Record<string, string>;
  body?: unknown;
}

interface Counts {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
}

export interface Asked {
  path: string;
  headers: Record<string, string | string[] | undefined>;
  body: Body;
}

export const MODEL = "test-model";

/**
 * Streams Anthropic's messages and OpenAI's chat completions like the real servers, on 127.0.0.1. It checks
 * requests as strictly as they do, and answers from a script.
 */
export class LlmServer {
  readonly asked: Asked[] = [];
  /** Taken one by one; a function sees the request. */
  readonly script: (Reply | ((asked: Asked) => Reply))[] = [];
  /** Answers when the script is over. */
  forever: ((asked: Asked) => Reply) | undefined;
  key: string | null = null;
  /** More characters than this are refused as too long. */
  longest = Infinity;
  readonly #server: Server;
  #onAsk: (() => void)[] = [];

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(...script: LlmServer["script"]): Promise<LlmServer> {
    const server = createServer((request, response) => void self.#answer(request, response));
    const self = new LlmServer(server);
    self.script.push(...script);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return self;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Resolves after so many requests. */
  async askedTimes(count: number): Promise<void> {
    while (this.asked.length < count) {
      await new Promise<void>((resolve) => this.#onAsk.push(resolve));
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = "";
    for await (const piece of request.setEncoding("utf8")) text += piece;
    const asked = { path: request.url ?? "", headers: request.headers, body: JSON.parse(text) };
    this.asked.push(asked);
    const isAnthropic = asked.path === "/v1/messages";
    const reply = this.#refusal(asked, text, isAnthropic) ?? this.#next(asked);
    if ("status" in reply) {
      response.writeHead(reply.status, { "content-type": "application/json", ...reply.headers });
      response.end(typeof reply.body === "string" ? reply.body : JSON.stringify(reply.body ?? {}));
    } else {
      stream(response, reply, isAnthropic ? anthropicEvents(reply) : openaiEvents(reply));
    }
    for (const resolve of this.#onAsk.splice(0)) resolve();
  }

  #next(asked: Asked): Reply {
    const next = this.script.shift() ?? this.forever;
    if (next === undefined) return { status: 418, body: "the script is over" };
    return typeof next === "function" ? next(asked) : next;
  }

  /** The refusals of the real servers, in their words. */
  #refusal({ path, headers, body }: Asked, text: string, isAnthropic: boolean): Refusal | null {
    const error = (status: number, type: string, message: string): Refusal => ({
      status,
      body: isAnthropic
        ? { type: "error", error: { type, message } }
        : { error: { message, type, param: null, code: null } },
    });
    if (!isAnthropic && path !== "/v1/chat/completions") return error(404, "", "no such page");
    const key = isAnthropic ? headers["x-api-key"] : headers.authorization?.slice(7);
    if (this.key !== null && key !== this.key) {
      return error(401, "authentication_error", "invalid x-api-key");
    }
    if (body.model !== MODEL) return error(404, "not_found_error", `model: ${body.model}`);
    const wrong = isAnthropic ? checkAnthropic(body) : checkOpenai(body);
    if (wrong !== null) return error(400, "invalid_request_error", wrong);
    if (text.length > this.longest) {
      const what = `prompt is too long: ${text.length} > ${this.longest}`;
      return error(400, "invalid_request_error", what);
    }
    return null;
  }
}

/** In pieces that end in the middle of lines and of characters, as they come from a network. */
function stream(response: ServerResponse, reply: Said, events: string[]): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const sent = reply.breaks ? events.slice(0, Math.ceil(events.length / 2)) : events;
  const bytes = Buffer.from(sent.join(""));
  for (let at = 0; at < bytes.length; at += 37) response.write(bytes.subarray(at, at + 37));
  if (reply.breaks === "cut") response.write("", () => response.destroy());
  else if (reply.breaks !== "hang") response.end();
}

const countsOf = (usage: Partial<Counts> | null | undefined): Counts => ({
  input: 10,
  output: 5,
  cacheRead: 0,
  cacheWrite: 0,
  ...usage,
});

function pieces(text: string): string[] {
  return text.match(/[\s\S]{1,9}/g) ?? [];
}

function anthropicEvents(reply: Said): string[] {
  const { input, output, cacheRead, cacheWrite } = countsOf(reply.usage);
  const events: { type: string; [key: string]: unknown }[] = [];
  const usage = {
    input_tokens: input,
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cacheRead,
  };
  events.push({
    type: "message_start",
    message: {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: MODEL,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { ...usage, output_tokens: 1 },
    },
  });
  let index = 0;
  const block = (start: object, deltas: object[]) => {
    events.push({ type: "content_block_start", index, content_block: start });
    events.push({ type: "ping" });
    for (const delta of deltas) events.push({ type: "content_block_delta", index, delta });
    events.push({ type: "content_block_stop", index: index++ });
  };
  if (reply.thought) {
    const signature = { type: "signature_delta", signature: "c2lnbmVk" };
    const deltas = pieces(reply.thought).map((thinking) => ({ type: "thinking_delta", thinking }));
    block({ type: "thinking", thinking: "", signature: "" }, [...deltas, signature]);
  }
  if (reply.text) {
    block(
      { type: "text", text: "" },
      pieces(reply.text).map((text) => ({ type: "text_delta", text })),
    );
  }
  for (const [i, call] of (reply.calls ?? []).entries()) {
    const json = typeof call.input === "string" ? call.input : JSON.stringify(call.input);
    block(
      { type: "tool_use", id: `toolu_${i}_${counter++}`, name: call.name, input: {} },
      pieces(json).map((partial_json) => ({ type: "input_json_delta", partial_json })),
    );
  }
  if (reply.error) events.push({ type: "error", error: reply.error });
  else {
    const stop = reply.finish ?? (reply.calls ? "tool_use" : "end_turn");
    events.push({
      type: "message_delta",
      delta: { stop_reason: stop, stop_sequence: null },
      usage: { output_tokens: output },
    });
    events.push({ type: "message_stop" });
  }
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
}

function openaiEvents(reply: Said): string[] {
  const { input, output, cacheRead } = countsOf(reply.usage);
  const chunk = (choices: object[], more: object = {}) => ({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1,
    model: MODEL,
    choices,
    ...more,
  });
  const delta = (content: object, finish_reason: string | null = null) =>
    chunk([{ index: 0, delta: content, finish_reason }]);
  const events: object[] = [delta({ role: "assistant", content: "" })];
  for (const piece of pieces(reply.thought ?? "")) events.push(delta({ reasoning_content: piece }));
  for (const piece of pieces(reply.text ?? "")) events.push(delta({ content: piece }));
  for (const [index, call] of (reply.calls ?? []).entries()) {
    const json = typeof call.input === "string" ? call.input : JSON.stringify(call.input);
    const start = { name: call.name, arguments: "" };
    const id = `call_${index}_${counter++}`;
    events.push(delta({ tool_calls: [{ index, id, type: "function", function: start }] }));
    for (const piece of pieces(json)) {
      events.push(delta({ tool_calls: [{ index, function: { arguments: piece } }] }));
    }
  }
  if (reply.error) events.push({ error: { ...reply.error, code: reply.error.type } });
  else {
    events.push(delta({}, reply.finish ?? (reply.calls ? "tool_calls" : "stop")));
    const usage = {
      prompt_tokens: input + cacheRead,
      completion_tokens: output,
      total_tokens: input + cacheRead + output,
      prompt_tokens_details: { cached_tokens: cacheRead },
    };
    if (reply.usage !== null) events.push(chunk([], { usage }));
  }
  return [...events.map((event) => `data: ${JSON.stringify(event)}\n\n`), "data: [DONE]\n\n"];
}

let counter = 0;
