import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  linkSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { openRun } from "../../src/main.ts";
import { swarmCli } from "../mixed/company.ts";
import { newFolder } from "../support/folders.ts";
import { ledgerLines } from "../support/run-files.ts";
import { cli, json, ok, Running, viv } from "./support.ts";

/** Every way to done, for a task that asks for a proof: none leads there unproven without the word. */

let home: string;
let run: string;

beforeEach(async () => {
  home = newFolder();
  run = join(home, "run");
  await (await openRun(run, { create: true, durability: "fast" })).close();
});

const env = () => ({ PATH: process.env.PATH ?? "", HOME: home, VIV_RUN: run });
const around = () => ({ cwd: home, env: env() });
const say = (...args: string[]) => cli(args, around());
const done = (...args: string[]) => ok(args, around());

function script(name: string, text: string): string {
  const path = join(home, name);
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
  return path;
}

async function claimed(id: string, doneWhen: string, ...more: string[]): Promise<void> {
  await done("enqueue", "--type", "t", "--id", id, "--done-when", doneWhen, ...more);
  await done("claim", "--worker", "me");
}

const shown = (id: string) =>
  json<{ state: string; unproven?: string; history: unknown[]; token?: string }>(
    ["show", id],
    around(),
  );
const words = (id: string) => ledgerLines(run).lines.filter(({ task }) => task === id);
const isToldUnproven = (id: string) => words(id).some((line) => "unproven" in line);

describe("viv complete", () => {
  test("runs the proof where the caller stands, and tells its output when it fails", async () => {
    await claimed("a", "echo the door is open; test -e key");
    const refused = await say("complete", "a", "--worker", "me");
    expect(refused).toMatchObject({ status: 1, stderr: "" });
    expect(refused.stdout).toMatch(/a: claimed → failed unproven \(exit 1\)/);
    expect(refused.stdout).toContain("│ the door is open");
    expect(await shown("a")).toMatchObject({
      state: "failed",
      history: [{ outcome: "unproven", attempt: 1 }],
    });
    writeFileSync(join(home, "key"), "");
    await done("retry", "a");
    await done("claim", "--worker", "me");
    expect(await done("complete", "a", "--worker", "me")).toMatch(/a: claimed → done proven/);
    expect(words("a").at(-1)).toMatchObject({ event: "ended", to: "done", proof: "passed" });
    expect((await shown("a")).unproven).toBeUndefined();
  });

  test("killed and called again at once, it proves the task", async () => {
    await claimed("a", `touch ${home}/began; sleep 0.7`);
    const first = new Running(["complete", "a", "--worker", "me"], around());
    await vi.waitFor(() => expect(existsSync(join(home, "began"))).toBe(true), 10_000);
    first.child.kill("SIGKILL");
    let said = "";
    do said = (await cli(["complete", "a", "--worker", "me"], around())).stdout;
    while (said === "a: claimed still\n"); // what it left is not ended yet
    expect(said).toMatch(/a: claimed → done proven/);
  });

  test("a claim whose file was touched is proven like any other", async () => {
    await done("enqueue", "--type", "t", "--id", "a", "--done-when", "false");
    const { token } = await json<{ token: string }>(["claim", "--worker", "me"], around());
    linkSync(join(run, "claimed", "me", "a.json"), join(home, "link")); // now it has another token
    const refused = await say("complete", "a", "--worker", "me", "--token", token);
    expect(refused).toMatchObject({ status: 1, stderr: "" });
    expect(await shown("a")).toMatchObject({ state: "failed" });
  });

  test("a route's proof counts wherever the command is typed", async () => {
    const route = '[handlers.t]\nhandler = "true"\n';
    writeFileSync(join(home, "viv.toml"), `run = "run"\n${route}done_when = "false"\n`);
    const elsewhere = { cwd: newFolder(), env: env() };
    await done("enqueue", "--type", "t", "--id", "a");
    await done("claim", "--worker", "me");
    expect((await cli(["complete", "a", "--worker", "me"], elsewhere)).status).toBe(1);
    expect(await shown("a")).toMatchObject({ state: "failed" });

    await done("enqueue", "--type", "t", "--id", "b", "--review");
    await done("claim", "--worker", "me");
    const store = await openRun(run);
    await store.complete({ id: "b", worker: "me" });
    await store.close();
    // Nor does the viv.toml of another run decide.
    writeFileSync(join(elsewhere.cwd, "viv.toml"), `run = "other"\n${route}`);
    const refused = await cli(["approve", "b"], elsewhere);
    expect(refused.stderr).toContain("b is unproven: no proof ran");
  });

  test("runs a route's proof too, with its environment and time limit", async () => {
    writeFileSync(
      join(home, "viv.toml"),
      'run = "run"\n[handlers.t]\nhandler = "true"\ndone_when = "test $MODE = fast"\nenv = ["MODE=fast"]\n' +
        '[handlers.slow]\nhandler = "true"\ndone_when = "sleep 60"\ndone_when_timeout = "100ms"\n',
    );
    await done("enqueue", "--type", "t", "--id", "a");
    await done("claim", "--worker", "me");
    expect(await done("complete", "a", "--worker", "me")).toMatch(/done proven/);
    await done("enqueue", "--type", "slow", "--id", "b");
    await done("claim", "--worker", "me");
    const late = await say("complete", "b", "--worker", "me");
    expect(late).toMatchObject({ status: 1 });
    expect(late.stdout).toContain("its time was up");
  });

  test("a task without a proof is done at once, as before", async () => {
    await done("enqueue", "--type", "t", "--id", "a");
    await done("claim", "--worker", "me");
    expect(await done("complete", "a", "--worker", "me")).toBe("a: claimed → done\n");
    expect(Object.keys(words("a").at(-1) ?? {})).not.toContain("proof");
    expect(isToldUnproven("a")).toBe(false);
  });

  test("--no-prove leaves the proof to a worker, which does not do the work again", async () => {
    const handler = script("handle.sh", "touch worked-again");
    await claimed("a", "test -e proof", "--max-attempts", "2");
    expect(await done("complete", "a", "--worker", "me", "--no-prove")).toMatch(/pending unproven/);
    expect(await done("ls")).toContain("unproven: its work is done and waits");
    expect(await shown("a")).toMatchObject({ state: "pending", unproven: /waits/ });
    // A worker that gives it back, or dies, changes nothing about that.
    await done("claim", "--worker", "me");
    await done("release", "a", "--worker", "me");
    await say("work", "--handler", handler, "--once");
    expect(existsSync(join(home, "worked-again"))).toBe(false);
    expect(await shown("a")).toMatchObject({ state: "waiting", history: { length: 3 } });
    // The proof failed: now the work is to be done again.
    writeFileSync(join(home, "proof"), "");
    await say("work", "--handler", handler, "--drain");
    expect(existsSync(join(home, "worked-again"))).toBe(true);
    expect((await shown("a")).state).toBe("done");
  });

  test("an interrupted proof leaves the claim as it was", async () => {
    await claimed("a", "touch begun; sleep 600");
    const proving = new Running(["complete", "a", "--worker", "me"], { cwd: home, env: env() });
    const { until } = await import("../support/deadline.ts");
    await until("the proof begins", () => existsSync(join(home, "begun")));
    proving.child.kill("SIGINT");
    expect(await proving.end()).toMatchObject({ status: 5, stderr: /still claimed by me/ });
    expect((await shown("a")).state).toBe("claimed");
  });
});

describe("a live worker's claim", () => {
  test("needs its token, which its handler has", async () => {
    const handler = script(
      "handle.sh",
      // From inside: its own claim, by name alone; the worker proves it afterwards.
      `"${process.execPath}" "${join(import.meta.dirname, "../../dist/viv.cjs")}" complete a --worker w > said 2>&1\necho $? >> said\ntouch running\nwhile [ ! -e go ]; do sleep 0.02; done`,
    );
    await done("enqueue", "--type", "t", "--id", "a", "--done-when", "touch proven");
    const worker = new Running(["work", "--handler", handler, "--worker", "w", "--once"], {
      cwd: home,
      env: env(),
    });
    const { until } = await import("../support/deadline.ts");
    await until("the handler runs", () => existsSync(join(home, "running")));
    expect(readFileSync(join(home, "said"), "utf8")).toMatch(/runs the proof[\s\S]*\n0\n$/);
    expect((await shown("a")).state).toBe("claimed");
    for (const verb of ["complete", "fail", "release"]) {
      const refused = viv([verb, "a", "--worker", "w"], { cwd: home, env: env() });
      expect(refused, verb).toMatchObject({ status: 4, stderr: /held by the live worker w/ });
    }
    const beat = viv(["heartbeat", "--worker", "w"], { cwd: home, env: env() });
    expect(beat).toMatchObject({ status: 4, stderr: /live worker w/ });
    const outside = ["complete", "--run-dir", run, "--worker-id", "w", "--task-id", "a"];
    const swarm = await swarmCli([...outside, "--success"]);
    expect(swarm.code).not.toBe(0);
    expect(swarm.stderr).toContain("held by the live worker w");
    expect((await shown("a")).state).toBe("claimed");
    // With the token the worker still proves it: its handler runs.
    const { token = "" } = await shown("a");
    const left = viv(["complete", "a", "--worker", "w", "--token", token], { env: env() });
    expect(left).toMatchObject({ status: 0, stderr: /runs the proof/ });
    writeFileSync(join(home, "go"), "");
    expect(await worker.end()).toMatchObject({ status: 0 });
    expect(existsSync(join(home, "proven"))).toBe(true);
    expect((await shown("a")).state).toBe("done");
  });
});

describe("approve", () => {
  test("of what is unproven needs --unproven, and is told ever after", async () => {
    await claimed("a", "false", "--review");
    const library = await openRun(run);
    await library.complete({ id: "a", worker: "me" });
    await expect(library.approve("a")).rejects.toMatchObject({ code: "UNPROVEN" });
    await library.close();
    const refused = await say("approve", "a");
    expect(refused).toMatchObject({ status: 4, stderr: /a is unproven: no proof ran/ });
    expect(await done("ls", "--state", "review")).toContain("unproven: no proof ran");
    expect(await done("approve", "a", "--unproven", "--by", "pia")).toBe("a: review → done\n");
    expect(await done("show", "a")).toContain("approved without proof by pia: no proof ran");
  });

  test("a proof that failed, or is of an earlier attempt, is none", async () => {
    await claimed("a", "true", "--review");
    await done("complete", "a", "--worker", "me");
    await done("reject", "a", "--note", "again");
    await done("claim", "--worker", "me");
    await swarmCli([
      "complete",
      "--run-dir",
      run,
      "--worker-id",
      "me",
      "--task-id",
      "a",
      "--success",
    ]);
    expect(await say("approve", "a")).toMatchObject({ status: 4, stderr: /proof is of attempt 1/ });
    await claimed("b", "false");
    await say("complete", "b", "--worker", "me");
    renameSync(join(run, "failed/b.json"), join(run, "review/b.json"));
    expect(await say("approve", "b")).toMatchObject({ status: 4, stderr: /its proof failed/ });
  });

  test("of a worktree that changed since the proof", async () => {
    const repository = join(home, "app");
    const git = (...args: string[]) =>
      execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@e", ...args]).toString();
    git("init", "-q", "-b", "main", repository);
    git("-C", repository, "commit", "-q", "--allow-empty", "-m", "one");
    script("handle.sh", "echo work > file");
    writeFileSync(
      join(home, "viv.toml"),
      'run = "run"\n[handlers.t]\nhandler = "./handle.sh"\nworkspace = "worktree"\nrepository = "app"\ndone_when = "test -e file"\nreview = true\n',
    );
    for (const id of ["a", "b", "c"]) await done("enqueue", "--type", "t", "--id", id);
    await say("work", "--drain");
    expect(await shown("a")).toMatchObject({ state: "review", history: [{ proof: "passed" }] });
    writeFileSync(join(run, "workspaces/a/more"), "");
    expect(await say("approve", "a")).toMatchObject({ status: 4, stderr: /other files since/ });
    await done("approve", "a", "--unproven");
    expect(await done("ls", "--state", "done")).toContain("unproven: its worktree has other files");
    expect(await done("why", "a")).toContain("it is unproven: its worktree has other files");
    git("-C", join(run, "workspaces/b"), "commit", "-q", "--allow-empty", "-m", "two");
    expect(await say("approve", "b")).toMatchObject({ status: 4, stderr: /other commits since/ });
    expect(await done("approve", "c")).toBe("c: review → done\n");
  });
});

describe("no way leads to done unproven in silence", () => {
  const ref = (id: string) => ["--run-dir", run, "--worker-id", "me", "--task-id", id];
  const ways: [string, (id: string) => Promise<unknown>][] = [
    ["swarm-cli complete", (id) => swarmCli(["complete", ...ref(id), "--success"])],
    ["viv complete", (id) => say("complete", id, "--worker", "me")],
    [
      "viv complete --no-prove, then again",
      async (id) => {
        await say("complete", id, "--worker", "me", "--no-prove");
        await say("claim", "--worker", "me");
        await say("complete", id, "--worker", "me", "--no-prove");
        await say("claim", "--worker", "me");
        await swarmCli(["complete", ...ref(id), "--success"]);
      },
    ],
    [
      "the library",
      async (id) => {
        const store = await openRun(run);
        const options = id === "lib-2" ? { inBackground: true, note: "n" } : {};
        await store.complete({ id, worker: "me" }, options);
        await store.close();
      },
    ],
    [
      "viv retry after a failed proof",
      async (id) => {
        await say("complete", id, "--worker", "me");
        await say("retry", id);
        await say("claim", "--worker", "me");
        await swarmCli(["complete", ...ref(id), "--success"]);
      },
    ],
    [
      "a proof of another round",
      async (id) => {
        writeFileSync(join(home, "lucky"), "");
        await say("complete", id, "--worker", "me");
        await say("approve", id);
        const again = ["--task-id", id, "--task-type", "t", "--payload", '{"n":2}'];
        await swarmCli(["enqueue", "--run-dir", run, ...again]);
        await say("claim", "--worker", "me");
        await swarmCli(["complete", ...ref(id), "--success"]);
      },
    ],
  ];
  for (const review of [false, true]) {
    test.each(ways)(`%s${review ? ", with a review" : ""}`, async (_, end) => {
      await claimed("a", "test -e lucky", ...(review ? ["--review"] : []));
      await end("a");
      await say("approve", "a");
      const isDone = (await shown("a")).state === "done";
      if (isDone) expect(isToldUnproven("a")).toBe(true);
      if (isDone) expect((await shown("a")).unproven).toBeDefined();
      await say("approve", "a", "--unproven");
      const { state } = await shown("a");
      if (state === "done") expect(isToldUnproven("a")).toBe(true);
      else expect(["failed", "pending", "waiting"]).toContain(state);
    });
  }

  test("a file that was moved by hand is shown as unproven", async () => {
    await claimed("a", "false");
    renameSync(join(run, "claimed/me/a.json"), join(run, "done/a.json"));
    expect(await done("ls", "--state", "done")).toContain("unproven: no proof ran");
    expect(await shown("a")).toMatchObject({ state: "done", unproven: "no proof ran" });
    expect(await done("why", "a")).toContain("it is unproven");
  });

  const byHand = (from: string, to: string) =>
    renameSync(join(run, from, "a.json"), join(run, to, "a.json"));
  const proven = async (...more: string[]) => {
    await claimed("a", "true", ...more);
    await done("complete", "a", "--worker", "me");
    expect((await shown("a")).unproven).toBeUndefined();
  };
  const again = async () => {
    await done("claim", "--worker", "me");
    byHand("claimed/me", "done");
  };

  test.each<[string, () => Promise<unknown>]>([
    [
      "sent back by a review, then moved",
      async () => {
        await proven("--review");
        await done("reject", "a", "--note", "again");
        await again();
      },
    ],
    [
      "given out again, then moved",
      async () => {
        await proven();
        const round = ["--task-id", "a", "--task-type", "t", "--payload", '{"n":2}'];
        await swarmCli(["enqueue", "--run-dir", run, ...round]);
        await again();
      },
    ],
    [
      "moved back by hand, then claimed and moved",
      async () => {
        await proven();
        byHand("done", "pending");
        await again();
      },
    ],
    [
      "moved, with a proof.json that no attempt of ours has written",
      async () => {
        await claimed("a", "false");
        const proof = { attempt: 1, command: "false", exit: 0, timed_out: false, duration_ms: 1 };
        writeFileSync(join(run, "artifacts/a.proof.json"), JSON.stringify(proof));
        byHand("claimed/me", "done");
      },
    ],
  ])("%s: unproven, also without the derived files", async (_, end) => {
    await end();
    for (const derived of [true, false]) {
      if (!derived) rmSync(join(run, ".viv"), { recursive: true });
      expect(await shown("a")).toMatchObject({ state: "done", unproven: /proof/ });
      expect(await done("ls", "--state", "done")).toContain("unproven: ");
      expect(await done("why", "a")).toContain("it is unproven");
      expect(await done("report")).toContain("not proven: a");
    }
  });

  test("a proof of the first attempt survives the loss of the derived files", async () => {
    await proven();
    rmSync(join(run, ".viv"), { recursive: true });
    expect((await shown("a")).unproven).toBeUndefined();
    expect(await done("ls", "--state", "done")).not.toContain("unproven");
    expect(await done("report")).toContain("1 done, 1 proven");
  });
});
