// OpenAI's two protocols: responses, as codex speaks it, and chat completions, as opencode does.
import { frames, inPieces, json, named, plain, textOf } from "./wire.mjs";

export const responses = {
  name: "responses",
  fits: (path) => path.endsWith("/responses"),

  hear(body) {
    const input =
      typeof body.input === "string" ? [{ role: "user", content: body.input }] : (body.input ?? []);
    const prompt = input.findLastIndex(({ role }) => role === "user");
    const answer = input.findLastIndex(
      ({ role, type }) => role === "assistant" || type === "reasoning" || /_call$/.test(type ?? ""),
    );
    return {
      model: body.model,
      isStream: body.stream !== false,
      tools: (body.tools ?? []).map(({ name, type }) => name ?? type),
      results: input.slice(prompt + 1).filter(({ type }) => /_output$/.test(type ?? "")).length,
      prompt: textOf(input[prompt]?.content),
      fresh: input
        .slice(answer + 1)
        .map(({ content }) => textOf(content))
        .join("\n"),
      wantsJson: body.text?.format?.type === "json_schema",
    };
  },

  say(next, { model, isStream, tools }, used, id) {
    const item = next.text === undefined ? responsesCall(next, tools, id) : message(next.text, id);
    const input_tokens = used.input + used.cacheRead;
    const output_tokens = used.output + used.thought;
    const response = {
      id: `resp_${id}`,
      object: "response",
      model,
      output: [item],
      status: "completed",
    };
    const usage = {
      input_tokens,
      input_tokens_details: { cached_tokens: used.cacheRead },
      output_tokens,
      output_tokens_details: { reasoning_tokens: used.thought },
      total_tokens: input_tokens + output_tokens,
    };
    if (!isStream) return json({ ...response, usage });
    const begun = { ...response, output: [], status: "in_progress" };
    const at = { output_index: 0, item_id: item.id };
    const deltas = next.text === undefined ? [] : inPieces(next.text);
    const events = [
      { type: "response.created", response: begun },
      { type: "response.in_progress", response: begun },
      {
        type: "response.output_item.added",
        output_index: 0,
        item: next.text === undefined ? item : { ...item, content: [] },
      },
      ...deltas.map((delta) => ({
        type: "response.output_text.delta",
        ...at,
        content_index: 0,
        delta,
      })),
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response: { ...response, usage } },
    ];
    return frames(events.map((event, sequence_number) => named({ ...event, sequence_number })));
  },

  refuse,
};

const message = (text, id) => ({
  type: "message",
  role: "assistant",
  id: `msg_${id}`,
  status: "completed",
  content: [{ type: "output_text", text, annotations: [] }],
});

function responsesCall({ shell, file, content, asks }, tools, id) {
  const call_id = `call_${id}`;
  if (file !== undefined && tools.includes("apply_patch")) {
    const lines = content
      .trimEnd()
      .split("\n")
      .map((line) => `+${line}\n`);
    const input = `*** Begin Patch\n*** Add File: ${file}\n${lines.join("")}*** End Patch\n`;
    return { type: "custom_tool_call", id: `ctc_${id}`, call_id, name: "apply_patch", input };
  }
  const command = shell ?? writing(file, content);
  const leave = asks ? { sandbox_permissions: "require_escalated", justification: "May I?" } : {};
  const forms = {
    exec_command: { cmd: command, yield_time_ms: 30_000, ...leave },
    shell_command: { command, ...leave },
    shell: { command: ["bash", "-lc", command], ...leave },
  };
  const name = Object.keys(forms).find((one) => tools.includes(one)) ?? "exec_command";
  return {
    type: "function_call",
    id: `fc_${id}`,
    call_id,
    name,
    arguments: JSON.stringify(forms[name]),
  };
}

export const chat = {
  name: "chat",
  fits: (path) => path.endsWith("/chat/completions"),

  hear(body) {
    const messages = body.messages ?? [];
    const prompt = messages.findLastIndex(({ role }) => role === "user");
    const answer = messages.findLastIndex(({ role }) => role === "assistant");
    return {
      model: body.model,
      isStream: body.stream === true,
      tools: (body.tools ?? []).map((tool) => tool.function.name),
      results: messages.slice(prompt + 1).filter(({ role }) => role === "tool").length,
      prompt: textOf(messages[prompt]?.content),
      fresh: messages
        .slice(answer + 1)
        .filter(({ role }) => role === "user")
        .map(({ content }) => textOf(content))
        .join("\n"),
      wantsJson: body.response_format?.type?.startsWith("json") ?? false,
    };
  },

  say(next, { model, isStream, tools }, used, id) {
    const calls =
      next.text === undefined
        ? [{ index: 0, id: `call_${id}`, type: "function", function: chatCall(next, tools) }]
        : undefined;
    const finish_reason = calls ? "tool_calls" : "stop";
    const prompt_tokens = used.input + used.cacheRead;
    const completion_tokens = used.output + used.thought;
    const usage = {
      prompt_tokens,
      completion_tokens,
      total_tokens: prompt_tokens + completion_tokens,
      prompt_tokens_details: { cached_tokens: used.cacheRead },
      completion_tokens_details: { reasoning_tokens: used.thought },
    };
    const base = { id: `chatcmpl-${id}`, created: 1_700_000_000, model };
    if (!isStream) {
      const whole = {
        role: "assistant",
        content: next.text ?? null,
        ...(calls ? { tool_calls: calls } : {}),
      };
      const choices = [{ index: 0, message: whole, finish_reason }];
      return json({ ...base, object: "chat.completion", choices, usage });
    }
    const chunk = (choices, more = {}) =>
      plain({ ...base, object: "chat.completion.chunk", choices, ...more });
    const delta = (value, finish = null) =>
      chunk([{ index: 0, delta: value, finish_reason: finish }]);
    const said = calls
      ? [{ tool_calls: calls }]
      : inPieces(next.text).map((content) => ({ content }));
    return frames([
      delta({ role: "assistant", content: calls ? null : "" }),
      ...said.map((value) => delta(value)),
      delta({}, finish_reason),
      chunk([], { usage }),
      "data: [DONE]\n\n",
    ]);
  },

  refuse,
};

function chatCall({ shell, file, content }, tools) {
  if (file !== undefined && tools.includes("write"))
    return { name: "write", arguments: JSON.stringify({ filePath: file, content }) };
  const command = shell ?? writing(file, content);
  return { name: "bash", arguments: JSON.stringify({ command, description: "a test's command" }) };
}

const writing = (file, content) => `printf %s '${content}' > ${file}`;

const REFUSALS = {
  401: ["invalid_request_error", "invalid_api_key", "Incorrect API key provided: test."],
  402: [
    "insufficient_quota",
    "insufficient_quota",
    "You exceeded your current quota, please check your plan and billing details.",
  ],
  403: [
    "invalid_request_error",
    "unsupported_country_region_territory",
    "Country, region, or territory not supported",
  ],
  404: [
    "invalid_request_error",
    "model_not_found",
    "The model `no-such-model` does not exist or you do not have access to it.",
  ],
  429: ["requests", "rate_limit_exceeded", ""],
  503: ["server_error", null, "The server is currently overloaded. Please try again later."],
};

function refuse(status, mode) {
  const seconds = Number(mode.retry ?? 3600);
  if (status === 429 && mode.unified) {
    const error = {
      type: "usage_limit_reached",
      message: "The usage limit has been reached",
      plan_type: "plus",
      resets_at: Math.floor(Date.now() / 1000) + seconds,
      resets_in_seconds: seconds,
    };
    return { status, headers: {}, body: { error } };
  }
  const [type, code, text] = REFUSALS[status] ?? [
    "server_error",
    null,
    "The server had an error while processing your request.",
  ];
  const message = text || `Rate limit reached for requests. Please try again in ${seconds}s.`;
  const headers = status === 429 ? { "retry-after": String(seconds) } : {};
  return { status, headers, body: { error: { message, type, param: null, code } } };
}
