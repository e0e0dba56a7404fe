// What it costs to read a vendor's stream: a worker that runs a program which only prints one,
// beside the same worker with the same program as a plain handler.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fillOurs } from "../lib/fill.mjs";
import { median, ROUNDS, takeTurns } from "../lib/samples.mjs";
import { memoryMb, startWorker } from "../lib/work.mjs";

export default async function stream(bench) {
  const lines = bench.quick ? 20_000 : 100_000;
  const samples = await takeTurns(
    { engine: () => run(bench, lines, "engine"), handler: () => run(bench, lines, "handler") },
    bench.quick ? 3 : ROUNDS,
  );
  const took = (name) => median(samples[name].map(({ ms }) => ms));
  bench.row({
    measure: `engines: reading a stream of ${lines} lines, each`,
    ours: ((took("engine") - took("handler")) * 1000) / lines,
    unit: "µs",
    judged: "ours",
    target: { under: 50 },
  });
  const long = await run(bench, 3 * lines, "engine");
  const usual = median(samples.engine.map(({ mb }) => mb));
  bench.row({
    measure: `engines: memory with ${3 * lines} lines, beside ${lines}`,
    ours: long.mb,
    peer: usual,
    unit: "MB",
    ratio: long.mb / usual,
    target: { atMost: 1.3 },
  });
}

async function run(bench, lines, kind) {
  const path = await fillOurs(bench, 1);
  const home = `${path}-home`;
  mkdirSync(home);
  writeFileSync(join(home, "stream.jsonl"), streamOf(lines));
  writeFileSync(
    join(home, "vendor.sh"),
    `#!/bin/sh\ncat > /dev/null\nexec cat ${home}/stream.jsonl\n`,
    {
      mode: 0o755,
    },
  );
  writeFileSync(join(home, "prompt.md"), "go\n");
  const engine = 'engine = "claude"\nbinary = "./vendor.sh"\nprompt = "prompt.md"';
  const route = kind === "engine" ? engine : 'handler = "./vendor.sh"';
  writeFileSync(join(home, "viv.toml"), `run = "${path}"\n[handlers.default]\n${route}\n`);
  const worker = startWorker(bench, path, ["--durability", "fast"], { cwd: home });
  const ended = await worker.said("ended");
  const mb = memoryMb(worker.pid, "VmHWM");
  await worker.stop();
  if (ended.outcome !== "done") throw new Error(`${kind}: ${JSON.stringify(ended)}`);
  return { ms: ended.duration_ms, mb };
}

/** As Claude Code prints them: text, a tool, its result, over and over. */
function streamOf(lines) {
  const session_id = "0c0ffee0-1111-4222-8333-444455556666";
  const parts = [
    { type: "system", subtype: "init", session_id, model: "model-1", tools: ["Bash"], cwd: "/" },
  ];
  for (let i = 1; i < lines - 1; i++) {
    const usage = { input_tokens: 3, output_tokens: 90, cache_read_input_tokens: 20_000 };
    const message = { id: `m${i}`, role: "assistant", model: "model-1", usage };
    const text = [{ type: "text", text: "I look at the next file. ".repeat(8) }];
    const tool = [{ type: "tool_use", id: `t${i}`, name: "Bash", input: { command: "npm test" } }];
    const result = [{ type: "tool_result", tool_use_id: `t${i}`, content: "ok ".repeat(200) }];
    if (i % 3 === 0)
      parts.push({ type: "user", session_id, message: { role: "user", content: result } });
    else
      parts.push({
        type: "assistant",
        session_id,
        message: { ...message, content: i % 3 === 1 ? text : tool },
      });
  }
  parts.push({
    ...{ type: "result", subtype: "success", is_error: false, result: "done", session_id },
    ...{
      total_cost_usd: 1.5,
      num_turns: 3,
      usage: {},
      modelUsage: {
        "model-1": {
          inputTokens: 9,
          outputTokens: 9,
          cacheReadInputTokens: 0,
          cacheCreationInputTokens: 0,
          costUSD: 1.5,
        },
      },
    },
  });
  return parts.map((part) => `${JSON.stringify(part)}\n`).join("");
}
