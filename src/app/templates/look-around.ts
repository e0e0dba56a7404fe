import { existsSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import type { Env } from "../../operation/operation.ts";
import { askGit, checkoutAbove } from "../../platform/git/git.ts";
import { findProgram } from "../../platform/processes/programs.ts";
import type { TemplateHost } from "./operations.ts";
import { AGENT_NAMES, type AgentName, type Found } from "./template.ts";
import { findTestCommand } from "./test-command.ts";
import { begunIn, writePlan } from "./write-plan.ts";

/** Templates in this folder. */
export function templateHost(cwd: string, env: Env): TemplateHost {
  return {
    lookAround: async (viv) => ({
      ...(await lookAround(cwd, env)),
      schema: schemaFor(cwd, viv),
      unknownViv: findProgram("viv", env.PATH) === null ? viv : null,
    }),
    begun: () => begunIn(cwd),
    write: (plan) => writePlan(cwd, plan),
  };
}

/** What there is in this folder and on this machine. */
export async function lookAround(
  cwd: string,
  env: Env,
): Promise<Pick<Found, "agents" | "git" | "test" | "setup" | "env">> {
  const git = await gitState(cwd);
  const test = findTestCommand((name) => readIfFile(join(cwd, name)));
  return {
    agents: AGENT_NAMES.filter((name) => findProgram(name, env.PATH) !== null).map((name) => ({
      name,
      login: hasLogin(name, env),
    })),
    git,
    test,
    setup: test?.setup ?? null,
    env: git !== "none" && (await leavesBytecode(cwd)) ? "PYTHONDONTWRITEBYTECODE=1" : null,
  };
}

/** A file or a variable that holds a login: not whether it is still valid. */
function hasLogin(name: AgentName, env: Env): boolean {
  const home = env.HOME ?? "/";
  const data = env.XDG_DATA_HOME || join(home, ".local/share");
  const [variable, ...files] = {
    claude: [
      "ANTHROPIC_API_KEY",
      join(env.CLAUDE_CONFIG_DIR || join(home, ".claude"), ".credentials.json"),
    ],
    codex: ["CODEX_API_KEY", join(env.CODEX_HOME || join(home, ".codex"), "auth.json")],
    gemini: ["GEMINI_API_KEY", join(home, ".gemini/oauth_creds.json")],
    opencode: ["", join(data, "opencode/auth.json")],
  }[name];
  return Boolean(variable && env[variable]) || files.some((file) => existsSync(file));
}

async function gitState(cwd: string): Promise<Found["git"]> {
  const top = checkoutAbove(cwd);
  if (top === null) return "none";
  if (relative(top, cwd) !== "") return "below";
  const { status } = await askGit(["rev-parse", "--verify", "--quiet", "HEAD"], { cwd });
  if (status === 0) return "top";
  const { status: any } = await askGit(["rev-parse", "--git-dir"], { cwd });
  return any === 0 ? "empty" : "refused"; // no git here, or a repository of another user
}

/** Python files, and no line that ignores what python3 writes beside them. */
async function leavesBytecode(cwd: string): Promise<boolean> {
  const { stdout } = await askGit(["ls-files", "--", "*.py"], { cwd });
  if (stdout.length === 0) return false;
  const { status } = await askGit(["check-ignore", "--quiet", "__pycache__/a.pyc"], { cwd });
  return status === 1;
}

function readIfFile(path: string): string | null {
  const stats = statSync(path, { throwIfNoEntry: false });
  // A lockfile may be large; that it is there is enough.
  if (stats?.isFile() !== true) return null;
  return stats.size > 1_000_000 ? "" : readFileSync(path, "utf8");
}

/** For the first line of a viv.toml: a path where the package is installed below, else an address. */
function schemaFor(cwd: string, viv: string): string {
  const installed = "node_modules/vivarium/dist/viv.schema.json";
  if (existsSync(join(cwd, installed))) return `./${installed}`;
  return pathToFileURL(join(viv, "../viv.schema.json")).href;
}
