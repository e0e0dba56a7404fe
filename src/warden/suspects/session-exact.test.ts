import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { until, within } from "../../../test/support/deadline.ts";
import {
  endNow,
  isAlive,
  newQuestion,
  TmuxServer,
  textIn,
  warrantFor,
} from "../../../test/support/tmux.ts";
import type { AskedPrograms } from "../dance.ts";
import type { Warrant } from "../warrant.ts";
import { findSessionSuspect } from "./session-suspect.ts";
import type { Ended, Suspect } from "./suspect.ts";

/** What dies is exactly what was asked, with real sessions. */

const OPTIONS = { env: { PATH: process.env.PATH }, ask: ["cat", "agent.sh", "sleep"] };
async function found(given: Partial<Warrant>): Promise<Suspect> {
  const result = await findSessionSuspect(warrantFor(given), OPTIONS);
  if (result.is !== "there") throw new Error(`${result.is}: ${result.why}`);
  onTestFinished(() => result.suspect.close());
  return result.suspect;
}

const pidOf = (server: TmuxServer, pane: string) => Number(server.show(pane, "#{pane_pid}"));

/** Asked as the warden does, up to the moment before the execution. */
async function asked(suspect: Suspect): Promise<AskedPrograms> {
  const programs = (await suspect.programs?.()) as AskedPrograms;
  expect(await suspect.ask(newQuestion(), programs)).toMatchObject({ is: "asked" });
  return programs;
}

const end = (suspect: Suspect, programs: AskedPrograms): Promise<Ended> =>
  within(
    "it is ended, or not",
    suspect.end(suspect.tree([]), { killAfterMs: 200, asked: programs, isResumed: false }),
  );

test("six agents that are linked into one session are neither asked nor ended for it", async () => {
  const server = new TmuxServer();
  const agents = [1, 2, 3, 4, 5, 6].map((number) => {
    server.session(`agent-${number}`, "cat");
    return pidOf(server, `agent-${number}`);
  });
  const id = server.session("overview", "cat");
  const own = pidOf(server, id);
  for (const number of [1, 2, 3, 4, 5, 6]) {
    server.run("link-window", "-s", `agent-${number}:0`, "-t", `overview:${number}`);
  }
  const suspect = await found({ target: "overview", socket: server.socket });
  const programs = await asked(suspect);
  expect(programs.panes).toHaveLength(1);
  const ended = await end(suspect, programs);
  expect(ended.exit.map(({ pid }) => pid)).toEqual([own]);
  expect(ended.spared).toContain("belongs to agent-1, agent-2");
  expect(agents.filter(isAlive)).toEqual(agents);
  for (const number of [1, 2, 3, 4, 5, 6]) expect(server.has(`agent-${number}`)).toBe(true);
});

test("an agent that another session shows, too, belongs to the one that it was started in", async () => {
  const server = new TmuxServer();
  server.session("agent-1", "cat");
  const agent = pidOf(server, "agent-1");
  server.session("overview", "cat");
  server.run("link-window", "-s", "agent-1:0", "-t", "overview:5");
  // Made while it is shown there: the other session's.
  const split = server.run("split-window", "-dPF", "#{pane_id}", "-t", "overview:5", "cat");
  const beside = pidOf(server, split);
  const suspect = await found({ target: "agent-1", socket: server.socket });
  const ended = await end(suspect, await asked(suspect));
  expect(ended.exit.map(({ pid }) => pid)).toEqual([agent]);
  expect(isAlive(beside)).toBe(true);
  expect(server.has("overview")).toBe(true);
});

test("a second view of a session (new-session -t) has nothing of its own to be ended", async () => {
  const server = new TmuxServer();
  server.session("agent", "cat");
  const agent = pidOf(server, "agent");
  server.run("new-session", "-d", "-t", "agent", "-s", "view");
  const result = await findSessionSuspect(
    warrantFor({ target: "view", socket: server.socket }),
    OPTIONS,
  );
  expect(result).toMatchObject({ is: "unknown", why: expect.stringContaining("belongs to agent") });
  // What was opened in the view is the view's, though both show it.
  const pane = server.run("new-window", "-dPF", "#{pane_id}", "-t", "view", "cat");
  const suspect = await found({ target: "view", socket: server.socket });
  const own = pidOf(server, pane);
  const ended = await end(suspect, await asked(suspect));
  expect(ended.exit.map(({ pid }) => pid)).toEqual([own]);
  expect(isAlive(agent)).toBe(true);
  expect([server.has("agent"), server.has("view")]).toEqual([true, true]);
});

test.each([
  ["respawn-pane", (server: TmuxServer) => server.run("respawn-pane", "-k", "-t", "%0", "cat")],
  ["a new window", (server: TmuxServer) => server.run("new-window", "-d", "-t", "a", "cat")],
  ["a new pane", (server: TmuxServer) => server.run("split-window", "-d", "-t", "%0", "cat")],
  [
    "join-pane into it",
    (server: TmuxServer) => server.run("join-pane", "-d", "-s", "b", "-t", "%0"),
  ],
  ["swap-pane", (server: TmuxServer) => server.run("swap-pane", "-d", "-s", "b", "-t", "%0")],
  [
    "move-pane out of it",
    (server: TmuxServer) => server.run("move-pane", "-d", "-s", "%1", "-t", "b"),
  ],
])("%s after the last question: nothing is ended, and that is said", async (_, act) => {
  const server = new TmuxServer();
  server.session("a", "cat");
  server.run("split-window", "-d", "-t", "%0", "cat");
  server.session("b", "cat");
  const suspect = await found({ socket: server.socket });
  const programs = await asked(suspect);
  act(server);
  const pids = server.run("list-panes", "-a", "-F", "#{pane_pid}").split("\n").map(Number);
  const ended = await end(suspect, programs);
  expect(ended).toMatchObject({ exit: [], survivors: [] });
  expect(ended.unknown).toMatch(/^not_asked: pane %\d+ .*; nothing was ended$/);
  expect(pids.filter((pid) => !isAlive(pid))).toEqual([]);
});

test("a process that became another program after the question is not ended", async () => {
  const server = new TmuxServer();
  const id = server.session("a", "bash", "-c", `echo ready; read line; exec sleep 1000`);
  await server.shows(id, "ready");
  const pid = pidOf(server, id);
  server.run("set-option", "-t", id, "@viv-ask", "on");
  const suspect = await found({ socket: server.socket });
  const programs = (await suspect.programs?.()) as AskedPrograms;
  await suspect.ask(newQuestion(), programs);
  await until("it is another program", () => textIn(`/proc/${pid}/cmdline`).startsWith("sleep"));
  const ended = await end(suspect, programs);
  expect(ended).toMatchObject({ exit: [], unknown: expect.stringContaining("became another") });
  expect(isAlive(pid)).toBe(true);
});

test("an agent that its shell, or a loop, has started anew after the question is not ended", async () => {
  const server = new TmuxServer();
  const agent = join(server.folder, "agent.sh");
  writeFileSync(agent, "echo ready; read line; read line; exit\n");
  for (const [name, line] of [
    ["loop", `while :; do bash ${agent}; done`],
    ["prompt", `bash --norc -i`],
  ] as const) {
    const id = server.session(name, "bash", "-c", line);
    if (name === "prompt") server.run("send-keys", "-t", id, `bash ${agent}`, "Enter");
    await server.shows(id, "ready");
    const suspect = await found({ target: name, socket: server.socket });
    const programs = await asked(suspect);
    server.run("send-keys", "-t", id, "go on", "Enter");
    if (name === "prompt") server.run("send-keys", "-t", id, `bash ${agent}`, "Enter");
    await until("it runs anew", () => server.screen(id).match(/^ready/gm)?.length === 2);
    const ended = await end(suspect, programs);
    expect(ended).toMatchObject({ exit: [], unknown: expect.stringContaining("not_asked") });
    expect(server.has(name)).toBe(true);
  }
});

test("processes that an asked agent starts later are ended with it", async () => {
  const server = new TmuxServer();
  const agent = join(server.folder, "agent.sh");
  writeFileSync(agent, "echo ready; read line; sleep 1003 & sleep 1004\n");
  const id = server.session("a", "bash", "--norc", "-i");
  server.run("send-keys", "-t", id, `bash ${agent}`, "Enter");
  await server.shows(id, "ready");
  const suspect = await found({ socket: server.socket });
  const programs = await asked(suspect);
  const runs = (command: string) => suspect.tree([]).some((one) => one.command === command);
  await until("it has started both", () => runs("sleep 1003") && runs("sleep 1004"));
  const ended = await end(suspect, programs);
  expect(ended.unknown).toBeUndefined();
  expect(ended.exit.filter(({ command }) => command.startsWith("sleep 100"))).toHaveLength(2);
  expect(server.has("a")).toBe(false);
});

test("an agent in the background was not asked", async () => {
  const server = new TmuxServer();
  const agent = join(server.folder, "agent.sh");
  writeFileSync(agent, "sleep 1005\n");
  const id = server.session("a", "bash", "--norc", "-i");
  server.run("send-keys", "-t", id, `bash ${agent} & cat`, "Enter");
  const suspect = await found({ socket: server.socket });
  const runs = () => suspect.tree([]).some((one) => one.command === "sleep 1005");
  await until("it runs", () => runs() && server.show(id, "#{pane_current_command}") === "cat");
  expect(await suspect.ask(newQuestion())).toMatchObject({
    is: "asked",
    except: expect.stringContaining("runs in the background"),
  });
});

test("another tmux server that was started in a pane is left alone, with all its sessions", async () => {
  const server = new TmuxServer();
  const other = join(server.folder, "other");
  const id = server.session("a", "bash", "--norc", "-i");
  server.run(
    "send-keys",
    "-t",
    id,
    `tmux -f /dev/null -S ${other} new-session -d cat; cat`,
    "Enter",
  );
  await until("both run", () => server.show(id, "#{pane_current_command}") === "cat");
  const inOther = (...args: string[]) =>
    spawnSync("tmux", ["-S", other, ...args], { encoding: "utf8" }).stdout.trim();
  onTestFinished(() => void inOther("kill-server"));
  const agent = Number(inOther("display-message", "-p", "#{pane_pid}"));
  expect(isAlive(agent)).toBe(true);
  const suspect = await found({ socket: server.socket });
  const ended = await end(suspect, await asked(suspect));
  expect(ended.survivors).toEqual([]);
  expect(server.has("a")).toBe(false);
  expect(isAlive(agent)).toBe(true);
});

test("after a restart in an execution only processes that were seen before are ended", async () => {
  const server = new TmuxServer();
  server.session("a", "cat");
  server.run("split-window", "-d", "-t", "%0", "cat");
  const suspect = await found({ socket: server.socket });
  const programs = await asked(suspect);
  const tree = suspect.tree([]);
  server.run("respawn-pane", "-k", "-t", "%0", "sleep", "1006");
  const fresh = pidOf(server, "%0");
  const ended = await suspect.end(tree, { killAfterMs: 200, asked: programs, isResumed: true });
  expect(ended.survivors).toEqual([]);
  expect(isAlive(fresh)).toBe(true);
  expect(tree.filter(({ pid }) => isAlive(pid))).toEqual([]);
});

const shells = ["bash --norc --noprofile -i", "zsh -f -i", "fish --no-config -i"];
for (const shell of shells) {
  const { status } = spawnSync("sh", ["-c", `command -v ${shell.split(" ")[0]}`]);
  if (status !== 0) console.log(`${shell} is not installed: not tried with unread questions`);
  test.skipIf(status !== 0)(`${shell} gets no question that its program never read`, async () => {
    const server = new TmuxServer();
    const id = server.session("a", ...shell.split(" "));
    server.run("send-keys", "-t", id, "sleep 1000", "Enter");
    await until("it sleeps", () => server.show(id, "#{pane_current_command}") === "sleep");
    const suspect = await found({ socket: server.socket });
    const questions = [newQuestion(), newQuestion()];
    for (const question of questions) {
      expect(await suspect.ask(question)).toMatchObject({ is: "asked" });
    }
    server.run("send-keys", "-t", id, "echo ty''ped ahead", "Enter");
    await server.shows(id, "ty''ped");
    await suspect.takeBack?.(questions);
    const sleep = suspect.tree([]).find(({ command }) => command === "sleep 1000");
    process.kill(sleep?.pid ?? 0, "SIGTERM");
    server.run("send-keys", "-t", id, "echo do''ne", "Enter");
    await server.shows(id, "done");
    const after = server.screen(id);
    expect(after).toContain("typed ahead");
    expect(after).not.toMatch(/not found|Unknown command|Warden: /);
  });
}

test("a session is closed when its only program is ended, and no other is", async () => {
  const server = new TmuxServer();
  server.session("keep", "cat");
  const id = server.session("a", "cat");
  const suspect = await found({ socket: server.socket });
  expect(await endNow(suspect, [], 200)).toMatchObject({ survivors: [] });
  expect([server.has(id), server.has("keep")]).toEqual([false, true]);
});
