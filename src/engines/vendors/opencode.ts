import { VivError } from "../../base/errors.ts";
import type { Engine, EngineCommand, EngineRequest } from "../engine.ts";
import { OpencodeReader } from "./opencode-reader.ts";
import { opencodeHome } from "./private-home.ts";
import { argument } from "./untrusted-text.ts";

/** OpenCode, without a terminal: what it would ask a person for is refused, or allowed by `auto`. */
export function opencodeEngine({ now = Date.now }: { now?: () => number } = {}): Engine {
  return {
    name: "opencode",
    binary: "opencode",
    namesModel: true,
    reportsDollars: "each step",
    command,
    home: opencodeHome,
    reader: (request) => new OpencodeReader(request, now),
  };
}

/** Its plan agent keeps the shell, and falls back to the default agent where it is disabled. */
const NO_WRITES = '{"edit":"deny","bash":"deny"}';

/** That it waits, and what for, it says in its log alone. */
const LOG = ["--print-logs", "--log-level", "WARN"];

function command(request: EngineRequest): EngineCommand {
  const { model, resume, settings } = request;
  const argv = [settings.binary ?? "opencode", "run", "--format", "json", ...LOG];
  if (model !== null) argv.push("--model", argument(model, "model"));
  if (resume !== null) argv.push("--session", argument(resume, "session"));
  const stdin = request.prompt;
  if (request.mode === "plan") {
    argv.push("--agent", "plan", ...settings.flags);
    return { argv, stdin, env: permissions(request, NO_WRITES) };
  }
  const { permission } = settings;
  if (permission?.startsWith("{")) {
    return { argv: [...argv, ...settings.flags], stdin, env: permissions(request, permission) };
  }
  if (permission === "auto") argv.push("--auto");
  else if (permission !== null) {
    throw new VivError(
      "INVALID",
      `opencode has no permission "${permission}": use "auto", or its permissions as JSON ({"bash":"deny"}).`,
    );
  }
  const env = request.isBudgeted ? { env: permissions(request, "{}") } : {};
  return { argv: [...argv, ...settings.flags], stdin, ...env };
}

/** Its stream tells nothing of what its subagents use: where that is limited, it may start none. */
function permissions({ isBudgeted }: EngineRequest, text: string): Record<string, string> {
  if (!isBudgeted) return { OPENCODE_PERMISSION: text };
  try {
    const own = JSON.parse(text) as Record<string, unknown>;
    return { OPENCODE_PERMISSION: JSON.stringify({ ...own, task: "deny" }) };
  } catch (error) {
    const message = 'the permission of opencode is no JSON object, like {"bash":"deny"}.';
    throw new VivError("INVALID", message, {}, { cause: error });
  }
}
