import { join } from "node:path";
import { CodexReader } from "./codex-reader.ts";
import type { Engine, EngineCommand, EngineRequest, LogsOf, SessionLogs } from "./engine.ts";
import { argument } from "./exec-argument.ts";

/**
 * Codex, without a terminal. Its stream tells tokens only at the end of a turn; its session file tells
 * those of each answer.
 */
export function codexEngine({ now = Date.now }: { now?: () => number } = {}): Engine {
  return {
    name: "codex",
    binary: "codex",
    namesModel: true,
    tellsDollars: "never",
    command,
    reader: (request) => new CodexReader(request, now),
    logs,
  };
}

function command(request: EngineRequest): EngineCommand {
  const { model, resume, settings } = request;
  const argv = [settings.binary ?? "codex", "exec", "--json"];
  if (model !== null) argv.push("--model", argument(model, "model"));
  const sandbox =
    request.mode === "plan"
      ? "read-only"
      : argument(settings.permission ?? "workspace-write", "permission");
  argv.push("--sandbox", sandbox);
  // Otherwise it asks, and so ends, in a folder that is no git repository it knows.
  argv.push("--skip-git-repo-check");
  // `resume` is a command of its own and knows few options: all of them stand before it.
  argv.push(...settings.flags);
  if (resume !== null) argv.push("resume", argument(resume, "session"));
  return { argv: [...argv, "-"], stdin: request.prompt };
}

function logs({ session, env, settings }: LogsOf): SessionLogs | null {
  if (settings.flags.includes("--ephemeral")) return null;
  const root = join(env.CODEX_HOME || join(env.HOME ?? "/", ".codex"), "sessions");
  const file = new RegExp(`-${session.replaceAll(".", "\\.")}\\.jsonl$`);
  return { root, path: [/^\d{4}$/, /^\d\d$/, /^\d\d$/, file], isOnlySource: true };
}
