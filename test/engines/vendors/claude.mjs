#!/usr/bin/env node
// Stands in for `claude -p --output-format stream-json --verbose`.
import {
  coloured,
  complain,
  event,
  garbage,
  HUGE,
  killSelf,
  notText,
  parse,
  play,
  RESETS_AT,
  raw,
} from "./replay.mjs";

const args = parse(process.argv.slice(2), {
  "-p": true,
  "--print": true,
  "--verbose": true,
  "--output-format": ["text", "json", "stream-json"],
  "--model": "value",
  "--resume": "value",
  "--max-turns": "value",
  "--max-budget-usd": "value",
  "--include-partial-messages": true,
  "--permission-mode": [
    "default",
    "manual",
    "plan",
    "acceptEdits",
    "bypassPermissions",
    "dontAsk",
    "auto",
  ],
  "--tools": "value",
  "--disallowedTools": "value",
  "--allowedTools": "value",
  "--add-dir": "value",
  "--append-system-prompt": "value",
});
const model = args.flags["--model"] ?? "claude-sonnet-5";
const cheap = "claude-haiku-4-5";
const session = args.flags["--resume"] ?? "0c0ffee0-1111-4222-8333-444455556666";

const init = () =>
  event({
    type: "system",
    subtype: "init",
    session_id: session,
    cwd: process.cwd(),
    model,
    tools: ["Bash", "Read", "Edit", "Task"],
    permissionMode: args.flags["--permission-mode"] ?? "default",
  });

function say(id, content, { by = model, used = [3, 10, 100, 20], parent = null, error } = {}) {
  const [input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens] = used;
  event({
    type: "assistant",
    message: {
      id,
      type: "message",
      role: "assistant",
      model: by,
      content: [content],
      usage: { input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens },
    },
    parent_tool_use_id: parent,
    session_id: session,
    ...(error === undefined ? {} : { error }),
  });
}
const text = (said) => ({ type: "text", text: said });
const tool = (id, name, input) => ({ type: "tool_use", id, name, input });
const toolResult = (id, content) =>
  event({
    type: "user",
    message: { role: "user", content: [{ type: "tool_result", tool_use_id: id, content }] },
    parent_tool_use_id: null,
    session_id: session,
  });

const result = (fields) =>
  event({
    type: "result",
    subtype: "success",
    is_error: false,
    duration_ms: 1200,
    duration_api_ms: 900,
    num_turns: 3,
    result: "It is done.",
    session_id: session,
    total_cost_usd: 0.05,
    usage: { input_tokens: 6, output_tokens: 30 },
    modelUsage: {
      [model]: {
        inputTokens: 6,
        outputTokens: 30,
        cacheReadInputTokens: 200,
        cacheCreationInputTokens: 40,
        webSearchRequests: 0,
        costUSD: 0.04,
      },
      [cheap]: {
        inputTokens: 7,
        outputTokens: 8,
        cacheReadInputTokens: 9,
        cacheCreationInputTokens: 10,
        webSearchRequests: 0,
        costUSD: 0.01,
      },
    },
    permission_denials: [],
    ...fields,
  });

const nothing = { total_cost_usd: 0, usage: { input_tokens: 0, output_tokens: 0 }, modelUsage: {} };
const apiError = (said, { status, error }) => {
  init();
  say("s1", text(said), { by: "<synthetic>", used: [0, 0, 0, 0], error });
  result({ ...nothing, is_error: true, api_error_status: status, result: said });
  return 1;
};

function work() {
  init();
  say("m1", { type: "thinking", thinking: "What is there?" });
  say("m1", text("I look first."));
  say("m1", tool("t1", "Read", { file_path: "/w/src/a.ts" }));
  toolResult("t1", "export {}");
  event({ type: "system", subtype: "task_started", task_id: "x", session_id: session });
  say(
    "m2",
    tool("t2", "Task", { description: "count lines", prompt: "Count.", subagent_type: "x" }),
  );
  say("m3", tool("t3", "Bash", { command: "wc -l\n\u001b[31msrc/*.ts" }), {
    by: cheap,
    used: [7, 8, 9, 10],
    parent: "t2",
  });
  say("m4", text("From the subagent."), { by: cheap, used: [0, 0, 0, 0], parent: "t2" });
  toolResult("t2", "12");
}

play("claude", args, {
  good() {
    work();
    event({
      type: "rate_limit_event",
      rate_limit_info: {
        status: "allowed_warning",
        resetsAt: RESETS_AT,
        rateLimitType: "seven_day",
        overageStatus: "rejected",
        isUsingOverage: false,
      },
      session_id: session,
    });
    result({});
  },
  "cut-off"() {
    work();
  },
  half() {
    work();
    raw('{"type":"result","subtype":"success","is_err');
  },
  garbage() {
    garbage();
    work();
    garbage();
    result({});
  },
  huge() {
    init();
    toolResult("t1", "x".repeat(HUGE));
    say("m1", text("y".repeat(HUGE)));
    raw(`${"z".repeat(HUGE)}\n`);
    result({ result: "y".repeat(HUGE) });
  },
  unknown() {
    init();
    event({ type: "dream", session_id: session, of: "sheep" });
    event({ type: "system", subtype: "something_new", session_id: session });
    result({});
  },
  "rate-limit"() {
    init();
    event({
      type: "rate_limit_event",
      rate_limit_info: {
        status: "rejected",
        resetsAt: RESETS_AT,
        rateLimitType: "five_hour",
        overageStatus: "rejected",
        isUsingOverage: false,
      },
      session_id: session,
    });
    const said = "You've hit your limit · resets 2pm (Asia/Shanghai)";
    say("s1", text(said), { by: "<synthetic>", used: [0, 0, 0, 0], error: "rate_limit" });
    result({ ...nothing, is_error: true, api_error_status: 429, result: said });
    return 1;
  },
  "rate-limit-old"() {
    init();
    result({ ...nothing, result: `Claude AI usage limit reached|${RESETS_AT}` });
  },
  auth: () =>
    apiError("Invalid API key · Please run /login", {
      status: 401,
      error: "authentication_failed",
    }),
  quota: () => apiError("Credit balance is too low", { status: 400, error: "billing_error" }),
  model: () =>
    apiError(
      `There's an issue with the selected model (${model}). It may not exist or you may not have access to it.`,
      { status: 404 },
    ),
  turns() {
    work();
    result({
      subtype: "error_max_turns",
      result: undefined,
      errors: ["Reached maximum number of turns (3)"],
    });
    return 1;
  },
  "session-lost"() {
    result({
      ...nothing,
      subtype: "error_during_execution",
      is_error: true,
      result: undefined,
      errors: [`No conversation found with session ID: ${session}`],
    });
    return 1;
  },
  retries() {
    init();
    event({
      type: "system",
      subtype: "api_retry",
      attempt: 1,
      max_retries: 10,
      retry_delay_ms: 500,
      error_status: 529,
      error: "overloaded",
      session_id: session,
    });
    say("m1", text("Better now."));
    result({ result: "Better now." });
  },
  crash() {
    work();
    complain("TypeError: Cannot read properties of undefined (reading 'rate_limits')");
    return 7;
  },
  killed() {
    work();
    killSelf();
  },
  ansi() {
    coloured({ type: "system", subtype: "init", session_id: session, model });
    coloured({
      type: "assistant",
      message: { id: "m1", model, content: [text("In \u001b[31mred\u001b[0m.\u0007")] },
      session_id: session,
    });
    notText();
    coloured({
      type: "result",
      subtype: "success",
      is_error: false,
      result: "Red.",
      session_id: session,
    });
  },
});
