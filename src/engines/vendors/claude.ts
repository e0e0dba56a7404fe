import { join } from "node:path";
import type { Engine, EngineCommand, EngineRequest, LogsOf, SessionLogs } from "../engine.ts";
import { CLAUDE_NOISE, ClaudeReader } from "./claude-reader.ts";
import { claudeHome } from "./private-home.ts";
import { argument, CLAUDE_ENV, CLAUDE_MENTION, inertPrompt } from "./untrusted-text.ts";

/** Claude Code, without a terminal. The prompt goes in on stdin, events come out line by line. */
export function claudeEngine(now = Date.now): Engine {
  return {
    name: "claude",
    binary: "claude",
    namesModel: true,
    reportsDollars: "at the end",
    command,
    home: claudeHome,
    reader: (request) => new ClaudeReader(request, now),
    noise: CLAUDE_NOISE,
    logs,
  };
}

function command(request: EngineRequest): EngineCommand {
  const { model, resume, turns, settings } = request;
  const argv = [settings.binary ?? "claude", "-p", "--output-format", "stream-json", "--verbose"];
  // Otherwise the output of an answer is reported only at the end of the run.
  argv.push("--include-partial-messages");
  if (model !== null) argv.push("--model", argument(model, "model"));
  if (resume !== null) argv.push("--resume", argument(resume, "session"));
  // Only a second guard: it does not cover its subagents.
  if (request.budgetUsd !== undefined) argv.push("--max-budget-usd", dollars(request.budgetUsd));
  if (turns !== null) argv.push("--max-turns", String(turns));
  if (request.mode === "plan") {
    // Its plan mode is no wall: a rule that allows a command lets that command write. Without
    // the tools there is nothing to allow.
    argv.push("--tools", "Read,Grep,Glob,WebFetch,WebSearch", "--permission-mode", "plan");
  } else {
    // Files may be edited; for commands the user's own settings hold. A wider permission is set in
    // viv.toml, best together with a sandbox.
    argv.push("--permission-mode", argument(settings.permission ?? "acceptEdits", "permission"));
  }
  const stdin = inertPrompt(request.prompt, CLAUDE_MENTION);
  return { argv: [...argv, ...settings.flags], stdin, env: CLAUDE_ENV };
}

/** More than zero, and without an exponent: claude takes no other form. */
function dollars(usd: number): string {
  return String(Number(Math.max(usd, 0.000001).toFixed(6)));
}

/** Beside a session's own transcript, a folder has those of its subagents. */
function logs({ session, env }: LogsOf): SessionLogs {
  const root = join(env.CLAUDE_CONFIG_DIR || join(env.HOME ?? "/", ".claude"), "projects");
  const beside = [session, "subagents"];
  return { root, path: [/./, `${session}.jsonl`], beside, isOnlySource: false };
}
