/** `script-engine SCENARIO`: plays a scenario as if it were a model. A request on stdin, events on stdout. */
import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { newTaskId } from "../../base/id.ts";
import type { LlmEvent } from "../llm/protocol.ts";
import { play } from "./play.ts";
import { parseScenario, pickCase } from "./scenario.ts";

const say = (event: LlmEvent) => process.stdout.write(`${JSON.stringify(event)}\n`);

function refuse(message: string): void {
  const outcome = { kind: "refused" as const, message };
  say({ type: "result", outcome, text: "", session: null, usage: [], steps: 0 });
  process.exitCode = 2;
}

async function main(): Promise<void> {
  const file = process.argv[2] ?? "";
  const { prompt, model, mode, resume } = JSON.parse(await text(process.stdin)) as {
    prompt: string;
    model: string | null;
    mode: "plan" | "edit";
    resume: string | null;
  };
  const cases = await parseScenario(readFileSync(file, "utf8"), file);
  const { VIV_TASK_TYPE = "", VIV_ATTEMPT = "1" } = process.env;
  const at = { type: VIV_TASK_TYPE, attempt: Number(VIV_ATTEMPT), model, prompt };
  const found = pickCase(cases, at);
  if (found === undefined) return refuse(`${file} has no case for this: ${JSON.stringify(at)}`);
  const status = await play(found, {
    cwd: process.cwd(),
    model,
    mode,
    session: resume ?? newTaskId(Date.now(), Math.random),
    say,
    sleep: (ms) => pause(ms),
    now: Date.now,
  });
  if (status === null) process.kill(process.pid, "SIGKILL");
  else process.exitCode = status;
}

main().catch((error: unknown) => refuse(error instanceof Error ? error.message : String(error)));
