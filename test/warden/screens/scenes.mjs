// The states of the vendors' terminal programs that record.mjs records: how each is reached.
import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { answered, heard, json, LINES, QUESTION, SHOWS, settle, up, work } from "./agents.mjs";
import { at, ms, project } from "./screen.mjs";
import { deliver, timing } from "./timing.mjs";

const FIVE = ["first of five lines", "second line", "third line", "fourth line", QUESTION].join(
  "\n",
);
const ALL = [120, 80, 40, 200];

export const version = (program) =>
  /\d+(\.\d+)+/.exec(execFileSync(program, ["--version"], { encoding: "utf8" }))[0];

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
  // codex and opencode exit at once when their box is empty.
  if (!["codex", "opencode"].includes(screen.program)) {
    await ms(200);
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
  if (screen.program === "opencode") return; // that is its input box already
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

/** An Enter together with a paste: a newline to gemini. */
async function hasty(screen) {
  await up(screen, "ok+alive");
  await deliver(screen, "paste", QUESTION, "same");
  await ms(3_000);
  await screen.record("pasted-newline");
}
export const scenes = (program) => ({
  talk: { sizes: ALL, play: talk },
  hang: { sizes: ALL, play: busy("hang", "") },
  tool: { sizes: ALL, play: busy("sleep=300", "-tool") },
  // gemini refuses that command, for the $( ) in it.
  ...(program === "gemini" ? {} : { tick: { play: busy("tick", "-tick") } }),
  ...(program === "gemini" ? { hasty: { play: hasty } } : {}),
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
