import { VivError } from "../model/errors.ts";
import { CodexReader } from "./codex-reader.ts";
import type { Engine, EngineCommand, EngineRequest } from "./engine.ts";
import { argument } from "./exec-argument.ts";
import { codexHome } from "./private-home.ts";

/** Codex, without a terminal. It tells tokens and no dollars, and those only at the end. */
export function codexEngine({ now = Date.now }: { now?: () => number } = {}): Engine {
  return {
    name: "codex",
    binary: "codex",
    tellsDollars: "never",
    command,
    home: codexHome,
    reader: (request) => new CodexReader(request, now),
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

function command(request: EngineRequest): EngineCommand {
  const { model, resume, settings } = request;
  const argv = [settings.binary ?? "codex", "exec", "--json"];
  if (model !== null) argv.push("--model", argument(model, "model"));
  argv.push("--sandbox", sandboxOf(request));
  // Otherwise it asks, and so ends, in a folder that is no git repository it knows.
  argv.push("--skip-git-repo-check");
  // `resume` is a command of its own and knows few options: all of them stand before it.
  argv.push(...settings.flags);
  if (resume !== null) argv.push("resume", argument(resume, "session"));
  return { argv: [...argv, "-"], stdin: request.prompt, env: LOG };
}
