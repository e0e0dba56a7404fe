import { appendFileSync, chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { until } from "../support/deadline.ts";
import { newFolder } from "../support/folders.ts";
import { TmuxServer } from "../support/tmux.ts";
import { environment, json, ok, quoted, type Surroundings, VIV, viv } from "./support.ts";

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
  await shell.shows("ended 1 of 2");
  await say("enqueue", "--type", "fix", "--id", "t.9");
  writeFileSync(join(folder, "go"), "");
  await shell.shows("t.9 done");
  await until("the bar is gone", () => !shell.tmux.screen("s").includes(" of "));
});
