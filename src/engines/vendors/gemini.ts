import { join } from "node:path";
import { VivError } from "../../base/errors.ts";
import type { Engine, EngineCommand, EngineRequest, LogsOf, SessionLogs } from "../engine.ts";
import { GeminiReader } from "./gemini-reader.ts";
import { geminiHome } from "./private-home.ts";
import { argument, GEMINI_MENTION, inertPrompt } from "./untrusted-text.ts";

/** Gemini, without a terminal: that it has none is how it knows. The prompt is what stdin says. */
export function geminiEngine({ now = Date.now }: { now?: () => number } = {}): Engine {
  return {
    name: "gemini",
    binary: "gemini",
    namesModel: true,
    reportsDollars: "never",
    command,
    home: geminiHome,
    reader: (request) => new GeminiReader(request, now),
    logs,
  };
}

function command(request: EngineRequest): EngineCommand {
  const { model, resume, settings } = request;
  const stdin = inertPrompt(request.prompt, GEMINI_MENTION);
  const argv = [settings.binary ?? "gemini", "--output-format", "stream-json"];
  if (model !== null) argv.push("--model", argument(model, "model"));
  if (resume !== null) argv.push("--resume", argument(resume, "session"));
  if (request.mode === "plan") {
    assertPlanHolds(settings.flags);
    argv.push("--approval-mode", "plan", ...settings.flags);
    return { argv, stdin };
  }
  argv.push(
    "--approval-mode",
    argument(settings.permission ?? "yolo", "permission"),
    ...settings.flags,
  );
  // A workspace nobody has trusted by hand falls back to asking, and nobody is there to be asked.
  return { argv, stdin, env: { GEMINI_CLI_TRUST_WORKSPACE: "true" } };
}

/**
 * Without a person, gemini leaves its plan mode by itself and carries the plan out, and no flag of
 * its own keeps it from that: only a policy that denies the tools it leaves by.
 */
function assertPlanHolds(flags: readonly string[]): void {
  if (flags.some((flag) => /^--(admin-)?policy(=|$)/.test(flag))) return;
  throw new VivError(
    "INVALID",
    "gemini cannot be kept in plan mode when nobody is there: it goes on and carries out the plan. Use another engine for this route, or write a policy file that denies enter_plan_mode and exit_plan_mode and name it in the engine's flags (--policy FILE).",
  );
}

/** Named by the beginning of the session's id; those of its subagents are in a folder of its name. */
function logs({ session, env }: LogsOf): SessionLogs {
  const root = join(env.GEMINI_CLI_HOME || (env.HOME ?? "/"), ".gemini", "tmp");
  const file = new RegExp(`^session-.*-${session.slice(0, 8).replaceAll(".", "\\.")}\\.jsonl?$`);
  return { root, path: [/./, "chats", file], beside: [session], isOnlySource: true };
}
