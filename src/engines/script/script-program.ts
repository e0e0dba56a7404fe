/** `script-engine SCENARIO`: plays a scenario like a model. A request on stdin, events on stdout. */
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { parseDuration } from "../../base/duration.ts";
import { messageOf } from "../../base/errors.ts";
import { newTaskId } from "../../base/id.ts";
import { addTokens, type ModelUsage, NO_TOKENS } from "../costs/usage.ts";
import type { EngineOutcome, Step } from "../engine.ts";
import type { LlmEvent } from "../llm/protocol.ts";
import {
  type Case,
  parseScenario,
  pickCase,
  type ScriptStep,
  type ScriptUsage,
} from "./scenario.ts";

interface Request {
  prompt: string;
  model: string | null;
  mode: "plan" | "edit";
  resume: string | null;
}

const SHORT = 200;

const emit = (event: LlmEvent) => process.stdout.write(`${JSON.stringify(event)}\n`);

async function main(): Promise<void> {
  const file = process.argv[2] ?? "";
  const request = JSON.parse(await text(process.stdin)) as Request;
  const { prompt, model } = request;
  const cases = await parseScenario(readFileSync(file, "utf8"), file);
  const { VIV_TASK_TYPE = "", VIV_ATTEMPT = "1" } = process.env;
  const at = { type: VIV_TASK_TYPE, attempt: Number(VIV_ATTEMPT), model, prompt };
  const found = pickCase(cases, at);
  if (found === undefined) return refuse(`${file} has no case for this: ${JSON.stringify(at)}`);
  await play(found, request);
}

function refuse(message: string): void {
  const outcome = { kind: "refused" as const, message };
  emit({ type: "result", outcome, text: "", session: null, usage: [], steps: 0 });
  process.exitCode = 2;
}

async function play(one: Case, { model, mode, resume }: Request): Promise<void> {
  const session = resume ?? newTaskId(Date.now(), Math.random);
  emit({ type: "session", session });
  let used: ModelUsage | null = null;
  for (const step of one.step) {
    if (step.delay) await sleep(parseDuration(step.delay, "delay"));
    for await (const done of act(step, mode)) emit({ type: "step", ...done });
    if (step.usage === undefined) continue;
    const usage = usageOf(step.usage, model ?? "script");
    used = { ...usage, ...addTokens(usage, used ?? NO_TOKENS), usd: sumUsd(usage, used) };
    emit({ type: "step", kind: "notice", usage });
  }
  const end = one.end ?? { outcome: "done" };
  if (end.outcome === "silence") process.kill(process.pid, "SIGKILL");
  process.exitCode = end.outcome === "done" ? 0 : 1;
  if (end.outcome === "silence" || end.outcome === "crash") return;
  const answer = end.text_from ? (await shell(end.text_from)).trim() : (end.text ?? "");
  const outcome = outcomeOf(end.outcome, answer, end.until);
  const usage = used === null ? [] : [used];
  emit({ type: "result", outcome, text: answer, session, usage, steps: one.step.length });
}

async function* act(step: ScriptStep, mode: Request["mode"]): AsyncGenerator<Step> {
  if (step.think) yield { kind: "thought", text: step.think };
  if (step.say) yield { kind: "text", text: step.say };
  const change = step.run ?? step.write;
  if (change !== undefined && mode === "plan") {
    yield { kind: "notice", text: `plan mode: ${change.slice(0, SHORT)} was not done` };
    return;
  }
  if (step.run !== undefined) {
    yield { kind: "tool", tool: "shell", target: step.run.slice(0, SHORT) };
    const output = (await shell(step.run)).trimEnd();
    if (output) yield { kind: "text", text: output.slice(-SHORT) };
  }
  if (step.write !== undefined) {
    yield { kind: "tool", tool: "write_file", target: step.write };
    const path = resolve(step.write);
    if (relative(process.cwd(), path).startsWith("..")) {
      yield { kind: "notice", text: `${step.write} is outside of the workspace` };
      return;
    }
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, step.text ?? "");
  }
}

/** Its stdout; after a failure also its stderr and its exit. */
function shell(command: string): Promise<string> {
  return new Promise((settle) => {
    const options = { maxBuffer: 16 * 1024 * 1024 };
    const child = execFile("/bin/sh", ["-c", command], options, (error, stdout, stderr) =>
      settle(error ? `${stdout}${stderr}[exit ${error.code ?? error.signal}]` : stdout),
    );
    child.stdin?.end(); // a command that reads finds the end, and does not wait
  });
}

function usageOf(usage: ScriptUsage, model: string): ModelUsage {
  const { input, output, cache_read, cache_write, usd } = usage;
  return { model, input, output, cacheRead: cache_read, cacheWrite: cache_write, usd: usd ?? null };
}

function sumUsd(usage: ModelUsage, before: ModelUsage | null): number | null {
  if (before === null) return usage.usd;
  return usage.usd === null || before.usd === null ? null : usage.usd + before.usd;
}

function outcomeOf(
  kind: Exclude<NonNullable<Case["end"]>["outcome"], "crash" | "silence">,
  text: string,
  until: string | undefined,
): EngineOutcome {
  const message = text || `the scenario ends with ${kind}`;
  if (kind === "done") return { kind };
  if (kind === "rate_limited") {
    const at = until === undefined ? null : new Date(Date.now() + parseDuration(until, "until"));
    return { kind, message, until: at?.toISOString() ?? null };
  }
  if (kind === "unauthorized" || kind === "quota") {
    return { kind, message, todo: "change the scenario" };
  }
  return { kind, message };
}

main().catch((error: unknown) => refuse(messageOf(error)));
