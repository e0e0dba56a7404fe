// The states of the vendors' terminal programs that record.mjs records: how each is reached.
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { at, log, ms, project, tmux } from "./screen.mjs";

export const QUESTION = "Warden health check. Nonce: k7m2qp (say ALIVE k7m2qp on a line by itself)";
const FIVE = ["first of five lines", "second line", "third line", "fourth line", QUESTION].join(
  "\n",
);
const ALL = [120, 80, 40, 200];

export const version = (program) =>
  /\d+(\.\d+)+/.exec(execFileSync(program, ["--version"], { encoding: "utf8" }))[0];

const json = (file, value) => writeFileSync(file, JSON.stringify(value));

/** Settings with which a program neither welcomes its person nor asks about the folder or the key. */
function settle(url) {
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
const LINES = {
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
const SHOWS = {
  claude: { ready: /^❯/m, asks: /1\. Yes/, works: /esc to interrupt|…/ },
  codex: { ready: /^›/m, asks: /1\. Yes/, works: /Working/ },
  gemini: { ready: /Type your message/, asks: /Allow once/, works: /esc to cancel/ },
  opencode: { ready: /Ask anything/, asks: /Allow once/, works: /esc +(interr|tab)/ },
};

async function up(screen, mode, options = {}) {
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
const work = (screen) => send(screen, "please do the work");

async function talk(screen) {
  const { asks } = SHOWS[screen.program];
  await up(screen, screen.program === "codex" ? "ok+alive+escalate" : "ok+alive");
  await screen.record("idle");
  await screen.type("please fix the te");
  await screen.until(/please fix the te/);
  await screen.record("typed");
  await screen.keys("-N", "20", "BSpace");
  await screen.rest();
  await screen.paste(QUESTION);
  await screen.until(/itself\)/);
  await screen.record("pasted");
  await screen.keys("Enter");
  await answered();
  await screen.until(/^[^(]*ALIVE k7m2qp(?! on)/m);
  await screen.rest(1_500, 8_000);
  await screen.record("answered");
  await work(screen);
  await screen.until(asks);
  await screen.record("dialog");
  await screen.paste(QUESTION);
  await screen.rest();
  await screen.record("dialog-after-paste");
}
/** Whether a text that was pasted into a dialog is in the box when the dialog is gone. */
async function dismissed(screen) {
  await up(screen, screen.program === "codex" ? "ok+escalate" : "ok");
  await work(screen);
  await screen.until(SHOWS[screen.program].asks, 60_000);
  await screen.paste(QUESTION);
  await screen.rest();
  await screen.keys("Escape");
  await ms(2_000);
  await screen.rest();
  await screen.record("dialog-dismissed");
}
/** Until the server has answered the question with this nonce. */
const answered = (nonce = "k7m2qp", limit = 40_000) => logged(`ALIVE ${nonce}`, limit);
/** Until the server has got a request of the turn itself (not one for a title, which has no tools). */
const heard = () => logged(/"tools":[1-9]/, 40_000);
async function logged(what, limit) {
  const end = Date.now() + limit;
  while (Date.now() < end) {
    if (readFileSync(log, "utf8").search(what) >= 0) return true;
    await ms(50);
  }
  return false;
}

/** A turn that does not end, of the model (`hang`) or of a silent command (`sleep`). */
const busy = (mode, suffix) => async (screen) => {
  await up(screen, mode, { free: true });
  await work(screen);
  await heard();
  await screen.until(SHOWS[screen.program].works);
  await ms(4_000);
  await screen.record(`working${suffix}`);
  await screen.paste(QUESTION);
  await screen.until(/itself\)/);
  await screen.record(`working-pasted${suffix}`);
  await ms(1_000);
  await screen.keys("Enter");
  // In opencode the text leaves the box first, and is shown as queued some seconds later.
  await screen.until(/queued|submitted after/i);
  await screen.record(`queued${suffix}`);
};
async function folded(screen) {
  await up(screen, "ok+alive", { shell: true });
  await screen.paste(FIVE);
  await screen.until(/Pasted|itself\)/);
  await screen.record("pasted5");
  await screen.keys("C-c");
  await screen.rest(300, 600);
  await screen.record("ctrl-c-cleared");
  await screen.rest();
  await ms(3_000);
  await screen.keys("C-c");
  await ms(200);
  // codex and opencode exit at once when their box is empty.
  if (!(await screen.hasEnded())) {
    await screen.record("ctrl-c");
    await ms(3_000);
    await screen.keys("C-c");
    await ms(150);
    await screen.keys("C-c");
  }
  await ms(3_000);
  await screen.rest();
  await screen.record("exited");
}
async function edit(screen) {
  // With a model that it does not know, codex has no tool for patches, but takes this command for one.
  await up(screen, screen.program === "codex" ? "patch" : "write");
  await work(screen);
  await screen.until(/1\. Yes|Allow once|Apply this change|No, /);
  await screen.record("edit-dialog");
}
/** claude, with a key in its environment that its person has not yet approved. Its welcome needs the network. */
async function key(screen) {
  settle(at("ok"));
  const config = JSON.parse(readFileSync("/home/user/.claude.json", "utf8"));
  json("/home/user/.claude.json", { ...config, customApiKeyResponses: undefined });
  await screen.start(LINES.claude(at("ok"), false));
  await ms(8_000);
  await screen.rest(2_000, 8_000);
  await screen.record("key-dialog");
}
/** codex, started with a model that has a successor, asks before it shows its input box. */
async function migration(screen) {
  settle(at("ok"));
  const line = LINES.codex(at("ok"), false).replace("-m mock-model", "-m gpt-5.6-sol");
  await screen.start(line);
  await ms(8_000);
  await screen.rest(2_000, 8_000);
  await screen.record("model-dialog");
}
async function menus(screen) {
  await up(screen, "ok+alive");
  await screen.type("/");
  await screen.rest();
  await screen.record("menu-slash");
  await screen.type(screen.program === "opencode" ? "models" : "model");
  await screen.rest();
  await screen.record("menu-slash-model");
  await screen.keys("Enter");
  await screen.rest();
  await screen.record("menu-model");
  await screen.keys("Escape");
  await screen.rest();
  await screen.keys("-N", "10", "BSpace");
  await ms(500);
  await screen.type("look at @");
  await ms(1_500);
  await screen.rest();
  await screen.record("menu-files");
}
const errors = (status) => async (screen) => {
  await up(screen, status);
  await work(screen);
  await heard();
  await ms(12_000);
  await screen.record(`ratelimit-${status}`);
};
/** A home that has never seen the program: what it asks first, and second. */
async function fresh(screen) {
  settle(at("ok"));
  for (const path of [
    ".claude.json",
    ".gemini/settings.json",
    ".codex/config.toml",
    ".config/opencode",
  ]) {
    rmSync(`/home/user/${path}`, { recursive: true });
  }
  await screen.start(screen.program, { shell: true });
  await screen.until(/trust|Welcome|Ask anything/, 60_000);
  await ms(3_000);
  await screen.rest(2_000, 8_000);
  await screen.record("fresh");
  // codex: not the login in a browser, but the box for a key.
  await screen.keys(...(screen.program === "codex" ? ["3"] : ["Enter"]));
  await ms(3_000);
  await screen.rest();
  await screen.record("fresh-2");
}
/** All is set up but the trust in the folder. */
async function trust(screen) {
  const url = at("ok");
  settle(url);
  const config = "/home/user/.codex/config.toml";
  writeFileSync(config, readFileSync(config, "utf8").replace(/\[projects[\s\S]*/, ""));
  const claude = JSON.parse(readFileSync("/home/user/.claude.json", "utf8"));
  json("/home/user/.claude.json", { ...claude, projects: {} });
  json("/home/user/.gemini/settings.json", {
    security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: true } },
  });
  project();
  const line = LINES[screen.program](url, false).replace("GEMINI_CLI_TRUST_WORKSPACE=true ", "");
  await screen.start(line.replace("-a on-request -s read-only ", ""));
  await ms(8_000);
  await screen.rest(2_000, 8_000);
  await screen.record("trust");
}

/** How long after a paste an Enter submits it: a table on stdout, no fixture. */
async function timing(screen) {
  const rows = [];
  let n = 0;
  for (const how of ["paste", "keys"]) {
    await up(screen, "ok+alive");
    // The first turn may take long (opencode: 20 s without a network).
    await deliver(screen, "paste", QUESTION.replaceAll("k7m2qp", `warm-${how}`), 1_000);
    await answered(`warm-${how}`, 60_000);
    for (const wait of ["same", 0, 10, 20, 30, 40, 60, 100, 150, 250, 500]) {
      let first = 0;
      let second = 0;
      const tries = 4;
      for (let i = 0; i < tries; i++) {
        const nonce = `t${String(++n).padStart(5, "0")}`;
        const text = QUESTION.replaceAll("k7m2qp", nonce);
        await deliver(screen, how, text, wait);
        if (await answered(nonce, 2_500)) first++;
        else {
          await screen.keys("Enter");
          if (await answered(nonce, 2_500)) second++;
          else {
            await screen.keys("C-u");
            await screen.keys("-N", "200", "BSpace");
          }
        }
        await screen.rest(400, 2_000);
      }
      rows.push({ how, wait, first: `${first}/${tries}`, second: `${second}/${tries - first}` });
      console.log(screen.program, JSON.stringify(rows.at(-1)));
    }
  }
}
async function deliver(screen, how, text, wait) {
  const target = ["-t", screen.target];
  await tmux("set-buffer", "-b", "q", "--", text);
  const put =
    how === "paste"
      ? ["paste-buffer", "-p", "-b", "q", ...target]
      : ["send-keys", ...target, "-l", text];
  if (wait === "same") return tmux(...put, ";", "send-keys", ...target, "Enter");
  await tmux(...put);
  if (wait > 0) await ms(wait);
  await tmux("send-keys", ...target, "Enter");
}

export const scenes = (program) => ({
  talk: { sizes: ALL, play: talk },
  hang: { sizes: ALL, play: busy("hang", "") },
  tool: { sizes: ALL, play: busy("sleep=300", "-tool") },
  // gemini refuses that command, for the $( ) in it.
  ...(program === "gemini" ? {} : { tick: { play: busy("tick", "-tick") } }),
  ...(program === "claude" ? { key: { play: key } } : {}),
  ...(program === "codex" ? { migration: { play: migration } } : {}),
  folded: { play: folded },
  dismissed: { play: dismissed },
  edit: { play: edit },
  menus: { play: menus },
  ...(program === "claude" ? {} : { fresh: { play: fresh } }),
  ...(program === "opencode" ? {} : { trust: { play: trust } }), // it asks no such thing
  429: { play: errors("429") },
  401: { play: errors("401") },
  500: { play: errors("500") },
  timing: { play: timing },
});
