import { spawn, spawnSync } from "node:child_process";
import { chmodSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { until } from "../../../test/support/deadline.ts";
import { endNow, isAlive, TmuxServer, textIn, warrantFor } from "../../../test/support/tmux.ts";
import { findSessionSuspect } from "../../warden/suspects/session-suspect.ts";
import type { Suspect } from "../../warden/suspects/suspect.ts";

/** A server that ends while a client asks it: what tmux says then, and what may be concluded. */

const REAL = spawnSync("sh", ["-c", "command -v tmux"], { encoding: "utf8" }).stdout.trim();

/** tmux, but while `lost` lies in the folder its lists end in the words of a client that lost its server. */
function losing(server: TmuxServer): { PATH: string; lost: string } {
  const lost = join(server.folder, "lost");
  const path = join(server.folder, "tmux");
  const script = `#!/bin/sh
case "$*" in *list-*) if [ -e '${lost}' ]; then cat '${lost}' >&2; exit 1; fi;; esac
exec '${REAL}' "$@"
`;
  writeFileSync(path, script);
  chmodSync(path, 0o755);
  return { PATH: `${server.folder}:${process.env.PATH}`, lost };
}

async function suspectOn(server: TmuxServer, target: string, PATH: string): Promise<Suspect> {
  const env = { PATH };
  const found = await findSessionSuspect(warrantFor({ target, socket: server.socket }), { env });
  if (found.is !== "there") throw new Error(found.why);
  onTestFinished(() => found.suspect.close());
  return found.suspect;
}

const WORDS = ["server exited unexpectedly", "lost server", "server exited", "exited"];

test.each(WORDS)("%s: gone when the server's process is gone", async (words) => {
  const server = new TmuxServer();
  server.session("a", "sleep", "600");
  const { PATH, lost } = losing(server);
  const suspect = await suspectOn(server, "a", PATH);
  const { pid } = server;
  process.kill(pid, "SIGKILL");
  await until("the server is gone", () => !isAlive(pid));
  writeFileSync(lost, `${words}\n`);
  expect(await suspect.look()).toEqual({ is: "gone", why: "its tmux server has ended" });
  const tree = suspect.tree([]);
  const ended = await endNow(suspect, tree, 200);
  expect(ended.unknown).toBeUndefined();
  expect(ended.survivors).toEqual([]);
});

test("unknown while the server's process lives, whatever its clients say", async () => {
  const server = new TmuxServer();
  server.session("a", "sleep", "600");
  server.session("b", "sleep", "600");
  const { PATH, lost } = losing(server);
  const suspect = await suspectOn(server, "a", PATH);
  writeFileSync(lost, "server exited unexpectedly\n");
  expect(await suspect.look()).toMatchObject({ is: "unknown" });
  const ended = await endNow(suspect, [], 200);
  expect(ended).toMatchObject({ exit: [], unknown: expect.stringContaining("runs") });
  rmSync(lost);
  expect(server.has("a")).toBe(true);
});

test("six that end together on one server are all gone", async () => {
  for (let round = 0; round < 3; round++) {
    const server = new TmuxServer();
    const names = ["a", "b", "c", "d", "e", "f"];
    for (const name of names) server.session(name, "sleep", "600");
    const path = process.env.PATH ?? "";
    const all = await Promise.all(names.map((name) => suspectOn(server, name, path)));
    const ends = await Promise.all(all.map((one) => endNow(one, one.tree([]), 3_000)));
    expect(ends.map(({ unknown, survivors }) => ({ unknown, survivors }))).toEqual(
      names.map(() => ({ unknown: undefined, survivors: [] })),
    );
  }
});

test("unknown while no file descriptor is free", async () => {
  const server = new TmuxServer();
  server.session("a", "cat");
  const suspect = await suspectOn(server, "a", process.env.PATH ?? "");
  const [, soft, hard] = /^Max open files +(\S+) +(\S+)/m.exec(textIn("/proc/self/limits")) ?? [];
  const limit = (files: string) => `prlimit --pid ${process.pid} --nofile=${files}:${hard}`;
  // Started before: nothing can be started while the limit is low.
  const restore = spawn("sh", ["-c", `read line; ${limit(soft ?? "")}`], {
    stdio: ["pipe", "ignore", "inherit"],
  });
  const restored = new Promise((resolve) => restore.once("exit", resolve));
  try {
    spawnSync("sh", ["-c", limit("3")]);
    expect(await suspect.look()).toMatchObject({
      is: "unknown",
      why: expect.stringContaining("EMFILE"),
    });
  } finally {
    restore.stdin?.end("\n");
    await restored;
  }
  expect(await suspect.look()).toMatchObject({ is: "there" });
});
