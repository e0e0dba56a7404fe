import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Example } from "./example.ts";

/**
 * Puts a `claude` into an example's PATH: with the vendor's flags, its stream and its long names for
 * its models, and with commands in the place of its thoughts.
 */
export function putClaude(example: Example, commands: string): void {
  const program = join(example.folder, "../bin/claude");
  writeFileSync(
    program,
    PROGRAM.replace("COMMANDS", () => JSON.stringify(commands)),
  );
  chmodSync(program, 0o755);
}

const PROGRAM = String.raw`#!/usr/bin/env node
const { spawnSync } = require("node:child_process");
const { readFileSync, writeFileSync } = require("node:fs");
const { join } = require("node:path");

const args = process.argv.slice(2).join(" ");
const flags = /^-p --output-format stream-json --verbose --include-partial-messages( --model (haiku|opus))?( --max-budget-usd [\d.]+)?( --max-turns \d+)? --permission-mode acceptEdits$/;
if (!flags.test(args)) throw new Error("unknown flags: " + args);
const [, , alias = "sonnet"] = flags.exec(args);
const model = "claude-" + alias + "-9-20260101";
writeFileSync(join(__dirname, "../asked-" + process.env.VIV_TASK_ID), readFileSync(0, "utf8"));

const say = (event) => console.log(JSON.stringify({ session_id: "s-1", ...event }));
const think = (id, usage) => say({ type: "assistant", message: { id, model, content: [], usage } });
say({ type: "system", subtype: "init", model });
think("m1", { input_tokens: 3000, output_tokens: 80, cache_creation_input_tokens: 9000 });
spawnSync("/bin/sh", ["-c", COMMANDS]);
think("m2", { input_tokens: 100, output_tokens: 80, cache_read_input_tokens: 12000 });
const modelUsage = { [model]: { inputTokens: 3100, outputTokens: 160, cacheReadInputTokens: 12000, cacheCreationInputTokens: 9000, costUSD: 0.25 } };
const result = { subtype: "success", is_error: false, result: "Done.", total_cost_usd: 0.25 };
say({ type: "result", ...result, modelUsage });
`;
