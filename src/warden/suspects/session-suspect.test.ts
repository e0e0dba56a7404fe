import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { until, within } from "../../../test/support/deadline.ts";
import { newFolder } from "../../../test/support/folders.ts";
import {
  endNow,
  isAlive,
  newQuestion,
  pidsIn,
  TmuxServer,
  textIn,
  warrantFor,
} from "../../../test/support/tmux.ts";
import { pidsSince, readProcess } from "../../platform/processes/proc-fs.ts";
import type { Warrant } from "../warrant.ts";
import { bindSession, findSessionSuspect, type SessionOptions } from "./session-suspect.ts";
import type { Suspect } from "./suspect.ts";

/** The stand-ins of these tests are named; what is not is never typed to. */
const STAND_INS = ["cat", "sh", "bash", "tail"];
const OURS: SessionOptions = { env: { PATH: process.env.PATH }, ask: STAND_INS };

/** Nothing will come that is worth waiting for: the answer is the same, sooner. */
const UNREADING: SessionOptions = { ...OURS, patience: { seenMs: 300, arrivesMs: 1_000 } };

async function found(given: Partial<Warrant>, options = OURS): Promise<Suspect> {
  const result = await findSessionSuspect(warrantFor(given), options);
  if (result.is !== "there") throw new Error(`${result.is}: ${result.why}`);
  onTestFinished(() => result.suspect.close());
  return result.suspect;
}

const find = (given: Partial<Warrant>, options = OURS) =>
  findSessionSuspect(warrantFor(given), options);

const screenOf = async (suspect: Suspect) => {
  const look = await suspect.look();
  return look.is === "there" ? look.screen.join("\n") : `${look.is}: ${look.why}`;
};

/** Answers each line that has a nonce. */
const AGENT = `while read line; do case "$line" in *"Nonce "*) set -- $line; echo "ALIVE \${5%.}";; esac; done`;
const NAMES = [
  "x;y",
  "p$(touch pwned)",
  "=eq*",
  "sp ace",
  "$1",
  "%0",
  "@0",
  "é日",
  "-t",
  "#{pid}x",
];

test("a session is found by exactly its name, whatever that means to tmux", async () => {
  const server = new TmuxServer();
  const ids = NAMES.map((name) => server.session(name, "cat"));
  const really = ids.map((id) => server.show(id, "#{session_name}"));
  expect(new Set(really).size).toBe(NAMES.length);
  for (const [index, target] of really.entries()) {
    const suspect = await found({ target, socket: server.socket });
    expect(suspect.bound).toMatchObject({ is: "session", session: ids[index] });
  }
  for (const target of ["x", "sp", "=x;y", "$2", "x;y:0", "x;y.0", "*", ""]) {
    expect(await find({ target, socket: server.socket })).toMatchObject({ is: "gone" });
  }
  expect(await find({ target: "a.b", socket: server.socket })).toMatchObject({
    is: "gone",
    why: expect.stringContaining("a_b"),
  });
});

test("a program is asked once and its answer is on the screen", async () => {
  const server = new TmuxServer();
  const id = server.session("a", "sh", "-c", AGENT);
  const suspect = await found({ socket: server.socket });
  const question = newQuestion();
  const asked = await suspect.ask(question);
  expect(asked).toEqual({ is: "asked", channel: "pane %0" });
  await server.shows(id, `ALIVE ${question.nonce}`);
  expect(await screenOf(suspect)).toContain(`ALIVE ${question.nonce}`);
  expect(server.run("list-buffers")).toBe("");
});

test("nothing is typed that a shell would make more of than words, and no reason", async () => {
  const server = new TmuxServer();
  const id = server.session("a", "cat");
  const suspect = await found({ socket: server.socket });
  const question = newQuestion({ reason: "stuck `id`; $(touch x) | tee > y & \\" });
  expect(await suspect.ask(question)).toMatchObject({ is: "asked" });
  await server.shows(id, `ALIVE ${question.nonce} on a line`);
  expect(server.screen(id)).not.toContain("stuck");
  expect(server.screen(id)).toMatch(/^[\w \n]+$/);
});

/** A program that writes all it reads to a file. */
const scribe = (path: string) => ["sh", "-c", `echo ready; exec cat > '${path}'`];

test("a question is typed once, also by another warden after a crash", async () => {
  const server = new TmuxServer();
  const heard = join(server.folder, "heard");
  const id = server.session("a", ...scribe(heard));
  await server.shows(id, "ready");
  const question = newQuestion();
  const suspect = await found({ socket: server.socket });
  await suspect.ask(question);
  const again = await found({ socket: server.socket, bound: suspect.bound });
  await again.ask(question);
  await suspect.ask(question);
  const next = newQuestion();
  await again.ask(next);
  await until("the next question is heard", () => textIn(heard).includes(next.nonce));
  expect(textIn(heard)).toBe(`${question.typed}\n${next.typed}\n`);
});

test("a question that two ask at the same time is typed once", async () => {
  const server = new TmuxServer();
  const heard = join(server.folder, "heard");
  const id = server.session("a", ...scribe(heard));
  await server.shows(id, "ready");
  const all = await Promise.all([1, 2, 3, 4].map(() => found({ socket: server.socket })));
  const question = newQuestion();
  await Promise.all(all.map((suspect) => suspect.ask(question)));
  const next = newQuestion();
  await all[0]?.ask(next);
  await until("the next question is heard", () => textIn(heard).includes(next.nonce));
  expect(textIn(heard)).toBe(`${question.typed}\n${next.typed}\n`);
});

test("a program that takes commands by the time Enter is due gets none", async () => {
  const server = new TmuxServer();
  const heard = join(server.folder, "heard");
  const script = `stty -echo; echo ready; head -c 20 >/dev/null; exec bash --norc --noprofile -i 2>>'${heard}'`;
  const id = server.session("a", "bash", "-c", `stty -icanon; ${script}`);
  await server.shows(id, "ready");
  const suspect = await found({ socket: server.socket }, { ...UNREADING, ask: ["bash"] });
  expect(await suspect.ask(newQuestion())).toMatchObject({ is: "refused" });
  expect(server.show("%0", "#{@viv-sent}")).toBe("");
});

test("text that was pasted before a crash is sent after it, if it is seen there", async () => {
  const server = new TmuxServer();
  const heard = join(server.folder, "heard");
  const id = server.session("a", ...scribe(heard));
  await server.shows(id, "ready");
  const question = newQuestion();
  server.run("set-option", "-p", "-t", "%0", "@viv-asked", question.nonce);
  server.run("send-keys", "-t", "%0", "-l", question.typed);
  const suspect = await found({ socket: server.socket });
  expect(await suspect.ask(question)).toMatchObject({ is: "asked" });
  await until("it was sent once", () => textIn(heard) === `${question.typed}\n`);
});

test("text that was pasted before a crash, and is not seen there, is not sent", async () => {
  const server = new TmuxServer();
  const heard = join(server.folder, "heard");
  const id = server.session("a", ...scribe(heard));
  await server.shows(id, "ready");
  const question = newQuestion();
  server.run("set-option", "-p", "-t", "%0", "@viv-asked", question.nonce);
  const suspect = await found({ socket: server.socket }, UNREADING);
  expect(await suspect.ask(question)).toMatchObject({ is: "refused" });
  expect(textIn(heard)).toBe("");
});

test("a program that reads keys and is not known is not typed to", async () => {
  const server = new TmuxServer();
  const id = server.session("a", "sh", "-c", "stty raw -echo; echo ready; exec sleep 1000");
  await server.shows(id, "ready");
  const suspect = await found({ socket: server.socket });
  const why = expect.stringContaining("sleep is not known; [warden] ask");
  expect(await suspect.ask(newQuestion())).toEqual({ is: "refused", why });
});

test("a question that does not show up in the input is not sent", async () => {
  const server = new TmuxServer();
  const id = server.session("a", "sh", "-c", "stty raw -echo; echo ready; exec sleep 1000");
  await server.shows(id, "ready");
  const suspect = await found({ socket: server.socket }, { ...UNREADING, ask: ["sleep"] });
  expect(await suspect.ask(newQuestion())).toMatchObject({
    is: "refused",
    why: expect.stringContaining("not seen in its input"),
  });
  expect(server.show("%0", "#{@viv-sent}")).toBe("");
});

test.each([
  ["a half-typed line", "cat", "git push --for"],
  [
    "a half-typed line after a prompt",
    "sh -c 'while printf \"task> \"; read x; do :; done'",
    "drop all",
  ],
])("%s is left as it is", async (_, program, text) => {
  const server = new TmuxServer();
  const id = server.session("a", "sh", "-c", `exec ${program}`);
  server.run("send-keys", "-t", "%0", "-l", text);
  await server.shows(id, text);
  const suspect = await found({ socket: server.socket }, UNREADING);
  expect(await suspect.ask(newQuestion())).toMatchObject({
    is: "refused",
    why: expect.stringContaining("begun to type"),
  });
  expect(server.screen(id).trim().endsWith(text)).toBe(true);
});

test.each([
  ["a yes or no", "read -p 'Proceed? [y/N] ' it", "Proceed"],
  ["a choice", "read -p 'Which branch shall be deleted: ' it", "branch"],
  ["a hunk", "read -p '(1/1) Stage this hunk [y,n,q,a,d,e,?]? ' it", "hunk"],
])("a program that asks its person for %s waits, and is not typed to", async (_, script, shown) => {
  const server = new TmuxServer();
  const heard = join(server.folder, "heard");
  const id = server.session("a", "bash", "-c", `${script}; echo "$it" >'${heard}'`);
  await server.shows(id, shown);
  const suspect = await found({ socket: server.socket });
  expect(await suspect.ask(newQuestion())).toMatchObject({ is: "waits" });
  expect(server.screen(id)).not.toContain("Warden");
  expect(existsSync(heard)).toBe(false);
});

test("a shell that an agent has left behind is no suspect; closed only when nothing else runs", async () => {
  const server = new TmuxServer();
  const id = server.session("a", "bash", "--norc", "-i");
  await server.shows(id, "bash-");
  const suspect = await found({ socket: server.socket });
  const why = expect.stringContaining("nothing but bash is left");
  expect(await suspect.ask(newQuestion())).toEqual({ is: "left", why });
  server.run("send-keys", "-t", "%0", "sleep 500 &", "Enter");
  await until("a job runs", () => suspect.tree([]).length > 1);
  expect(await suspect.ask(newQuestion())).toMatchObject({ is: "refused" });
  expect(await suspect.closeShell?.()).toBe(false);
  server.run("send-keys", "-t", "%0", "kill %1; wait", "Enter");
  await until("it has ended", () => suspect.tree([]).length === 1);
  expect(await suspect.closeShell?.()).toBe(true);
  expect(server.has("a")).toBe(false);
});

test("a question that just fills its row is sent, too", async () => {
  const server = new TmuxServer();
  const question = newQuestion();
  for (const [at, spare] of [0, 1].entries()) {
    const width = String(question.typed.length + spare);
    const name = `w${at}`;
    server.run("new-session", "-d", "-s", name, "-x", width, "-y", "20", "cat");
    const suspect = await found({ target: name, socket: server.socket });
    expect(await suspect.ask(question)).toMatchObject({ is: "asked" });
  }
});

/** As agents do: raw keys, a paste in brackets, a box that is drawn anew, Enter submits. */
const BOX = `
  const { appendFileSync } = require("node:fs");
  let [box, ignored] = ["", Number(process.argv[2])];
  process.stdin.setRawMode(true);
  const draw = () => process.stdout.write("\\x1b[2J\\x1b[H| " + box.replaceAll("\\r", "\\r\\n| "));
  process.stdout.write("\\x1b[?2004hready\\r\\n| ");
  process.stdin.on("data", (data) => {
    let text = String(data);
    const pasted = /\\x1b\\[200~([^]*)\\x1b\\[201~/.exec(text);
    if (pasted) { box += pasted[1]; text = text.replace(pasted[0], ""); }
    for (const key of text) {
      if (key === "\\x7f") { box = box.slice(0, -1); continue; }
      if (key !== "\\r") { box += key; continue; }
      appendFileSync(process.argv[3], "Enter" + String.fromCharCode(10));
      if (ignored-- > 0) continue;
      appendFileSync(process.argv[3], JSON.stringify(box) + String.fromCharCode(10));
      box = "";
    }
    draw();
  });`;

test.each([
  { ignored: 0, submitted: true, enters: 1 },
  { ignored: 1, submitted: true, enters: 2 },
  { ignored: 9, submitted: false, enters: 2 },
])(
  "a box that ignores $ignored Enters gets $enters; what is not submitted was not asked",
  async (given) => {
    const server = new TmuxServer();
    const heard = join(server.folder, "heard");
    const script = join(server.folder, "box.cjs");
    writeFileSync(script, BOX);
    const id = server.session("a", process.execPath, script, String(given.ignored), heard);
    await server.shows(id, "ready");
    const { submitted } = given;
    // It reacts at once, or never.
    const patience = submitted ? undefined : { leavesMs: 1_000, submittedMs: 1_000 };
    const suspect = await found({ socket: server.socket }, { ...OURS, ask: ["box.cjs"], patience });
    const question = newQuestion();
    expect(await suspect.ask(question)).toMatchObject({ is: submitted ? "asked" : "refused" });
    const entered = Array.from({ length: given.enters }, () => "Enter");
    const all = submitted ? [...entered, JSON.stringify(question.typed)] : entered;
    expect(textIn(heard).trim().split("\n")).toEqual(all);
    const shown = server.run("capture-pane", "-p", "-t", id).replace(/[| \n]/g, "");
    expect(shown).toBe(submitted ? "" : question.typed.replace(/ /g, ""));
  },
);

test("nothing is typed to a shell's prompt, and nothing is run there", async () => {
  const server = new TmuxServer();
  const trap = join(server.folder, "trap");
  server.session("a", "bash", "--norc", "-i");
  const suspect = await found({ socket: server.socket });
  const before = await screenOf(suspect);
  expect(await suspect.ask(newQuestion({ reason: `$(touch ${trap})` }))).toMatchObject({
    is: "left",
    why: expect.stringContaining("bash"),
  });
  server.run("send-keys", "-t", "%0", "echo do''ne", "Enter");
  await server.shows("%0", "done");
  expect(existsSync(trap)).toBe(false);
  expect(server.screen("%0")).not.toContain("Warden");
  expect(before).not.toContain("Warden");
  expect(server.run("list-buffers")).toBe("");
});

test.each(["warrant", "session option"])(
  "a shell that is marked by the %s gets comments",
  async (how) => {
    const server = new TmuxServer();
    const trap = join(server.folder, "trap");
    server.session("a", "bash", "--norc", "-i");
    if (how === "session option") server.run("set-option", "-t", "a", "@viv-shell", "on");
    await server.shows("%0", "bash-");
    const suspect = await found({ socket: server.socket, shell: how === "warrant" });
    const question = newQuestion({ reason: `x; touch ${trap}; $(touch ${trap})` });
    expect(await suspect.ask(question)).toMatchObject({
      is: "asked",
    });
    server.run("send-keys", "-t", "%0", "echo do''ne", "Enter");
    await server.shows("%0", "done");
    expect(server.screen("%0")).toContain(`# Warden health check Nonce ${question.nonce}`);
    expect(existsSync(trap)).toBe(false);
  },
);

test("a marked shell that shows an editor or a pager is not typed to", async () => {
  const server = new TmuxServer();
  server.session("a", "less", "/etc/passwd");
  const suspect = await found({ socket: server.socket, shell: true });
  expect(await suspect.ask(newQuestion())).toMatchObject({
    is: "refused",
    why: expect.stringContaining("less"),
  });
});

test("another pane that can be asked is asked", async () => {
  const server = new TmuxServer();
  server.session("a", "sh", "-c", AGENT);
  server.run("split-window", "-t", "%0", "bash", "--norc", "-i");
  expect(server.show("a", "#{pane_id}")).toBe("%1");
  const suspect = await found({ socket: server.socket });
  const question = newQuestion();
  expect(await suspect.ask(question)).toMatchObject({ is: "asked", channel: "pane %0" });
  await server.shows("%0", `ALIVE ${question.nonce}`);
  expect(await screenOf(suspect)).toContain(`ALIVE ${question.nonce}`);
});

test("every program of a session that reads lines is asked, each once", async () => {
  const server = new TmuxServer();
  const heard = join(server.folder, "heard");
  server.session("a", "tail", "-f", "/dev/null");
  server.run("split-window", "-d", "-t", "%0", "sh", "-c", `exec cat >'${heard}'`);
  const suspect = await found({ socket: server.socket });
  const question = newQuestion();
  expect(await suspect.ask(question)).toMatchObject({ is: "asked", channel: "pane %0, pane %1" });
  await until("both were asked", () => textIn(heard) === `${question.typed}\n`);
});

test("a pane that cannot be asked is named beside one that was", async () => {
  const server = new TmuxServer();
  server.session("a", "sh", "-c", AGENT);
  server.run("split-window", "-d", "-t", "%0", "less", "/etc/passwd");
  const suspect = await found({ socket: server.socket });
  expect(await suspect.ask(newQuestion())).toMatchObject({
    is: "asked",
    except: expect.stringContaining("less"),
  });
});

test("a shell behind a pipe is not typed to", async () => {
  const server = new TmuxServer();
  server.session("a", "bash", "-c", "cat | sh -x");
  const suspect = await found({ socket: server.socket });
  await until("the shell runs", () => suspect.tree([]).some(({ command }) => command === "sh -x"));
  expect(await suspect.ask(newQuestion())).toMatchObject({ is: "refused" });
  expect(server.screen("%0")).not.toContain("Warden");
});

test("a daemon that serves other sessions is not of the tree", async () => {
  const server = new TmuxServer();
  const daemon = join(server.folder, "codex");
  writeFileSync(daemon, "#!/bin/sh\n[ $# -gt 1 ] && exit\nsleep 500 & sleep 500\n");
  const script = `setsid bash -c 'exec -a codex bash "${daemon}" app-server' & exec sleep 500`;
  server.session("a", "bash", "-c", script);
  const suspect = await found({ socket: server.socket });
  await until("its own program runs", () =>
    suspect.tree([]).some((one) => one.parent === server.pid),
  );
  const daemons = () =>
    [...pidsSince(1, 0)].filter((pid) =>
      textIn(`/proc/${pid}/cmdline`).startsWith(`codex\0${daemon}\0app-server`),
    );
  await until("the daemon runs", () => daemons().length === 1);
  onTestFinished(() => {
    for (const pid of daemons()) process.kill(pid, "SIGKILL");
  });
  const { survivors } = await endNow(suspect, suspect.tree([]), 200);
  expect(survivors).toEqual([]);
  expect(daemons()).toHaveLength(1);
});

test("a program that asks for a password is not typed to", async () => {
  const server = new TmuxServer();
  const typed = join(server.folder, "typed");
  const script = `stty -echo; echo Password:; read -r it; echo "$it" >${typed}`;
  const id = server.session("a", "bash", "-c", script);
  await server.shows(id, "Password:");
  const suspect = await found({ socket: server.socket });
  expect(await suspect.ask(newQuestion())).toMatchObject({
    is: "waits",
    why: expect.stringContaining("password"),
  });
  expect(textIn(typed)).toBe("");
});

test("synchronised panes, and one without input, are not typed to", async () => {
  const server = new TmuxServer();
  server.session("a", "cat");
  server.run("set-option", "-w", "-t", "a", "synchronize-panes", "on");
  const suspect = await found({ socket: server.socket });
  expect(await suspect.ask(newQuestion())).toMatchObject({ is: "refused" });
  server.run("set-option", "-w", "-t", "a", "synchronize-panes", "off");
  server.run("select-pane", "-d", "-t", "%0");
  expect(await suspect.ask(newQuestion())).toMatchObject({ is: "refused" });
});

test("a pane in copy mode is asked all the same", async () => {
  const server = new TmuxServer();
  server.session("a", "sh", "-c", AGENT);
  server.run("copy-mode", "-t", "%0");
  const suspect = await found({ socket: server.socket });
  const question = newQuestion();
  expect(await suspect.ask(question)).toMatchObject({
    is: "asked",
  });
  await server.shows("%0", `ALIVE ${question.nonce}`);
  expect(server.show("%0", "#{@viv-sent}")).toBe(question.nonce); // one Enter was enough
});

test("a session that was renamed is still the same", async () => {
  const server = new TmuxServer();
  server.session("a", "cat");
  const suspect = await found({ socket: server.socket });
  server.run("rename-session", "-t", "a", "b");
  server.session("a", "cat");
  expect(await suspect.look()).toMatchObject({ is: "there" });
  const { bound } = suspect;
  expect((await found({ socket: server.socket, bound })).bound).toEqual(bound);
});

test("a session that was made anew under the same name is unknown, and untouched", async () => {
  const server = new TmuxServer();
  server.session("keep", "cat");
  server.session("a", "cat");
  const suspect = await found({ socket: server.socket });
  server.run("kill-session", "-t", "a");
  expect(await suspect.look()).toMatchObject({ is: "gone" });
  const id = server.session("a", "cat");
  const pid = Number(server.show(id, "#{pane_pid}"));
  const why = expect.stringContaining("another session of that name");
  const unknown = { is: "unknown", why, isReplaced: true };
  expect(await suspect.look()).toEqual(unknown);
  expect(await suspect.ask(newQuestion())).toEqual(unknown);
  expect(await find({ socket: server.socket, bound: suspect.bound })).toEqual(unknown);
  const ended = await endNow(suspect, [], 0);
  expect(ended).toEqual({ exit: [], survivors: [], unknown: why });
  expect(isAlive(pid)).toBe(true);
});

test("a session that is younger than the warrant was not meant", async () => {
  const server = new TmuxServer();
  server.session("a", "cat");
  const filed_at = new Date(Date.now() - 5_000).toISOString();
  expect(await find({ socket: server.socket, filed_at })).toMatchObject({ is: "unknown" });
});

test("no server, a server that was killed, and another one at its place", async () => {
  const server = new TmuxServer();
  expect(await find({ socket: server.socket })).toMatchObject({ is: "gone" });
  server.session("a", "cat");
  const suspect = await found({ socket: server.socket });
  suspect.watch(() => {});
  process.kill(server.pid, "SIGKILL");
  await until("it is gone", async () => (await suspect.look()).is === "gone");
  expect(await suspect.ask(newQuestion())).toMatchObject({ is: "gone" });
  server.session("other", "cat");
  expect(await suspect.look()).toMatchObject({ is: "gone" });
  server.session("a", "cat");
  expect(await suspect.look()).toMatchObject({ is: "unknown" });
});

test("a server that does not answer: unknown, and nothing is killed", async () => {
  const server = new TmuxServer();
  const id = server.session("a", "cat");
  const pid = Number(server.show(id, "#{pane_pid}"));
  const tmux = server.pid;
  const options = { ...OURS, limitMs: 300 };
  const suspect = await found({ socket: server.socket }, options);
  process.kill(tmux, "SIGSTOP");
  onTestFinished(() => void process.kill(tmux, "SIGCONT"));
  const why = expect.stringContaining("did not answer");
  expect(await suspect.look()).toEqual({ is: "unknown", why });
  expect(await suspect.ask(newQuestion())).toEqual({ is: "unknown", why });
  expect(await endNow(suspect, [], 0)).toMatchObject({ exit: [], unknown: why });
  expect(await find({ socket: server.socket }, options)).toEqual({ is: "unknown", why });
  expect(isAlive(pid)).toBe(true);
  process.kill(tmux, "SIGCONT");
  expect(await suspect.look()).toMatchObject({ is: "there" });
});

test("no tmux installed: clear words", async () => {
  const env = { PATH: "/nonexistent" };
  expect(await find({ socket: "/nonexistent/s" }, { env })).toEqual({
    is: "unknown",
    why: "tmux is not installed: `apt install tmux`",
  });
  expect(await bindSession("a", null, { env })).toMatchObject({ is: "unknown" });
});

test("the session that we live in is unknown", async () => {
  const server = new TmuxServer();
  server.session("a", "cat");
  const env = { ...OURS.env, TMUX: `${server.socket},${server.pid},0`, TMUX_PANE: "%0" };
  expect(await find({}, { env })).toMatchObject({
    is: "unknown",
    why: expect.stringMatching(/lives in/),
  });
  server.session("b", "cat");
  expect(await find({ target: "b" }, { env })).toMatchObject({ is: "there" });
});

test("bindSession gives the identity, or why there is none", async () => {
  const server = new TmuxServer();
  const id = server.session("a", "cat");
  expect(await bindSession("a", server.socket, OURS)).toMatchObject({
    is: "there",
    bound: { session: id, server: { pid: server.pid }, socket: server.socket },
  });
  expect(await bindSession("b", server.socket, OURS)).toMatchObject({ is: "gone" });
});

test("the end of a session is the end of all that was started in it", async () => {
  const server = new TmuxServer();
  const list = join(server.folder, "pids");
  server.session("keep", "cat");
  const spared = Number(server.show("keep", "#{pane_pid}"));
  const script = `
    sleep 1001 & echo $! >> ${list}
    setsid sleep 1002 & echo $! >> ${list}
    (setsid sh -c 'sleep 1003 & echo $! >> ${list}; exit' &)
    setsid sh -c 'trap "" TERM HUP; echo $$ >> ${list}; while :; do sleep 1; done' &
    trap '' TERM HUP; echo $$ >> ${list}; while :; do sleep 1; done`;
  const id = server.session("a", "bash", "-c", script);
  server.run("split-window", "-t", id, "cat");
  const pids = await pidsIn(list, 5);
  const suspect = await found({ socket: server.socket });
  const tree = suspect.tree([]);
  for (const pid of pids) expect(tree.map((each) => each.pid)).toContain(pid);
  const ended = await within("it ends", endNow(suspect, tree, 300));
  expect(ended.survivors).toEqual([]);
  expect(ended.unknown).toBeUndefined();
  expect(pids.filter(isAlive)).toEqual([]);
  expect(isAlive(spared)).toBe(true);
  expect(server.has("=keep")).toBe(true);
  expect(server.has(id)).toBe(false);
  for (const command of ["sleep 1001", "sleep 1002", "sleep 1003"]) {
    const end = ended.exit.find((each) => each.command === command);
    expect(end).toMatchObject({ signal: "SIGTERM", gone_at: expect.any(String) });
  }
  const isDeaf = (command: string) => !command.startsWith("sleep");
  const deaf = ended.exit.filter(({ pid, command }) => pids.includes(pid) && isDeaf(command));
  expect(deaf.map(({ signal }) => signal)).toEqual(["SIGKILL", "SIGKILL"]);
  expect(ended.exit.every(({ gone_at }) => gone_at !== null)).toBe(true);
  expect(await suspect.look()).toMatchObject({ is: "gone" });
});

test("a session that remains on exit is gone when its program is, and is removed at the end", async () => {
  const server = new TmuxServer();
  server.session("keep", "cat");
  const id = server.session("a", "cat");
  server.run("set-option", "-t", id, "remain-on-exit", "on");
  const suspect = await found({ socket: server.socket });
  const ended = await endNow(suspect, [], 60_000);
  expect(ended).toMatchObject({ survivors: [], exit: [{ signal: "SIGTERM" }] });
  expect(server.has(id)).toBe(false);
  const other = server.session("b", "cat");
  server.run("set-option", "-t", other, "remain-on-exit", "on");
  process.kill(Number(server.show(other, "#{pane_pid}")), "SIGKILL");
  await until("it is dead", () => server.show(other, "#{pane_dead}") === "1");
  expect(await find({ target: "b", socket: server.socket })).toMatchObject({
    is: "gone",
    why: expect.stringContaining("remain-on-exit"),
  });
});

test("a program that is started while the session is being ended was not asked, and stays", async () => {
  const server = new TmuxServer();
  server.session("keep", "cat");
  const isSignalled = join(newFolder("viv-ending-"), "signalled");
  const id = server.session(
    "a",
    `(trap '' TERM HUP; while :; do sleep 0.05; done) & trap 'touch ${isSignalled}' TERM; while :; do wait; done`,
  );
  const suspect = await found({ socket: server.socket });
  const ending = endNow(suspect, [], 3000);
  await until("it is being ended", () => existsSync(isSignalled));
  server.run("respawn-pane", "-k", "-t", id, "cat");
  const ended = await within("it ends", ending);
  expect(ended).toMatchObject({ survivors: [] });
  expect(ended.exit.map(({ signal }) => signal)).toContain("SIGKILL");
  expect(ended.spared).toContain("pane %1: opened since it was asked");
  expect(ended.exit.filter(({ pid }) => isAlive(pid))).toEqual([]);
  expect(isAlive(Number(server.show(id, "#{pane_pid}")))).toBe(true);
});

test("a change on the pane calls back, without an attached client", async () => {
  const server = new TmuxServer();
  const id = server.session("a", "cat");
  const suspect = await found({ socket: server.socket });
  let calls = 0;
  suspect.watch(() => calls++);
  server.run("send-keys", "-t", id, "hello", "Enter");
  await until(
    "a change calls back",
    async () => calls > 0 && (await screenOf(suspect)).includes("hello"),
  );
  expect(server.run("list-clients")).toBe("");
  suspect.close();
});

test("when its pane is closed, another one is looked at", async () => {
  const server = new TmuxServer();
  const id = server.session("a", "cat");
  const suspect = await found({ socket: server.socket });
  expect(await suspect.look()).toMatchObject({ is: "there" });
  server.run("split-window", "-d", "-t", id, "sh", "-c", "echo second; exec cat");
  server.run("kill-pane", "-t", "%0");
  await until("the other is seen", async () => (await screenOf(suspect)).includes("second"));
  expect(await suspect.look()).toMatchObject({ is: "there" });
});

test("a dialog in another pane is seen, also just after a person has changed to a third", async () => {
  const server = new TmuxServer();
  server.session("a", "cat");
  const pane = server.run("split-window", "-dPF", "#{pane_id}", "-t", "%0", "sleep", "1000");
  const suspect = await found({ socket: server.socket });
  expect(await suspect.look()).toMatchObject({ person: undefined });
  const dialog = "printf 'Do you want to proceed?\\n❯ 1. Yes\\n'; exec -a claude sleep 1000";
  const other = server.run("split-window", "-dPF", "#{pane_id}", "-t", "%0", "bash", "-c", dialog);
  const isClaude = () => textIn(`/proc/${server.show(other, "#{pane_pid}")}/cmdline`);
  await until("the dialog is shown", () => isClaude().startsWith("claude"));
  await server.shows(other, "1. Yes");
  await suspect.look(); // it finds the new pane
  expect(await suspect.look()).toMatchObject({ person: expect.stringContaining("proceed") });
  server.run("select-pane", "-t", pane);
  expect(await suspect.look()).toMatchObject({ person: expect.stringContaining("proceed") });
});

test("another pane is listened to when it is the one that is looked at", async () => {
  const server = new TmuxServer();
  const id = server.session("a", "bash", "--norc", "-i");
  const suspect = await found({ socket: server.socket });
  let calls = 0;
  suspect.watch(() => calls++);
  const pane = server.run("split-window", "-P", "-F", "#{pane_id}", "-t", id, "cat");
  server.run("select-pane", "-t", "%0");
  await suspect.ask(newQuestion());
  await suspect.look();
  const before = calls;
  server.run("send-keys", "-t", pane, "hello", "Enter");
  await until("a change calls back", async () => calls > before);
  suspect.close();
});

test("a flood goes on, and is not passed on", async () => {
  const server = new TmuxServer();
  const id = server.session("a", "sh", "-c", "yes flood & while read x; do echo got $x; done");
  const suspect = await found({ socket: server.socket });
  let calls = 0;
  suspect.watch(() => calls++);
  await until("it called back often", () => calls > 5);
  const before = Number(server.show(id, "#{history_bytes}"));
  await until("it called back again", () => calls > 15);
  expect(before).toBeGreaterThan(0);
  expect((await screenOf(suspect)).length).toBeGreaterThan(1000);
  const yes = suspect.tree([]).find(({ command }) => command.startsWith("yes"));
  const ticks = () => textIn(`/proc/${yes?.pid}/io`);
  const written = ticks();
  await until("it goes on writing", () => ticks() !== written);
});

test("a Ctrl-C at our terminal does not reach the tmux that we ask", async () => {
  const server = new TmuxServer();
  server.session("a", "cat");
  const suspect = await found({ socket: server.socket });
  const { pid } = server;
  process.kill(pid, "SIGSTOP");
  onTestFinished(() => void process.kill(pid, "SIGCONT"));
  const look = suspect.look();
  const groupOf = (one: number) => {
    const found = readProcess(one);
    return typeof found === "string" ? null : { parent: found.parent, group: found.group };
  };
  const clients = () =>
    [...pidsSince(1, 0)].filter(
      (one) =>
        groupOf(one)?.parent === process.pid && textIn(`/proc/${one}/comm`).startsWith("tmux"),
    );
  await until("it is asked", () => clients().length > 0);
  for (const one of clients()) expect(groupOf(one)?.group).toBe(one);
  process.kill(pid, "SIGCONT");
  expect(await look).toMatchObject({ is: "there" });
});
