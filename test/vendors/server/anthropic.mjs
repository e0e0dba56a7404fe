// Anthropic's messages, as claude speaks them.
import { frames, inPieces, json, named, textOf } from "./wire.mjs";

const isResult = ({ role, content }) =>
  role === "user" && Array.isArray(content) && content.some(({ type }) => type === "tool_result");

export const anthropic = {
  name: "anthropic",
  fits: (path) => path.endsWith("/messages"),

  hear(body) {
    const messages = body.messages ?? [];
    const prompt = messages.findLastIndex((one) => one.role === "user" && !isResult(one));
    const answer = messages.findLastIndex(({ role }) => role === "assistant");
    return {
      model: body.model,
      isStream: body.stream === true,
      tools: (body.tools ?? []).map(({ name }) => name),
      results: messages.slice(prompt + 1).filter(isResult).length,
      prompt: textOf(messages[prompt]?.content),
      fresh: messages
        .slice(answer + 1)
        .map(({ content }) => textOf(content))
        .join("\n"),
      wantsJson: body.output_config?.format !== undefined,
    };
  },

  say(next, { model, isStream }, used, id) {
    const block =
      next.text === undefined
        ? { type: "tool_use", id: `toolu_${id}`, ...call(next) }
        : { type: "text", text: next.text };
    const stop_reason = next.text === undefined ? "tool_use" : "end_turn";
    const usage = {
      input_tokens: used.input,
      cache_creation_input_tokens: used.cacheWrite,
      cache_read_input_tokens: used.cacheRead,
      output_tokens: used.output,
    };
    const message = {
      id: `msg_${id}`,
      type: "message",
      role: "assistant",
      model,
      stop_sequence: null,
    };
    if (!isStream) return json({ ...message, content: [block], stop_reason, usage });
    const index = 0;
    const deltas =
      block.type === "text"
        ? inPieces(block.text).map((text) => ({ type: "text_delta", text }))
        : inPieces(JSON.stringify(block.input)).map((partial_json) => ({
            type: "input_json_delta",
            partial_json,
          }));
    const empty = block.type === "text" ? { text: "" } : { input: {} };
    return frames(
      [
        // The count at the start is of the first token or so: the true one comes at the end.
        {
          type: "message_start",
          message: {
            ...message,
            content: [],
            stop_reason: null,
            usage: { ...usage, output_tokens: 1 },
          },
        },
        { type: "content_block_start", index, content_block: { ...block, ...empty } },
        { type: "ping" },
        ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
        { type: "content_block_stop", index },
        { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage },
        { type: "message_stop" },
      ].map(named),
    );
  },

  refuse(status, mode) {
    const [type, message] = REFUSALS[status] ?? ["api_error", "Internal server error"];
    const headers = { "request-id": "req_test", ...(status === 429 ? limitHeaders(mode) : {}) };
    return {
      status,
      headers,
      body: { type: "error", error: { type, message }, request_id: "req_test" },
    };
  },
};

const REFUSALS = {
  401: ["authentication_error", "invalid x-api-key"],
  402: [
    "billing_error",
    "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.",
  ],
  403: ["permission_error", "Your API key does not have permission to use the specified resource."],
  404: ["not_found_error", "model: no-such-model"],
  429: [
    "rate_limit_error",
    "This request would exceed your account's rate limit. Please try again later.",
  ],
  529: ["overloaded_error", "Overloaded"],
};

function limitHeaders(mode) {
  const seconds = Number(mode.retry ?? 3600);
  const reset = Math.floor(Date.now() / 1000) + seconds;
  const plain = {
    "retry-after": String(seconds),
    "anthropic-ratelimit-requests-limit": "50",
    "anthropic-ratelimit-requests-remaining": "0",
    "anthropic-ratelimit-requests-reset": new Date(reset * 1000).toISOString(),
  };
  if (!mode.unified) return plain;
  const unified = {
    status: "rejected",
    reset,
    "representative-claim": "five_hour",
    "5h-status": "rejected",
    "5h-reset": reset,
  };
  const headers = Object.entries(unified).map(([name, value]) => [
    `anthropic-ratelimit-unified-${name}`,
    String(value),
  ]);
  return { ...plain, ...Object.fromEntries(headers) };
}

function call({ shell, file, content }) {
  return shell === undefined
    ? { name: "Write", input: { file_path: file, content } }
    : { name: "Bash", input: { command: shell, description: "a test's command" } };
}
