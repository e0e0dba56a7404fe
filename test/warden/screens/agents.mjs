// The vendors' programs for record.mjs: their settings, how they start, what they show, what they ask
// the model server.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { at, log, ms, project } from "./screen.mjs";

export const QUESTION = "Warden health check. Nonce: k7m2qp (say ALIVE k7m2qp on a line by itself)";

export const json = (file, value) => writeFileSync(file, JSON.stringify(value));

/** Settings with which a program neither welcomes its person nor asks about the folder or the key. */
export function settle(url) {
  // opencode keeps the provider it has installed in .cache; without it, its first turn waits for npm.
  for (const name of readdirSync("/home/user")) {
    if (name !== ".cache")
      rmSync(`/home/user/${name}`, { recursive: true, force: true, maxRetries: 3 });
  }
  for (const folder of [".codex", ".gemini", ".config/opencode", "project"]) {
    mkdirSync(`/home/user/${folder}`, { recursive: true });
  }
  json("/home/user/.claude.json", {
    hasCompletedOnboarding: true,
    theme: "dark",
    numStartups: 5,
    customApiKeyResponses: { approved: ["test"], rejected: [] },
    projects: {
      "/home/user/project": { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true },
    },
  });
  writeFileSync(
    "/home/user/.codex/config.toml",
    `model_provider = "mock"
[model_providers.mock]
name = "mock"
base_url = "${url}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
[projects."/home/user/project"]
trust_level = "trusted"
`,
  );
  json("/home/user/.gemini/settings.json", {
    security: { auth: { selectedType: "gemini-api-key" } },
  });
  const model = {
    name: "mock",
    cost: { input: 1, output: 5 },
    limit: { context: 200000, output: 8000 },
  };
  json("/home/user/.config/opencode/opencode.json", {
    small_model: "mock/mock-model",
    autoupdate: false,
    provider: {
      mock: {
        npm: "@ai-sdk/openai-compatible",
        name: "mock",
        options: { baseURL: "{env:MOCK_URL}/v1", apiKey: "test" },
        models: { "mock-model": model },
      },
    },
  });
}

/** Program → the line that starts it; `free` lets it run commands without asking. */
export const LINES = {
  claude: (url, free) =>
    `ANTHROPIC_BASE_URL=${url} ANTHROPIC_API_KEY=test DISABLE_AUTOUPDATER=1 claude --permission-mode default${free ? " --allowedTools Bash" : ""}`,
  codex: (url, free) =>
    `OPENAI_API_KEY=test codex ${free ? "-a never -s danger-full-access" : "-a on-request -s read-only"} -m mock-model -c 'model_providers.mock.base_url="${url}/v1"'`,
  gemini: (url, free) =>
    `GEMINI_CLI_TRUST_WORKSPACE=true GOOGLE_GEMINI_BASE_URL=${url} GEMINI_API_KEY=test gemini --model gemini-3.1-pro-preview${free ? " --approval-mode yolo" : ""}`,
  opencode: (url, free) =>
    `MOCK_URL=${url} OPENCODE_DISABLE_MODELS_FETCH=1 OPENCODE_PERMISSION='${free ? '{"bash":"allow"}' : '{"bash":"ask","edit":"ask"}'}' opencode --model mock/mock-model`,
};
/** What each shows when its input box is up; when it asks; when it works. */
export const SHOWS = {
  claude: { ready: /^❯/m, asks: /1\. Yes/, works: /esc to interrupt|…/ },
  codex: { ready: /^›/m, asks: /1\. Yes/, works: /Working/ },
  gemini: { ready: /Type your message/, asks: /Allow once/, works: /esc to cancel/ },
  opencode: { ready: /Ask anything/, asks: /Allow once/, works: /esc +(interr|tab)/ },
};

export async function up(screen, mode, options = {}) {
  const url = at(mode);
  settle(url);
  project();
  writeFileSync(log, "");
  await screen.start(LINES[screen.program](url, options.free), options);
  await screen.until(SHOWS[screen.program].ready, 60_000);
  await screen.rest(2_000, 8_000);
}
async function send(screen, text) {
  await screen.type(text);
  await ms(1_000);
  await screen.keys("Enter");
}
export const work = (screen) => send(screen, "please do the work");

/** Until the server has answered the question with this nonce. */
export const answered = (nonce = "k7m2qp", limit = 40_000) => logged(`ALIVE ${nonce}`, limit);
/** Until the server has got a request of the turn itself (not one for a title, which has no tools). */
export const heard = () => logged(/"tools":[1-9]/, 40_000);
async function logged(what, limit) {
  const end = Date.now() + limit;
  while (Date.now() < end) {
    if (readFileSync(log, "utf8").search(what) >= 0) return true;
    await ms(50);
  }
  return false;
}
