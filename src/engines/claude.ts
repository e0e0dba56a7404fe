import { ClaudeReader } from "./claude-reader.ts";
import type { Engine, EngineCommand, EngineRequest } from "./engine.ts";
import { argument } from "./exec-argument.ts";

/** Claude Code, without a terminal. The prompt goes in on stdin, events come out line by line. */
export function claudeEngine({ now = Date.now }: { now?: () => number } = {}): Engine {
  return {
    name: "claude",
    binary: "claude",
    tellsDollars: "at the end",
    command,
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
    // Its plan mode asks before it writes, and has let a write through after a refused
    // ExitPlanMode; without these tools there is nothing to let through.
    argv.push("--permission-mode", "plan");
    argv.push("--disallowedTools", "Edit,Write,NotebookEdit,ExitPlanMode");
  } else {
    // Anything less denies what nobody is there to allow, a test run for one.
    argv.push(
      "--permission-mode",
      argument(settings.permission ?? "bypassPermissions", "permission"),
    );
  }
  return { argv: [...argv, ...settings.flags], stdin: request.prompt };
}
