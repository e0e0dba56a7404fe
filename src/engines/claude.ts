import { ClaudeReader } from "./claude-reader.ts";
import type { Engine, EngineCommand, EngineRequest } from "./engine.ts";
import { argument } from "./exec-argument.ts";
import { CLAUDE_ENV, CLAUDE_MENTION, inertPrompt } from "./inert-prompt.ts";
import { claudeHome } from "./private-home.ts";

/** Claude Code, without a terminal. The prompt goes in on stdin, events come out line by line. */
export function claudeEngine({ now = Date.now }: { now?: () => number } = {}): Engine {
  return {
    name: "claude",
    binary: "claude",
    tellsDollars: "at the end",
    command,
    home: claudeHome,
    reader: () => new ClaudeReader(now),
  };
}

function command(request: EngineRequest): EngineCommand {
  const { model, resume, turns, settings } = request;
  const argv = [settings.binary ?? "claude", "-p", "--output-format", "stream-json", "--verbose"];
  if (model !== null) argv.push("--model", argument(model, "model"));
  if (resume !== null) argv.push("--resume", argument(resume, "session"));
  if (turns !== null) argv.push("--max-turns", String(turns));
  if (request.mode === "plan") {
    // Its plan mode is no wall: a rule that allows a command lets that command write. Without
    // the tools there is nothing to allow.
    argv.push("--tools", "Read,Grep,Glob,WebFetch,WebSearch", "--permission-mode", "plan");
  } else {
    // Files may be edited; for commands the user's own settings hold. Who wants more says so, best
    // together with a sandbox: nobody is there to be asked.
    argv.push("--permission-mode", argument(settings.permission ?? "acceptEdits", "permission"));
  }
  const stdin = inertPrompt(request.prompt, CLAUDE_MENTION);
  return { argv: [...argv, ...settings.flags], stdin, env: CLAUDE_ENV };
}
