#!/usr/bin/env node
// Stands in for `gemini --output-format stream-json`, its prompt on stdin.
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
  "--output-format": ["text", "json", "stream-json"],
  "--model": "value",
  "--resume": "value",
  "--approval-mode": ["default", "auto_edit", "yolo", "plan"],
  "--prompt": "value",
  "--policy": "value",
  "--admin-policy": "value",
  "--skip-trust": true,
  "--sandbox": true,
  "--include-directories": "value",
});
const model = args.flags["--model"] ?? "auto-gemini-3";
const session = args.flags["--resume"] ?? "f20edd97-8178-43ab-8c21-f4c533cb9c11";
const timestamp = "2026-11-15T10:00:00.000Z";
const at = (type, fields) => event({ type, timestamp, ...fields });

const init = () => {
  at("init", { session_id: session, model });
  at("message", { role: "user", content: "the prompt" });
};
const say = (...pieces) => {
  for (const content of pieces) at("message", { role: "assistant", content, delta: true });
};
const call = (tool_id, tool_name, parameters) => {
  at("tool_use", { tool_name, tool_id, parameters });
  at("tool_result", { tool_id, status: "success", output: "ok" });
};
const stats = {
  total_tokens: 9788,
  input_tokens: 9418,
  output_tokens: 102,
  cached: 418,
  input: 9000,
  duration_ms: 4138,
  tool_calls: 2,
};
const flash = { total_tokens: 788, input_tokens: 700, output_tokens: 88, cached: 0, input: 700 };
const pro = { total_tokens: 9000, input_tokens: 8718, output_tokens: 14, cached: 418, input: 8300 };
const models = { "gemini-3-pro": pro, "gemini-3-flash": flash };

function work() {
  init();
  say("I look", " first.");
  call("c1", "read_file", { absolute_path: "/w/src/a.ts" });
  call("c2", "run_shell_command", { command: "npm test", description: "tests" });
}
const done = () => at("result", { status: "success", stats: { ...stats, models } });
const fail = (message, exit = 1) => {
  complain(message);
  at("result", { status: "error", error: { type: "Error", message }, stats });
  return exit;
};
const exhausted = JSON.stringify({
  error: {
    code: 429,
    message: "You exceeded your current quota, please check your plan and billing details.",
    status: "RESOURCE_EXHAUSTED",
    details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.5s" }],
  },
});

play("gemini", args, {
  good() {
    work();
    call("c3", "delegate_to_agent", { name: "counter", prompt: "Count." });
    say("It is", " done.");
    done();
  },
  "old-stats"() {
    init();
    say("It is done.");
    at("result", { status: "success", stats });
  },
  "cut-off"() {
    work();
    say("Half");
  },
  half() {
    work();
    raw('{"type":"result","status":"succ');
  },
  garbage() {
    garbage();
    work();
    garbage();
    say("It is done.");
    done();
  },
  huge() {
    init();
    at("tool_result", { tool_id: "c1", status: "success", output: "x".repeat(HUGE) });
    raw(`${"z".repeat(HUGE)}\n`);
    say("y".repeat(HUGE));
    done();
  },
  unknown() {
    init();
    at("dream", { of: "sheep" });
    at("error", { severity: "warning", message: "Loop detected, stopping execution" });
    say("It is done.");
    done();
  },
  "rate-limit"() {
    init();
    return fail(`[API Error: ${exhausted}]`);
  },
  "rate-limit-day"() {
    init();
    complain(
      "TerminalQuotaError: You have exhausted your capacity on this model. Your quota will reset after 10h23m5s.",
    );
    return 1;
  },
  auth() {
    complain(
      "Please set an Auth method in your /root/.gemini/settings.json or specify one of the following environment variables before running: GEMINI_API_KEY",
    );
    return 41;
  },
  quota() {
    init();
    return fail(
      "[API Error: This API method requires billing to be enabled. Payment Required: billing_error]",
    );
  },
  model() {
    init();
    return fail(
      `[API Error: models/${model} is not found for API version v1beta, or is not supported for generateContent. model not found]`,
    );
  },
  turns() {
    work();
    at("error", { severity: "error", message: "Maximum session turns exceeded" });
    complain("Reached max session turns for this session.");
    return 53;
  },
  "turns-status"() {
    work();
    return 53;
  },
  "auth-status"() {
    complain("Something is wrong.");
    return 41;
  },
  input() {
    complain("Exiting due to an error processing the @ command.");
    return 42;
  },
  "session-lost"() {
    complain(
      `Error resuming session: Invalid session identifier "${session}".\n  Use --list-sessions to see available sessions, then use --resume {number}, --resume {uuid}, or --resume latest.`,
    );
    return 42;
  },
  crash() {
    work();
    complain("FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory");
    return 134;
  },
  killed() {
    work();
    killSelf();
  },
  ansi() {
    coloured({ type: "init", timestamp, session_id: session, model });
    notText();
    coloured({
      type: "message",
      timestamp,
      role: "assistant",
      content: "\u001b[31mRed.",
      delta: true,
    });
    coloured({ type: "result", timestamp, status: "success", stats });
  },
});
