import { expect, test } from "vitest";
import { claudeHome, codexHome, geminiHome, opencodeHome } from "./private-home.ts";

const HOMES = {
  claude: claudeHome,
  codex: codexHome,
  gemini: geminiHome,
  opencode: opencodeHome,
};
const home = (name: keyof typeof HOMES, env = {}) =>
  HOMES[name]("/run/a.sessions", { HOME: "/home/u", ...env });

test.each([
  ["claude", "/home/u/.claude/.credentials.json", "/run/a.sessions/claude/.credentials.json"],
  ["claude", "/home/u/.claude.json", "/run/a.sessions/claude/.claude.json"],
  ["codex", "/home/u/.codex/auth.json", "/run/a.sessions/codex/auth.json"],
  ["gemini", "/home/u/.gemini/oauth_creds.json", "/run/a.sessions/gemini/.gemini/oauth_creds.json"],
  [
    "opencode",
    "/home/u/.local/share/opencode/auth.json",
    "/run/a.sessions/opencode/data/opencode/auth.json",
  ],
] as const)("%s finds its login %s", (name, from, to) => {
  expect(home(name).shows).toContainEqual({ from, to });
});

test.each([
  ["claude", { CLAUDE_CONFIG_DIR: "/c" }, "/c/.claude.json"],
  ["codex", { CODEX_HOME: "/c" }, "/c/auth.json"],
  ["gemini", { GEMINI_CLI_HOME: "/c" }, "/c/.gemini/settings.json"],
  ["opencode", { XDG_DATA_HOME: "/c" }, "/c/opencode/auth.json"],
  ["opencode", { XDG_CONFIG_HOME: "/c" }, "/c/opencode/opencode.json"],
] as const)("%s keeps its login where the user says: %j", (name, env, from) => {
  expect(home(name, env).shows.map((one) => one.from)).toContain(from);
});

test("everything lies in the task's own folder, in folders that are made, parents first", () => {
  for (const name of Object.keys(HOMES) as (keyof typeof HOMES)[]) {
    const own = home(name);
    const made = own.folders.map((way) => ["/run/a.sessions", ...way].join("/"));
    for (const folder of Object.values(own.env)) expect(made).toContain(folder);
    for (const { to } of own.shows) expect(made).toContain(to.slice(0, to.lastIndexOf("/")));
    for (const [i, folder] of made.entries()) {
      const parent = folder.slice(0, folder.lastIndexOf("/"));
      expect(["/run/a.sessions", ...made.slice(0, i)]).toContain(parent);
    }
  }
});
