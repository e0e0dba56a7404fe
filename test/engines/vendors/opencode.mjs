#!/usr/bin/env node
// Stands in for `opencode run --format json`, its prompt on stdin.
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
  raw,
} from "./replay.mjs";

const args = parse(process.argv.slice(2), {
  "--format": ["default", "json"],
  "--print-logs": true,
  "--log-level": ["DEBUG", "INFO", "WARN", "ERROR"],
  "--model": "value",
  "--session": "value",
  "--agent": "value",
  "--auto": true,
  "--dangerously-skip-permissions": true,
  "--thinking": true,
  "--variant": "value",
  "--title": "value",
  "--dir": "value",
});
if (args.words.join(" ") !== "run") {
  complain(`error: unexpected argument in '${args.words.join(" ")}'`);
  process.exit(64);
}
const sessionID = args.flags["--session"] ?? "ses_2f6a0c1d2e3f";
const at = (type, fields) => event({ type, timestamp: 1763200000000, sessionID, ...fields });
const part = (type, fields) => ({
  id: `prt_${type}`,
  sessionID,
  messageID: "msg_1",
  type,
  ...fields,
});

const start = () => at("step_start", { part: part("step-start", {}) });
const finish = (reason, cost = 0.01) =>
  at("step_finish", {
    part: part("step-finish", {
      reason,
      cost,
      tokens: { input: 100, output: 20, reasoning: 5, cache: { read: 50, write: 10 } },
    }),
  });
const call = (tool, input) =>
  at("tool_use", {
    part: part("tool", {
      callID: "call_1",
      tool,
      state: { status: "completed", input, output: "ok", title: tool, metadata: {} },
    }),
  });
const say = (text, messageID = "msg_2") => at("text", { part: part("text", { messageID, text }) });
const fail = (name, data) => {
  at("error", { error: { name, data } });
  return 1;
};

function work() {
  start();
  at("reasoning", { part: part("reasoning", { text: "What is there?" }) });
  say("I look first.", "msg_1");
  call("read", { filePath: "/w/src/a.ts" });
  call("task", { description: "count lines", prompt: "Count.", subagent_type: "general" });
  call("bash", { command: "npm test", description: "tests" });
  finish("tool-calls");
}

play("opencode", args, {
  good() {
    work();
    start();
    say("It is ");
    say("done.");
    finish("stop", 0.02);
    at("done", { reason: "idle", rejected: [] });
  },
  old() {
    work();
    start();
    say("It is done.");
    finish("stop", 0.02);
  },
  "cut-off"() {
    work();
  },
  half() {
    work();
    raw('{"type":"step_finish","part":{"rea');
  },
  garbage() {
    garbage();
    work();
    garbage();
    say("It is done.");
    finish("stop");
  },
  huge() {
    start();
    call("read", { filePath: "x".repeat(HUGE) });
    raw(`${"z".repeat(HUGE)}\n`);
    say("y".repeat(HUGE));
    finish("stop");
  },
  unknown() {
    start();
    at("dream", { of: "sheep" });
    say("It is done.");
    finish("stop");
  },
  "rate-limit"() {
    start();
    return fail("APIError", {
      message: "Too Many Requests",
      statusCode: 429,
      isRetryable: true,
      responseHeaders: { "retry-after": "120" },
      responseBody: '{"error":{"type":"rate_limit_error","message":"slow down"}}',
    });
  },
  auth: () => fail("ProviderAuthError", { providerID: "anthropic", message: "no key" }),
  quota: () =>
    fail("APIError", {
      message: "Insufficient credits. Add more at the provider's page",
      statusCode: 402,
      isRetryable: false,
    }),
  model: () =>
    fail("UnknownError", { message: "Model not found: openai/gpt-99. Did you mean: gpt-6?" }),
  "session-lost"() {
    complain("\u001b[91m\u001b[1mError: \u001b[0mSession not found");
    return 1;
  },
  crash() {
    work();
    complain("panic: segmentation fault at 0x0");
    return 139;
  },
  killed() {
    work();
    killSelf();
  },
  ansi() {
    coloured({ type: "step_start", sessionID, part: {} });
    notText();
    coloured({ type: "text", sessionID, part: { messageID: "m", text: "\u001b[31mRed." } });
    coloured({ type: "step_finish", sessionID, part: { reason: "stop", cost: 0.5 } });
  },
});
