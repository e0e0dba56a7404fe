import { join } from "node:path";
import type { EngineName } from "../model/config-engine.ts";

/**
 * In a sandbox the user's home is read-only, and the vendors' programs do not start without a place
 * for their state: sessions, databases, caches. So each task has one of its own for each vendor, kept
 * between its attempts so that they can go on with a session. Logins and settings are shown in it as
 * they are in the real home, read-only; nothing is copied.
 *
 * What a login is renewed with is not kept: a program that renews its login does so in each attempt.
 */
export interface PrivateHome {
  /** Where the program is told to look, instead of the user's home. */
  env: Record<string, string>;
  /** Below the task's own folder; to be made. */
  folders: string[][];
  shows: Shown[];
}

/** A file or folder of the user's, as it is seen elsewhere in a sandbox; it need not exist. */
export interface Shown {
  from: string;
  to: string;
}

type Env = Readonly<Record<string, string | undefined>>;

/** `root`: the task's own folder. Null: an engine that keeps nothing in a home. */
export function privateHome(engine: EngineName, root: string, env: Env): PrivateHome | null {
  const home = env.HOME ?? "/";
  switch (engine) {
    case "claude": {
      const real = env.CLAUDE_CONFIG_DIR || join(home, ".claude");
      const own = join(root, "claude");
      const account = env.CLAUDE_CONFIG_DIR ? real : home;
      return {
        env: { CLAUDE_CONFIG_DIR: own },
        folders: [["claude"]],
        shows: [...shown(real, own, CLAUDE), ...shown(account, own, [".claude.json"])],
      };
    }
    case "codex": {
      const own = join(root, "codex");
      return {
        env: { CODEX_HOME: own },
        folders: [["codex"]],
        shows: shown(env.CODEX_HOME || join(home, ".codex"), own, CODEX),
      };
    }
    case "gemini": {
      const own = join(root, "gemini");
      const real = join(env.GEMINI_CLI_HOME || home, ".gemini");
      return {
        env: { GEMINI_CLI_HOME: own },
        folders: [["gemini"], ["gemini", ".gemini"]],
        shows: shown(real, join(own, ".gemini"), GEMINI),
      };
    }
    case "opencode": {
      const own = join(root, "opencode");
      const data = join(env.XDG_DATA_HOME || join(home, ".local/share"), "opencode");
      const config = env.XDG_CONFIG_HOME || join(home, ".config");
      return {
        env: {
          XDG_DATA_HOME: join(own, "data"),
          XDG_STATE_HOME: join(own, "state"),
          XDG_CACHE_HOME: join(own, "cache"),
          // It writes there, too: a .gitignore, and what its plugins need.
          XDG_CONFIG_HOME: join(own, "config"),
        },
        folders: [
          ["opencode"],
          ["opencode", "data"],
          ["opencode", "data", "opencode"],
          ["opencode", "state"],
          ["opencode", "cache"],
          ["opencode", "config"],
          ["opencode", "config", "opencode"],
        ],
        shows: [
          ...shown(data, join(own, "data/opencode"), OPENCODE),
          ...shown(join(config, "opencode"), join(own, "config/opencode"), OPENCODE_CONFIG),
          ...shown(config, join(own, "config"), ["git"]), // git looks there, too
        ],
      };
    }
    default:
      return null;
  }
}

const CLAUDE = [
  ...[".credentials.json", "settings.json", "settings.local.json", "CLAUDE.md", "rules"],
  ...["commands", "skills", "agents", "plugins", "output-styles"],
];
const CODEX = [
  ...["auth.json", "config.toml", "AGENTS.md", "AGENTS.override.md", "hooks.json"],
  ...["rules", "prompts", "agents"],
];
const GEMINI = [
  ...["settings.json", "oauth_creds.json", "google_accounts.json", "gemini-credentials.json"],
  ...["mcp-oauth-tokens.json", "mcp-oauth-tokens-v2.json", "GEMINI.md", ".env", "user_id"],
  ...["installation_id", "trustedFolders.json", "commands", "extensions", "policies", "skills"],
  "agents",
];
const OPENCODE = ["auth.json", "mcp-auth.json"];
const OPENCODE_CONFIG = [
  ...["opencode.json", "opencode.jsonc", "config.json", "AGENTS.md", "package.json"],
  ...["agent", "agents", "command", "commands", "mode", "modes", "plugin", "plugins"],
  ...["skill", "skills", "tool", "tools", "themes", "node_modules"],
];

function shown(from: string, to: string, names: readonly string[]): Shown[] {
  return names.map((name) => ({ from: join(from, name), to: join(to, name) }));
}
