import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { PsOutput } from "../../src/fleet/fleet-operations.ts";
import { swarm } from "../mixed/company.ts";
import { until } from "../support/deadline.ts";
import { newFolder } from "../support/folders.ts";
import { keepersOf, pidOf } from "../support/processes.ts";
import { Running, viv } from "./support.ts";

/** `viv pause --worker`: real workers, under `viv up` and alone. */

/** It reports its start, and ends when the file `go-TASK` is there. */
const HANDLE = `#!/bin/sh
here=$(dirname "$0")
echo "$VIV_TASK_ID $VIV_WORKER_ID" >>"$here/begun"
while [ ! -e "$here/go-$VIV_TASK_ID" ]; do sleep 0.05; done
echo done >"$VIV_ARTIFACT_PATH"
`;

function farm(toml: string, init: readonly string[]) {
  const folder = newFolder("viv-pause-");
  const env = { VIV_STATE: join(folder, "state") };
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  write("handle.sh", HANDLE);
  chmodSync(join(folder, "handle.sh"), 0o755);
  write("viv.toml", toml);
  const say = (...args: string[]) => viv(args, { cwd: folder, env });
  const json = <T>(...args: string[]) => JSON.parse(say(...args, "--json").stdout) as T;
  expect(say(...init).status).toBe(0);
  const begun = () =>
    existsSync(join(folder, "begun"))
      ? readFileSync(join(folder, "begun"), "utf8").split("\n").filter(Boolean)
      : [];
  const part = (name: string) => json<PsOutput>("ps").parts.find((one) => one.name === name);
  const start = (...args: string[]) => new Running(args, { cwd: folder, env });
  const feed = (id: string) => expect(say("enqueue", "--type", "x", "--id", id).status).toBe(0);
  const go = (id: string) => write(`go-${id}`, "");
  return { folder, say, json, begun, part, start, feed, go };
}

const ROUTE = '[handlers.default]\nhandler = "./handle.sh"\n';

it("viv up: the worker ends its task, claims nothing, is shown as paused, over a kill -9; then goes on", async () => {
  const here = farm(`run = "run"\n[workers]\ncount = 1\n${ROUTE}`, ["init"]);
  const up = here.start("up", "--no-server", "--json");
  await up.says('"ready"');
  here.feed("t.1");
  await until("it has begun", () => here.begun().length === 1);
  const paused = here.say("pause", "--worker", "worker-1", "--by", "pia", "--note", "odd");
  expect(paused).toMatchObject({
    status: 0,
    stdout: expect.stringContaining("1 task still running"),
  });
  expect(
    JSON.parse(readFileSync(join(here.folder, "run/claimed/worker-1/.paused"), "utf8")),
  ).toMatchObject({ by: "pia", note: "odd", at: expect.any(String) });
  here.feed("t.2");
  here.go("t.1");
  await until("ps says it", () => here.part("worker-1")?.state === "paused");
  expect(here.part("worker-1")?.note).toContain("worker-1 is paused by pia: odd");
  expect(existsSync(join(here.folder, "run/done/t.1.json"))).toBe(true);

  // Every command says it.
  const line =
    /worker-1 is paused by pia .* ago: odd \(it claims nothing; go on with: viv resume --worker worker-1\)/;
  expect(here.say("ls").stdout).toMatch(line);
  expect(here.json("ls")).toMatchObject({
    paused_workers: [{ name: "worker-1", paused: { by: "pia" } }],
  });
  expect(here.say("status").stdout).toContain("paused by pia: odd");
  expect(here.json("status")).toMatchObject({
    workers: [{ name: "worker-1", paused: { note: "odd" } }],
  });
  expect(here.json("why", "t.2")).toMatchObject({
    reasons: [{ code: "paused", command: "viv resume --worker worker-1" }],
  });

  // A new process of that name is paused too; doctor has nothing against the file.
  const killed = pidOf(here.part("worker-1"));
  for (const pid of [...keepersOf(killed), killed]) process.kill(pid, "SIGKILL");
  await until("it is back, and paused", () => {
    const one = here.part("worker-1");
    return one?.restarts === 1 && one.state === "paused";
  });
  expect(here.say("doctor").status).toBe(0);
  expect(here.begun()).toHaveLength(1);

  expect(here.say("resume", "--worker", "worker-1")).toMatchObject({
    ...{ status: 0, stdout: expect.stringContaining("paused by pia") },
  });
  await until("it goes on", () => here.begun().length === 2);
  here.go("t.2");
  expect(here.say("pause", "--worker", "worker-9")).toMatchObject({
    ...{ status: 3, stderr: expect.stringContaining("there are: worker-1") },
  });
  up.child.kill("SIGTERM");
  expect((await up.end()).status).toBe(0);
});

it("a pit's worker of several names goes on when all of them were paused, or one while another works", async () => {
  const here = farm(`run = "run"\n${ROUTE}`, ["pit", "init", "run"]);
  const w = here.start("work", "--worker-id", "w", "--concurrency", "2", "--json");
  await w.says('"started"');
  const pause = (verb: string, ...names: string[]) => {
    for (const name of names) expect(here.say(verb, "--worker", name).status).toBe(0);
  };
  pause("pause", "w-1", "w-2");
  here.feed("t.1");
  await w.says(/"held".*w-1 is paused.*w-2 is paused/);
  pause("resume", "w-1");
  await until("it goes on", () => here.begun().join() === "t.1 w-1");
  here.feed("t.2");
  pause("resume", "w-2");
  await until("the other one too", () => here.begun().includes("t.2 w-2"));
  for (const id of ["t.1", "t.2"]) here.go(id);
  w.child.kill("SIGTERM");
  expect((await w.end()).status).toBe(0);
});

describe.each([
  ["a run", ["init", "run"], "run/claimed/w/.paused"],
  ["a pit", ["pit", "init", "run"], "run/claimed/.paused.w"],
])("in %s", (_, init, file) => {
  it("a file made with touch pauses, its removal wakes at once; the other worker goes on", async () => {
    const here = farm(`run = "run"\n${ROUTE}`, init);
    const w = here.start("work", "--worker-id", "w", "--json");
    await w.says('"started"');
    writeFileSync(join(here.folder, file), "");
    here.feed("t.1");
    await w.says(/"held".*w is paused by someone/);
    const other = here.start("work", "--worker-id", "v", "--json");
    await until("the other has it", () => here.begun().join() === "t.1 v");
    here.feed("t.2");
    rmSync(join(here.folder, file));
    await until("it goes on", () => here.begun().includes("t.2 w"));
    for (const id of ["t.1", "t.2"]) here.go(id);
    for (const one of [w, other]) {
      one.child.kill("SIGTERM");
      expect((await one.end()).status).toBe(0);
    }
    expect(here.say("doctor").status).toBe(0);
  });

  it("--drain ends, and says what it left and why", async () => {
    const here = farm(`run = "run"\n${ROUTE}`, init);
    here.feed("t.1");
    writeFileSync(join(here.folder, "go-t.1"), "");
    if (init[0] === "init") expect(here.say("claim", "--worker", "w").status).toBe(0);
    if (init[0] === "init") expect(here.say("release", "t.1", "--worker", "w").status).toBe(0);
    writeFileSync(join(here.folder, file), "");
    const drained = here.say("work", "--worker-id", "w", "--drain");
    expect(drained).toMatchObject({ status: 1 });
    expect(drained.stdout + drained.stderr).toMatch(
      /1 task left behind[\s\S]*w is paused by someone/,
    );
    rmSync(join(here.folder, file));
    expect(here.say("work", "--worker-id", "w", "--drain").status).toBe(0);
  });
});

it("swarm-lib does not mind the file: it claims, reaps and lists as before", async () => {
  const here = farm(`run = "run"\n${ROUTE}`, ["init"]);
  const run = join(here.folder, "run");
  here.feed("t.1");
  expect(here.say("claim", "--worker", "w").status).toBe(0);
  expect(here.say("pause", "--worker", "w").status).toBe(0);
  here.feed("t.2");
  const [claimed] = await swarm(run, "claim", ["foreign"]);
  expect(JSON.stringify(claimed)).toContain("t.2");
  await swarm(run, "reap", [-1]);
  expect(readdirSync(join(run, "pending")).filter((name) => !name.startsWith("."))).toContain(
    "t.1.json",
  );
  expect(existsSync(join(run, "claimed/w/.paused"))).toBe(true);
  expect(here.json("status")).toMatchObject({
    workers: [{ name: "w", paused: { by: expect.any(String) } }],
  });
});
