import { join } from "node:path";
import type { HomeOf, PrivateHome, Shown } from "../engine.ts";

/**
 * In a sandbox the user's home is read-only, and the vendors' programs do not start without a place
 * for their state: sessions, databases, caches. So each task has a folder for each vendor, kept between
 * its attempts so that they can resume a session. Logins and settings are mounted there from the real
 * home, read-only; nothing is copied. A renewed login is not kept: each attempt renews it again.
 */
export const claudeHome: HomeOf = (root, env): PrivateHome => {
  const own = join(root, "claude");
  const real = env.CLAUDE_CONFIG_DIR || join(env.HOME ?? "/", ".claude");
  const account = env.CLAUDE_CONFIG_DIR || (env.HOME ?? "/");
  return {
    env: { CLAUDE_CONFIG_DIR: own },
    folders: [["claude"]],
    shows: [...shown(real, own, CLAUDE), ...shown(account, own, ".claude.json")],
  };
};

export const codexHome: HomeOf = (root, env) => {
  const own = join(root, "codex");
  return {
    env: { CODEX_HOME: own },
    folders: [["codex"]],
    shows: shown(env.CODEX_HOME || join(env.HOME ?? "/", ".codex"), own, CODEX),
  };
};

export const geminiHome: HomeOf = (root, env) => {
  const own = join(root, "gemini");
  const real = join(env.GEMINI_CLI_HOME || (env.HOME ?? "/"), ".gemini");
  return {
    env: { GEMINI_CLI_HOME: own },
    folders: [["gemini"], ["gemini", ".gemini"]],
    shows: shown(real, join(own, ".gemini"), GEMINI),
  };
};

export const opencodeHome: HomeOf = (root, env) => {
  const own = join(root, "opencode");
  const home = env.HOME ?? "/";
  const data = join(env.XDG_DATA_HOME || join(home, ".local/share"), "opencode");
  const config = env.XDG_CONFIG_HOME || join(home, ".config");
  return {
    env: {
      XDG_DATA_HOME: join(own, "data"),
      XDG_STATE_HOME: join(own, "state"),
      XDG_CACHE_HOME: join(own, "cache"),
      // It writes there, too: a .gitignore, and packages of its plugins.
      XDG_CONFIG_HOME: join(own, "config"),
    },
    folders: [
      [],
      ...[["data"], ["data", "opencode"], ["state"], ["cache"]],
      ...[["config"], ["config", "opencode"]],
    ].map((way) => ["opencode", ...way]),
    shows: [
      ...shown(data, join(own, "data/opencode"), "auth.json mcp-auth.json"),
      ...shown(join(config, "opencode"), join(own, "config/opencode"), OPENCODE),
      ...shown(config, join(own, "config"), "git"), // git looks there, too
    ],
  };
};

const CLAUDE =
  ".credentials.json settings.json settings.local.json CLAUDE.md rules commands skills agents plugins output-styles";
const CODEX = "auth.json config.toml AGENTS.md AGENTS.override.md hooks.json rules prompts agents";
const GEMINI =
  "settings.json oauth_creds.json google_accounts.json gemini-credentials.json mcp-oauth-tokens.json mcp-oauth-tokens-v2.json GEMINI.md .env user_id installation_id trustedFolders.json commands extensions policies skills agents";
const OPENCODE =
  "opencode.json opencode.jsonc config.json AGENTS.md package.json agent agents command commands mode modes plugin plugins skill skills tool tools themes node_modules";

/** `names`: with spaces between them. */
function shown(from: string, to: string, names: string): Shown[] {
  return names.split(" ").map((name) => ({ from: join(from, name), to: join(to, name) }));
}
