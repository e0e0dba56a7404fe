import { join } from "node:path";
import { VivError } from "../../base/errors.ts";
import type { Engine, EngineCommand, EngineRequest, LogsOf, SessionLogs } from "../engine.ts";
import { CodexReader } from "./codex-reader.ts";
import { codexHome } from "./private-home.ts";
import { argument } from "./untrusted-text.ts";

/**
 * Codex, without a terminal. Its stream tells tokens only at the end of a turn; its session file tells
 * those of each answer.
 */
export function codexEngine({ now = Date.now }: { now?: () => number } = {}): Engine {
  return {
    name: "codex",
    binary: "codex",
    namesModel: true,
    reportsDollars: "never",
    command,
    home: codexHome,
    reader: (request) => new CodexReader(request, now),
    logs,
  };
}

/** Inside of our sandbox codex cannot make its own; ours holds instead. */
function sandboxOf({ mode, settings, isConfined }: EngineRequest): string {
  const wanted = mode === "plan" ? "read-only" : (settings.permission ?? "workspace-write");
  if (!isConfined) return argument(wanted, "permission");
  if (wanted !== "read-only") return "danger-full-access";
  throw new VivError(
    "INVALID",
    "codex cannot be kept from writing inside a sandbox, where its own read-only one does not work: set sandbox to off for plan mode, or use another engine.",
  );
}

/** How long it will wait is told here, and nowhere else. */
const LOG = { RUST_LOG: "error,codex_core::responses_retry=warn" };

const NO_SUBAGENTS = ["-c", "features.multi_agent=false", "-c", "features.multi_agent_v2=false"];

function command(request: EngineRequest): EngineCommand {
  const { model, resume, settings } = request;
  const argv = [settings.binary ?? "codex", "exec", "--json"];
  if (model !== null) argv.push("--model", argument(model, "model"));
  argv.push("--sandbox", sandboxOf(request));
  // Otherwise it asks, and so ends, in a folder that is no git repository it knows.
  argv.push("--skip-git-repo-check");
  // What its subagents use it tells nowhere that we follow.
  if (request.isBudgeted) argv.push(...NO_SUBAGENTS);
  // `resume` is a command of its own and knows few options: all of them stand before it.
  argv.push(...settings.flags);
  if (resume !== null) argv.push("resume", argument(resume, "session"));
  return { argv: [...argv, "-"], stdin: request.prompt, env: LOG };
}

function logs({ session, env, settings }: LogsOf): SessionLogs | null {
  if (settings.flags.includes("--ephemeral")) return null;
  const root = join(env.CODEX_HOME || join(env.HOME ?? "/", ".codex"), "sessions");
  const file = new RegExp(`-${session.replaceAll(".", "\\.")}\\.jsonl$`);
  return { root, path: [/^\d{4}$/, /^\d\d$/, /^\d\d$/, file], isOnlySource: true };
}
