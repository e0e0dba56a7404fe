import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { openRun } from "../../src/main.ts";
import { readForgeRecord } from "../../src/merge/forge/record.ts";
import { readLanding } from "../../src/merge/landing.ts";
import { environment, VIV } from "../cli/support.ts";
import { Faults } from "../support/faults.ts";
import {
  git,
  newForge,
  openPullRequest,
  runWith,
  type StandIn,
} from "../support/forge/new-forge.ts";

/**
 * `viv pr` and `viv sync`, killed at each of their steps: before and after every question to the forge,
 * in the middle of the push, and at every change of a file. Afterwards the same command goes on: one
 * pull request, one comment, one line in the ledger, and no commit of others overwritten.
 */

const branch = "viv/t.7@run";

async function scene() {
  const forge = newForge();
  const { store, path } = await runWith(forge, "t.7");
  await store.close();
  return { forge, path };
}

/** The program, with its process id in a file for hooks of the remote. */
function viv(forge: StandIn, path: string, ...args: string[]) {
  const begin = `echo $$ > '${join(forge.folder, "pid")}'; exec "$0" "$@"`;
  const { signal, stderr, status } = spawnSync(
    "sh",
    ["-c", begin, process.execPath, VIV, ...args],
    {
      cwd: forge.repository,
      env: environment({ ...forge.env, VIV_RUN: path }),
      encoding: "utf8",
      timeout: 50_000,
    },
  );
  return { signal, stderr, status };
}

async function linesOf(path: string, event: string): Promise<number> {
  const store = await openRun(path);
  let count = 0;
  for await (const line of store.ledger({ task: "t.7" })) if (line.event === event) count++;
  await store.close();
  return count;
}

async function expectOpenedOnce(forge: StandIn, path: string) {
  expect(forge.state().pulls).toMatchObject([{ number: 1, branch, state: "open" }]);
  expect(forge.commitOf(branch)).toBe(git(forge.repository, "rev-parse", branch));
  expect(readLanding(path, "t.7")).toMatchObject({ state: "pull_request" });
  expect(readForgeRecord(path, "t.7")?.pull_request?.number).toBe(1);
  expect(await linesOf(path, "pr_opened")).toBe(1);
}

describe("viv pr, killed", () => {
  it.each([
    ["after it has asked for the branch's requests", "GET .*/pulls", "kill-after"],
    ["before the request is opened", "POST .*/pulls", "kill-before"],
    ["after the request is opened, before its answer", "POST .*/pulls", "kill-after"],
  ])("%s", async (_, on, kind) => {
    const { forge, path } = await scene();
    forge.days({ on, kind });
    expect(viv(forge, path, "pr", "t.7").signal).toBe("SIGKILL");
    expect(viv(forge, path, "pr", "t.7")).toMatchObject({ status: 0, stderr: "" });
    await expectOpenedOnce(forge, path);
  });

  it.each(["pre-receive", "post-receive"])("in the remote's %s hook", async (hook) => {
    const { forge, path } = await scene();
    const file = join(forge.bare, "hooks", hook);
    writeFileSync(file, `#!/bin/sh\nkill -9 $(cat '${join(forge.folder, "pid")}')\nexit 0\n`, {
      mode: 0o755,
    });
    expect(viv(forge, path, "pr", "t.7").signal).toBe("SIGKILL");
    writeFileSync(file, "#!/bin/sh\nexit 0\n");
    expect(viv(forge, path, "pr", "t.7")).toMatchObject({ status: 0, stderr: "" });
    await expectOpenedOnce(forge, path);
  });

  it("knows a rewritten branch as its own after a push that it did not live to note", async () => {
    const { forge, path } = await scene();
    forge.days({ on: "POST .*/pulls", kind: "kill-before" });
    viv(forge, path, "pr", "t.7"); // pushed, not opened
    git(join(path, "workspaces/t.7"), "commit", "-q", "--amend", "-m", "another");
    expect(viv(forge, path, "pr", "t.7").status).toBe(0);
    await expectOpenedOnce(forge, path);
  });
});

describe("viv pr, cut off at a change of a file", () => {
  let faults: Faults | undefined;
  afterEach(() => faults?.heal());

  /** Until the change numbered `at`; then a process that lives goes on. */
  async function cutAt(at: number): Promise<Faults> {
    const forge = newForge();
    const { store, path } = await runWith(forge, "t.7");
    // The forge is a program of its own: only our changes are cut off.
    const context = { store, host: forge.programs, config: undefined };
    faults = new Faults("die", at);
    await openPullRequest(context, "t.7").catch(() => {}); // it died
    faults.heal();
    if (faults.happened) {
      const next = await openRun(path);
      await openPullRequest({ ...context, store: next }, "t.7");
      await next.close();
    }
    await expectOpenedOnce(forge, path);
    return faults;
  }

  it("goes on from each of them", async () => {
    const { log } = await cutAt(Number.POSITIVE_INFINITY);
    // A file that was only made, under a temporary name, is no other state.
    const changes = log.flatMap((line, i) =>
      / (rename|write|mkdir)Sync /.test(line) ? [i + 1] : [],
    );
    expect(changes.length).toBeGreaterThanOrEqual(6);
    for (const at of changes) expect((await cutAt(at)).happened).toBe(true);
  });
});

describe("viv sync, killed", () => {
  it.each([
    ["after it has read it", "graphql", "kill-after"],
    ["before the issue is told", "POST .*/comments", "kill-before"],
    ["after the issue is told", "POST .*/comments", "kill-after"],
  ])("%s", async (_, on, kind) => {
    const { forge, path } = await scene();
    expect(viv(forge, path, "pr", "t.7").status).toBe(0);
    const body = { title: "x", body: "", login: "alice", labels: [], comments: [] };
    forge.change(({ issues }) => issues.push({ number: 5, ...body }));
    noteIssue(path);
    const commit = forge.merge(1);
    forge.days({ on, kind });
    expect(viv(forge, path, "sync").signal).toBe("SIGKILL");
    expect(viv(forge, path, "sync").status).toBe(0);
    expect(readLanding(path, "t.7")).toMatchObject({ state: "landed", to: commit });
    expect(await linesOf(path, "landed")).toBe(1);
    expect(forge.state().issues[0]?.comments).toHaveLength(1);
  });
});

/** As if the task had been made of issue 5. */
function noteIssue(path: string): void {
  const record = readForgeRecord(path, "t.7");
  const issue = { number: 5, url: "https://github.com/acme/app/issues/5" };
  writeFileSync(join(path, "merge/forge/t.7.json"), JSON.stringify({ ...record, issue }));
}
