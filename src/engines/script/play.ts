import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { parseDuration } from "../../base/duration.ts";
import { addTokens, type ModelUsage, NO_TOKENS } from "../costs/usage.ts";
import type { EngineOutcome, Step } from "../engine.ts";
import type { LlmEvent } from "../llm/protocol.ts";
import type { Case, ScriptStep, ScriptUsage } from "./scenario.ts";

export interface Stage {
  cwd: string;
  model: string | null;
  mode: "plan" | "edit";
  session: string;
  say(event: LlmEvent): void;
  sleep(ms: number): Promise<void>;
  now(): number;
}

const SHORT = 200;

/** Plays a case to its end. Returns the exit status, or null for one that dies without a word. */
export async function play(one: Case, stage: Stage): Promise<number | null> {
  stage.say({ type: "session", session: stage.session });
  let used: ModelUsage | null = null;
  let steps = 0;
  for (const step of one.step) {
    if (step.delay) await stage.sleep(parseDuration(step.delay, "delay"));
    const usage = step.usage && usageOf(step.usage, stage);
    if (usage) used = { ...usage, ...addTokens(usage, used ?? NO_TOKENS), usd: sum(usage, used) };
    for (const done of act(step, stage)) stage.say({ type: "step", ...done });
    if (usage) stage.say({ type: "step", kind: "notice", usage });
    steps++;
  }
  const end = one.end ?? { outcome: "done" };
  if (end.outcome === "silence") return null;
  if (end.outcome === "crash") return 1;
  const text = end.text_from ? shell(end.text_from, stage).trim() : (end.text ?? "");
  const outcome = outcomeOf(end.outcome, text, end.until, stage);
  const usage = used === null ? [] : [used];
  stage.say({ type: "result", outcome, text, session: stage.session, usage, steps });
  return outcome.kind === "done" ? 0 : 1;
}

function* act(step: ScriptStep, stage: Stage): Generator<Step> {
  if (step.think) yield { kind: "thought", text: step.think };
  if (step.say) yield { kind: "text", text: step.say };
  const isWriting = step.run ?? step.write;
  if (isWriting !== undefined && stage.mode === "plan") {
    yield { kind: "notice", text: `plan mode: ${isWriting.slice(0, SHORT)} was not done` };
    return;
  }
  if (step.run !== undefined) {
    yield { kind: "tool", tool: "shell", target: step.run.slice(0, SHORT) };
    const said = shell(step.run, stage).trimEnd();
    if (said) yield { kind: "text", text: said.slice(-SHORT) };
  }
  if (step.write !== undefined) {
    yield { kind: "tool", tool: "write_file", target: step.write };
    const path = resolve(stage.cwd, step.write);
    if (relative(stage.cwd, path).startsWith("..")) {
      yield { kind: "notice", text: `${step.write} is outside of the workspace` };
      return;
    }
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, step.text ?? "");
  }
}

function shell(command: string, { cwd }: Stage): string {
  const { stdout, stderr, status, signal } = spawnSync("/bin/sh", ["-c", command], {
    cwd,
    encoding: "utf8",
    maxBuffer: 16 * 1024 * 1024,
  });
  return status === 0 ? stdout : `${stdout}${stderr}[exit ${status ?? signal}]`;
}

function usageOf({ input, output, cache_read, cache_write, usd }: ScriptUsage, { model }: Stage) {
  const tokens = { input, output, cacheRead: cache_read, cacheWrite: cache_write };
  return { model: model ?? "script", ...tokens, usd: usd ?? null };
}

function sum(usage: ModelUsage, before: ModelUsage | null): number | null {
  if (before === null) return usage.usd;
  return usage.usd === null || before.usd === null ? null : usage.usd + before.usd;
}

function outcomeOf(
  kind: Exclude<NonNullable<Case["end"]>["outcome"], "crash" | "silence">,
  text: string,
  until: string | undefined,
  { now }: Stage,
): EngineOutcome {
  const message = text || `the scenario ends with ${kind}`;
  if (kind === "done") return { kind };
  if (kind === "rate_limited") {
    const at = until === undefined ? null : new Date(now() + parseDuration(until, "until"));
    return { kind, message, until: at?.toISOString() ?? null };
  }
  if (kind === "unauthorized" || kind === "quota") {
    return { kind, message, todo: "change the scenario" };
  }
  return { kind, message };
}
