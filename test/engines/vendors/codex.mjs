#!/usr/bin/env node
// Stands in for `codex exec --json -` and `codex exec --json resume ID -`.
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
  "--json": true,
  "--model": "value",
  "--sandbox": ["read-only", "workspace-write", "danger-full-access"],
  "--skip-git-repo-check": true,
  "--ephemeral": true,
  "--cd": "value",
  "--add-dir": "value",
  "-c": "value",
});
const [verb, ...words] = args.words;
const resumed = words[0] === "resume" ? words[1] : null;
if (verb !== "exec" || words.at(-1) !== "-" || words.length !== (resumed === null ? 1 : 3)) {
  complain(`error: unexpected argument in '${args.words.join(" ")}'`);
  process.exit(64);
}
if (resumed !== null && process.argv.indexOf("--sandbox") > process.argv.indexOf("resume")) {
  complain("error: unexpected argument '--sandbox' found");
  process.exit(64);
}
const thread = resumed ?? "019e9154-c304-70f0-adde-36efb1be1701";
const model = args.flags["--model"] ?? "gpt-6-codex";

const begin = () => {
  event({ type: "thread.started", thread_id: thread });
  event({ type: "turn.started" });
};
const item = (when, id, fields) => event({ type: `item.${when}`, item: { id, ...fields } });
const message = (id, text) => item("completed", id, { type: "agent_message", text });
/** The counters are the thread's: a resumed one counts on. */
const complete = () => {
  const before = resumed === null ? 0 : 1000;
  event({
    type: "turn.completed",
    usage: {
      input_tokens: before + 500,
      cached_input_tokens: before + 300,
      output_tokens: before + 40,
      reasoning_output_tokens: 10,
    },
  });
};
const fail = (said) => {
  event({ type: "error", message: said });
  event({ type: "turn.failed", error: { message: said } });
  return 1;
};
const command = { type: "command_execution", command: "/bin/bash -lc 'npm test'" };

/** As codex writes a moment of another day: "Nov 16th, 2026 3:05 PM", by the clock on the wall. */
function localTime(seconds) {
  const at = new Date(seconds * 1000);
  const part = (options) => at.toLocaleString("en-US", options);
  const time = part({ hour: "numeric", minute: "2-digit" }).replace(/\s/g, " ");
  return `${part({ month: "short" })} ${at.getDate()}th, ${at.getFullYear()} ${time}`;
}

function work() {
  begin();
  item("completed", "item_0", { type: "reasoning", text: "**Looking around**" });
  item("started", "item_1", {
    ...command,
    aggregated_output: "",
    exit_code: null,
    status: "in_progress",
  });
  item("completed", "item_1", {
    ...command,
    aggregated_output: "ok",
    exit_code: 0,
    status: "completed",
  });
  item("started", "item_2", { type: "todo_list", items: [{ text: "fix", completed: false }] });
  item("updated", "item_2", { type: "todo_list", items: [{ text: "fix", completed: true }] });
  item("completed", "item_3", {
    type: "file_change",
    changes: [
      { path: "src/a.ts", kind: "update" },
      { path: "src/b.ts", kind: "add" },
    ],
    status: "completed",
  });
  item("started", "item_4", {
    type: "collab_tool_call",
    tool: "spawn_agent",
    sender_thread_id: thread,
    receiver_thread_ids: [],
    prompt: "Count the lines.",
    agents_states: {},
    status: "in_progress",
  });
  message("item_5", "Half way.");
}

play("codex", args, {
  good() {
    work();
    item("started", "item_6", {
      type: "mcp_tool_call",
      server: "docs",
      tool: "lookup",
      arguments: { query: "rename" },
      status: "in_progress",
    });
    item("completed", "item_7", {
      type: "web_search",
      id: "ws",
      query: "atomic rename",
      action: {},
    });
    message("item_8", "It is done.");
    complete();
  },
  "cut-off"() {
    work();
  },
  half() {
    work();
    raw('{"type":"turn.completed","usage":{"input_to');
  },
  garbage() {
    garbage();
    begin();
    garbage();
    event({ type: "item.completed" });
    message("item_0", "It is done.");
    complete();
  },
  huge() {
    begin();
    item("completed", "item_1", {
      ...command,
      aggregated_output: "x".repeat(HUGE),
      exit_code: 0,
      status: "completed",
    });
    raw(`${"z".repeat(HUGE)}\n`);
    message("item_2", "y".repeat(HUGE));
    complete();
  },
  unknown() {
    begin();
    event({ type: "item.dream.delta", item_id: "x", delta: "sheep" });
    item("completed", "item_1", { type: "hologram" });
    message("item_2", "It is done.");
    complete();
  },
  retries() {
    begin();
    event({
      type: "error",
      message: "Reconnecting... 1/5 (stream disconnected before completion)",
    });
    event({
      type: "error",
      message: "Reconnecting... 2/5 (exceeded retry limit, last status: 429 Too Many Requests)",
    });
    message("item_0", "It is done.");
    complete();
  },
  "rate-limit"() {
    begin();
    return fail(
      `You've hit your usage limit. Visit https://chatgpt.com/codex/settings/usage to purchase more credits or try again at ${localTime(RESETS_AT)}.`,
    );
  },
  "rate-limit-status"() {
    begin();
    return fail("exceeded retry limit, last status: 429 Too Many Requests, request id: abc");
  },
  auth() {
    begin();
    return fail(
      'unexpected status 401 Unauthorized: {"detail":"Unauthorized"}, url: https://chatgpt.com/backend-api/codex/responses',
    );
  },
  quota() {
    begin();
    return fail("Quota exceeded. Check your plan and billing details.");
  },
  model() {
    begin();
    return fail(
      JSON.stringify({
        type: "error",
        status: 400,
        error: {
          type: "invalid_request_error",
          message: `The '${model}' model is not supported when using Codex with a ChatGPT account.`,
        },
      }),
    );
  },
  "session-lost"() {
    complain(
      `Error: thread/resume: thread/resume failed: no rollout found for thread id ${thread} (code -32600)`,
    );
    return 1;
  },
  crash() {
    work();
    complain("thread 'main' panicked at core/src/lib.rs:42");
    return 101;
  },
  killed() {
    work();
    killSelf();
  },
  ansi() {
    coloured({ type: "thread.started", thread_id: thread });
    notText();
    coloured({
      type: "item.completed",
      item: { id: "i", type: "agent_message", text: "\u001b[31mRed.\u001b[0m" },
    });
    coloured({
      type: "turn.completed",
      usage: { input_tokens: 1, cached_input_tokens: 0, output_tokens: 2 },
    });
  },
});
