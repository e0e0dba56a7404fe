import { appendFileSync, chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { until } from "../support/deadline.ts";
import { newFolder } from "../support/folders.ts";
import { TmuxServer } from "../support/tmux.ts";
import { environment, json, ok, quoted, Running, type Surroundings, VIV, viv } from "./support.ts";

/** What is drawn on a whole terminal, in a real one. */

let folder: string;
let run: string;
let around: Surroundings;

beforeEach(async () => {
  folder = newFolder();
  run = join(folder, "run");
  around = { cwd: folder, env: { VIV_RUN: run } };
  await say("enqueue", "--type", "fix", "--id", "t.1", "--payload", '{"title":"Repair the roof"}');
  await say("claim", "--worker", "ada");
  await say("enqueue", "--type", "fix", "--id", "t.2");
});

const say = (...args: string[]) => ok(args, around);

/** A shell in a terminal of its own, in which `viv` is the program. */
function terminal(env: Record<string, string> = {}) {
  const tmux = new TmuxServer();
  const more = { VIV_RUN: run, LANG: "C.UTF-8", PS1: "$ ", TERM: "tmux-256color", ...env };
  const words = Object.entries(environment(more)).map(([name, value]) => `${name}=${value}`);
  tmux.session("s", "env", "-i", ...words, "bash", "--norc", "--noprofile", "-i");
  const shell = {
    tmux,
    shows: (text: string) => tmux.shows("s", text),
    press: (...keys: string[]) => void tmux.run("send-keys", "-t", "s", ...keys),
    type: (line: string) => {
      tmux.run("send-keys", "-t", "s", "-l", line);
      tmux.run("send-keys", "-t", "s", "Enter");
    },
    /** The lines that are on the screen, without what has scrolled away. */
    screen: () => tmux.run("capture-pane", "-p", "-t", "s").split("\n"),
    isOwn: () => tmux.show("s", "#{alternate_on}") === "1",
    child: () => {
      const pid = tmux.show("s", "#{pane_pid}");
      return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ")[0]);
    },
    /** The shell's screen, with a cursor, and a line that is edited as always. */
    isBack: async () => {
      await until("the shell's screen is back", () => !shell.isOwn());
      expect(tmux.show("s", "#{cursor_flag}")).toBe("1");
      shell.type("stty -a; echo end of stty");
      await shell.shows("\nend of stty");
      expect(tmux.screen("s")).toMatch(/ icanon .* echo /s);
    },
  };
  return shell;
}

const TOP = `${quoted(process.execPath)} ${quoted(VIV)} top`;

it("shows the run live, acts on it, and follows the terminal", async () => {
  const shell = terminal();
  shell.type(TOP);
  await shell.shows("> working t.1");
  expect(shell.isOwn()).toBe(true);
  await say("enqueue", "--type", "audit", "--id", "t.3");
  await shell.shows("ready   t.3");

  shell.press("/", "t.2", "Enter", "x");
  await shell.shows("cancel t.2? y/n");
  shell.press("y");
  await shell.shows("cancelled t.2");
  expect(await json(["ls", "--state", "cancelled"], around)).toMatchObject({
    tasks: [{ id: "t.2" }],
  });

  shell.press("Home", "Enter");
  await shell.shows("Why");
  appendFileSync(join(run, "artifacts/t.1.log"), "hello \u001b[2J\u001b]0;x\u0007there");
  await shell.shows("│ hello");
  shell.press("q", "F4", "audit", "Enter");
  await until("only one task is shown", () => !shell.screen().join("").includes("Repair"));

  shell.press("Escape", "Tab");
  await shell.shows("[Workers]");
  shell.tmux.run("resize-window", "-t", "s", "-x", "50", "-y", "12");
  await until("it fits", () => shell.screen().at(-1)?.endsWith("F10Quit") === true);
  shell.press("q");
  await shell.isBack();
});

it("shows the last character of a line that is as wide as the terminal", async () => {
  const shell = terminal();
  const wide = `{"title":"${"x".repeat(300)}"}`;
  await say("enqueue", "--type", "wide", "--id", "t.4", "--payload", wide);
  shell.type(TOP);
  await until("the line of t.4 fills the terminal", () =>
    shell
      .screen()
      .some((line) => line.includes("t.4") && line.length === 100 && line.endsWith("…")),
  );
});

const CREW = `run = "run"
[crew]
grace = "1h"
[crew.moss]
def = "moss.md"
command = "until [ -e go ]; do sleep 0.05; done; echo the moss has grown"
[crew.fern]
def = "moss.md"
command = "echo all is quiet"
`;

it("shows a real crew as it ticks, is paused and goes on", async () => {
  writeFileSync(join(folder, "viv.toml"), CREW);
  writeFileSync(join(folder, "moss.md"), "You are moss.\n");
  const crew = new Running(["crew", "up", "--json"], { cwd: folder, env: {} });
  await crew.says('"kind":"up"');
  const shell = terminal();
  shell.tmux.run("resize-window", "-t", "s", "-x", "80", "-y", "24");
  shell.type(`cd ${quoted(folder)}; ${TOP}`);
  await shell.shows("> working t.1");
  shell.press("Right", "Right");
  await shell.shows("[Crew]");
  await shell.shows("> moss   waiting");
  expect(shell.screen().join("\n")).toMatch(/^ {2}MEMBER STATE +NEXT STREAK TODAY/m);
  // No key of another tab is offered, and none of them does anything.
  expect(shell.screen().at(-1)).toBe("F1Help F3Search pPause TabNext F10Quit");
  shell.press("F9", "r", "a", "x", "Space", "F5", "F6", "I", "F4", "Enter");
  shell.press("/", "fern", "Enter");
  await shell.shows("> fern");

  const tick = new Running(["crew", "tick", "moss"], { cwd: folder, env: {} });
  await shell.shows("moss   running");
  writeFileSync(join(folder, "go"), "");
  expect((await tick.end()).status).toBe(0);
  await shell.shows("the moss has grown");
  expect(viv(["crew", "pause", "fern"], { cwd: folder, env: {} }).status).toBe(0);
  await shell.shows("fern   paused");
  shell.tmux.run("resize-window", "-t", "s", "-x", "40", "-y", "12");
  await until("it fits", () => shell.screen().at(-1)?.endsWith("F10Quit") === true);
  expect(shell.screen().join("\n")).toMatch(/^> fern +paused/m);
  expect(viv(["crew", "resume", "fern"], { cwd: folder, env: {} }).status).toBe(0);
  await shell.shows("fern   waiting");
  shell.press("q");
  await shell.isBack();
  crew.child.kill("SIGTERM");
  expect((await crew.end()).status).toBe(0);
});

it.each([
  [80, 24],
  [40, 12],
])("every key of its help does what it says, on %d × %d", async (columns, rows) => {
  await say("fail", "t.1", "--worker", "ada", "--final");
  await say("enqueue", "--type", "fix", "--id", "t.3", "--depends-on", "t.2");
  const shell = terminal();
  shell.tmux.run("resize-window", "-t", "s", "-x", String(columns), "-y", String(rows));
  shell.type(TOP);
  const row = (text: string) =>
    until(`a row: ${text}`, () => shell.screen().some((line) => line.startsWith(text)));
  await row("> failed");
  shell.press("F1");
  // Nothing of it is cut: it goes on in further lines, down to the last.
  let text = "";
  for (let before = ""; !text.endsWith("are of all."); ) {
    await until("it is drawn, and further down", () => {
      const now = shell.screen().slice(0, -1).join("\n").trim();
      return now !== before && now !== "" && !now.includes("> failed");
    });
    before = shell.screen().slice(0, -1).join("\n").trim();
    text += ` ${before}`;
    if (!before.endsWith("of all.")) shell.press("Down");
    else break;
  }
  const words = text.replace(/\s+/g, " ");
  for (const part of ["the end of its log", "title, state; Esc: all", "or what it waits for"]) {
    expect(words).toContain(part);
  }
  shell.press("q");
  await row("> failed");

  // Moving.
  for (const [key, at] of [
    ...([
      ["Down", "ready   t.2"],
      ["k", "failed  t.1"],
      ["j", "ready   t.2"],
      ["Up", "failed  t.1"],
    ] as const),
    ...([
      ["End", "waiting t.3"],
      ["Home", "failed  t.1"],
      ["NPage", "waiting t.3"],
      ["PPage", "failed  t.1"],
    ] as const),
    ...([
      ["G", "waiting t.3"],
      ["g", "failed  t.1"],
    ] as const),
  ]) {
    shell.press(key);
    await row(`> ${at}`);
  }
  // Searching, filtering, tree, sorting, tagging.
  shell.press("/", "t.3", "Enter");
  await row("> waiting t.3");
  shell.press("Home", "F3", "t.", "Enter", "n");
  await row("> ready   t.2");
  shell.press("F4", "t.3", "Enter");
  await until("only t.3", () => !shell.screen().join("\n").includes("t.2"));
  shell.press("Escape");
  await row("  ready   t.2");
  shell.press("\\", "t.2", "Enter");
  await until("only t.2", () => !shell.screen().join("\n").includes("t.3"));
  shell.press("Escape");
  await row("  waiting t.3");
  shell.press("t");
  await until("a tree", () =>
    shell.screen().some((line) => /└|\u0060/.test(line) && line.includes("t.3")),
  );
  shell.press("F5", "F6");
  await shell.shows("sorted");
  shell.press("<", "I");
  await row("  failed  t.1");
  shell.press("I", "Home", "Space");
  await until("tagged", () => shell.screen().some((line) => /^.\*/.test(line)));
  shell.press("U");
  await until("untagged", () => !shell.screen().some((line) => /^.\*/.test(line)));
  // Acting: each is asked back, and its answer is on the screen.
  const act = async (key: string, asked: string, answer: "y" | "n", id: string) => {
    shell.press("/", id, "Enter");
    await until(`${id} is chosen`, () =>
      shell.screen().some((line) => line.startsWith(">") && line.includes(id)),
    );
    shell.press(key);
    await until(asked, () => new RegExp(`${asked}.* y/n$`).test(shell.screen().at(-1) ?? ""));
    shell.press(answer);
  };
  const stateOf = async (id: string) => (await json<{ state: string }>(["show", id], around)).state;
  await act("x", "cancel t.2", "n", "t.2");
  expect(await stateOf("t.2")).toBe("pending");
  await act("r", "retry t.1", "y", "t.1");
  await until("it is retried", async () => (await stateOf("t.1")) === "pending");
  await act("F9", "cancel t.1", "y", "t.1");
  await until("it is cancelled", async () => (await stateOf("t.1")) !== "pending");
  await act("p", "pause the run", "y", "t.2");
  await shell.shows("paused by");
  await act("p", "let the run go on", "y", "t.2");
  await until("it goes on", () => !shell.screen().join("\n").includes("paused by"));
  shell.press("Tab");
  await shell.shows("[Workers]");
  shell.press("BTab", "F10");
  await shell.isBack();
});

it("comes back after Ctrl-Z, and leaves the terminal as it was at SIGTERM and in a crash", async () => {
  const shell = terminal({ LANG: "C", NO_COLOR: "1" });
  shell.type(TOP);
  await shell.shows("> working t.1");
  shell.press("C-z");
  await shell.isBack();
  expect(shell.tmux.screen("s")).toContain("Stopped");
  shell.type("fg");
  await until(
    "it is drawn again",
    () => shell.isOwn() && shell.screen().join("").includes("> working t.1"),
  );
  process.kill(shell.child(), "SIGTERM");
  await shell.isBack();

  const crash = join(folder, "crash.cjs");
  writeFileSync(crash, 'process.on("SIGUSR2", () => { throw new Error("a crash"); });\n');
  shell.type(`clear; NODE_OPTIONS="--require ${crash}" ${TOP}`);
  await until(
    "it is drawn",
    () => shell.isOwn() && shell.screen().join("").includes("> working t.1"),
  );
  process.kill(shell.child(), "SIGUSR2");
  await shell.shows("Error: a crash");
  await shell.isBack();
});

it("prints one frame in a pipe", () => {
  const { status, stdout, stderr } = viv(["top"], { cwd: folder, env: { VIV_RUN: run } });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(stdout).toMatch(/^ viv top {2}run /);
  expect(stdout).toMatch(/^ {2}working t\.1 +fix +\w+ ada +Repair the roof$/m);
  const { tasks, counts } = JSON.parse(viv(["top", "--json"], { env: { VIV_RUN: run } }).stdout);
  expect(counts).toMatchObject({ claimed: 1, pending: 1 });
  expect(tasks).toMatchObject([
    { id: "t.1", type: "fix", state: "claimed", worker: "ada" },
    { id: "t.2", type: "fix", state: "pending" },
  ]);
});

it("viv work --drain has a bar below its lines, and none when it is over", async () => {
  const handler = join(folder, "handle.sh");
  writeFileSync(handler, `#!/bin/sh\nuntil [ -e ${folder}/go ]; do sleep 0.05; done\n`);
  chmodSync(handler, 0o755);
  const shell = terminal();
  const work = `${quoted(process.execPath)} ${quoted(VIV)} work --handler ${quoted(handler)} --drain`;
  await say("complete", "t.1", "--worker", "ada");
  shell.type(work);
  await shell.shows("ended 0 of 1"); // what ended before is none of its work
  await say("enqueue", "--type", "fix", "--id", "t.9");
  writeFileSync(join(folder, "go"), "");
  await shell.shows("\n2 done");
  const lines = shell.tmux.screen("s");
  expect(lines).toContain("t.9 done");
  expect(lines).not.toContain(" of ");
});
