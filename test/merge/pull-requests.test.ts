import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { parseConfig } from "../../src/app/config.ts";
import type { ForgeHost } from "../../src/merge/forge/forge.ts";
import type { ForgeContext } from "../../src/merge/forge/open.ts";
import { readForgeRecord } from "../../src/merge/forge/record.ts";
import { readRemote } from "../../src/merge/forge/remote.ts";
import { readLanding } from "../../src/merge/landing.ts";
import { askProgram } from "../../src/platform/processes/ask-program.ts";
import type { Store } from "../../src/queue/store.ts";
import {
  commitFile,
  git,
  newForge,
  openPullRequest,
  runWith,
  type StandIn,
} from "../support/forge/new-forge.ts";

/** `viv pr` with a forge that keeps state, and a bare repository as its remote. */

const configOf = (toml: string, folder: string) => parseConfig(toml, join(folder, "viv.toml"));

async function scene(program: "gh" | "glab" = "gh", ...ids: string[]) {
  const forge = newForge(program);
  const { store, path } = await runWith(forge, ...(ids.length > 0 ? ids : ["t.7"]));
  const context: ForgeContext = { store, host: forge.host, config: undefined };
  return { forge, store, path, context };
}

async function ledgerOf(store: Store, event: string) {
  const lines = [];
  for await (const line of store.ledger()) if (line.event === event) lines.push(line);
  return lines;
}

const branch = "viv/t.7@run";

describe.each(["gh", "glab"] as const)("%s: opening a pull request", (program) => {
  it("pushes the branch and opens it with the proof, the attempts and the cost", async () => {
    const { forge, store, path, context } = await scene(program);
    await store.artifacts.write(
      "t.7.proof.json",
      JSON.stringify({ attempt: 1, command: "npm test", exit: 0, duration_ms: 1200 }),
    );
    const landing = await openPullRequest(context, "t.7");
    const head = git(forge.repository, "rev-parse", branch);
    expect(forge.commitOf(branch)).toBe(head);
    expect(landing).toMatchObject({ state: "pull_request", head, target: "main", branch });
    expect(landing.pull_request).toMatchObject({ number: 1, forge: program });
    expect(readLanding(path, "t.7")).toEqual(landing);
    const [pull, ...others] = forge.state().pulls;
    expect(others).toEqual([]);
    expect(pull).toMatchObject({ branch, base: "main", title: "Write t.7" });
    expect(pull?.body).toContain("Proof: `npm test` passed in 1.2 s (attempt 1)");
    expect(pull?.body).toContain("Attempts: 1");
    expect(pull?.body).toContain("Cost: no model was used");
    expect(pull?.body).toContain("`t.7.txt` +1 −0");
    expect(await ledgerOf(store, "pr_opened")).toMatchObject([
      { task: "t.7", number: 1, forge: program, url: landing.pull_request?.url, commit: head },
    ]);
  });

  it("is the same request the second time, and gets new commits", async () => {
    const { forge, store, context } = await scene(program);
    await openPullRequest(context, "t.7");
    const again = await openPullRequest(context, "t.7", { title: "Another" });
    await commitFile(store, forge.repository, "t.7", "more.txt", "more\n");
    const more = await openPullRequest(context, "t.7");
    expect([again.pull_request?.number, more.pull_request?.number]).toEqual([1, 1]);
    expect(forge.state().pulls).toHaveLength(1);
    expect(forge.commitOf(branch)).toBe(git(forge.repository, "rev-parse", branch));
    expect(await ledgerOf(store, "pr_opened")).toHaveLength(1);
  });

  it("finds the request whose answer was lost", async () => {
    const { forge, store, context } = await scene(program);
    forge.days({ on: "POST .*(pulls|merge_requests)", kind: "lost" });
    const landing = await openPullRequest(context, "t.7");
    expect(landing.state).toBe("pull_request");
    expect(forge.state().pulls).toHaveLength(1);
    expect(await ledgerOf(store, "pr_opened")).toHaveLength(1);
  });

  it("is held when the remote does not answer, and does not wait for long", async () => {
    const { forge } = await scene();
    const silent = createServer(() => {}).listen(0, "127.0.0.1");
    onTestFinished(() => void silent.close());
    await once(silent, "listening");
    const { port } = silent.address() as AddressInfo;
    git(forge.repository, "remote", "add", "silent", `http://127.0.0.1:${port}/acme/app.git`);
    const look = readRemote(forge.repository, "silent", ["main"], forge.env, 300);
    await expect(look).rejects.toThrow(/^git ls-remote had no answer for /);
  });

  it("is held without a login", async () => {
    const { forge, context } = await scene(program);
    forge.days({ on: ".", kind: "login", times: 9 });
    const reason = `${program} is not logged in; run: ${program} auth login`;
    expect(await openPullRequest(context, "t.7")).toMatchObject({ state: "held", reason });
  });
});

it("a request of an older branch name stays where it is, and gets the commits of the new branch", async () => {
  const { forge, store, path, context } = await scene();
  const record = join(path, "workspaces/.t.7.json");
  const rename = (from: string, to: string) => {
    git(forge.repository, "branch", "--move", from, to);
    writeFileSync(record, readFileSync(record, "utf8").replace(from, to));
  };
  rename(branch, "viv/t.7");
  expect((await openPullRequest(context, "t.7")).branch).toBe("viv/t.7");
  rename("viv/t.7", branch);
  await commitFile(store, forge.repository, "t.7", "more.txt", "more\n");
  const more = await openPullRequest(context, "t.7");
  expect(more).toMatchObject({ state: "pull_request", branch, pull_request: { number: 1 } });
  expect(forge.state().pulls).toMatchObject([{ branch: "viv/t.7" }]);
  expect(forge.commitOf("viv/t.7")).toBe(git(forge.repository, "rev-parse", branch));
  expect(forge.commitOf(branch)).toBeNull();
});

describe("bad days", () => {
  it.each([
    ["offline", "cannot reach the forge"],
    ["unauthorized", "is not logged in; run: gh auth login"],
    ["garbage", "answered with no JSON"],
    ["error", "the forge has an error of its own (HTTP 502)"],
    ["old", "ended with 1: unknown flag: --include"],
  ])("is held on a bad day (%s), and goes on after it", async (kind, words) => {
    const { forge, store, context } = await scene();
    forge.days({ on: ".", kind, times: 9 });
    const landing = await openPullRequest(context, "t.7");
    expect(landing).toMatchObject({ state: "held", reason: expect.stringContaining(words) });
    expect(forge.commitOf(branch)).toBeNull();
    forge.days();
    expect((await openPullRequest(context, "t.7")).state).toBe("pull_request");
    expect(await ledgerOf(store, "pr_opened")).toHaveLength(1);
  });

  it("holds until a rate limit ends, without asking again before", async () => {
    const { forge, context } = await scene();
    let now = Date.now();
    const host: ForgeHost = { ...context.host, now: () => now };
    const until = Math.floor(now / 1000) + 600;
    forge.days({ on: ".", kind: "limited", until });
    const landing = await openPullRequest({ ...context, host }, "t.7");
    const time = new Date(until * 1000).toISOString();
    expect(landing).toMatchObject({ state: "held", reason: expect.stringContaining(time) });
    const calls = forge.calls().length;
    expect((await openPullRequest({ ...context, host }, "t.7")).state).toBe("held");
    expect(forge.calls()).toHaveLength(calls);
    now += 601_000;
    expect((await openPullRequest({ ...context, host }, "t.7")).state).toBe("pull_request");
  });

  it("ends a program that does not answer", async () => {
    const { forge, context } = await scene();
    forge.days({ on: ".", kind: "slow" });
    const host: ForgeHost = {
      ...forge.programs,
      run: (request) => askProgram({ ...request, env: forge.env, timeoutMs: 300 }),
    };
    const landing = await openPullRequest({ ...context, host }, "t.7");
    expect(landing).toMatchObject({ state: "held", reason: expect.stringContaining("in time") });
  });
});

describe("the push", () => {
  it("does not overwrite commits of others, and says how to bring them in", async () => {
    const { forge, store, context } = await scene();
    await openPullRequest(context, "t.7");
    const other = pushed(forge, "theirs.txt");
    await commitFile(store, forge.repository, "t.7", "ours.txt", "ours\n");
    const landing = await openPullRequest(context, "t.7");
    expect(landing.state).toBe("held");
    expect(landing.reason).toContain(
      `others have pushed to viv/t.7@run of origin (${other.slice(0, 12)})`,
    );
    expect(forge.commitOf(branch)).toBe(other);
    // The command that it names.
    git(join(store.workspaces, "t.7"), "pull", "-q", "--no-rebase", "origin", branch);
    expect(landing.command).toContain("pull --no-rebase origin viv/t.7@run && viv pr t.7");
    expect((await openPullRequest(context, "t.7")).state).toBe("pull_request");
    expect(forge.commitOf(branch)).toBe(git(forge.repository, "rev-parse", branch));
  });

  it("replaces its own commits when the branch was rewritten", async () => {
    const { forge, store, context } = await scene();
    await openPullRequest(context, "t.7");
    const worktree = join(store.workspaces, "t.7");
    git(worktree, "commit", "-q", "--amend", "-m", "another");
    expect((await openPullRequest(context, "t.7")).state).toBe("pull_request");
    expect(forge.commitOf(branch)).toBe(git(worktree, "rev-parse", "HEAD"));
  });

  it("is held when the remote refuses it, in the remote's words", async () => {
    const { forge, context } = await scene();
    const hook = join(forge.bare, "hooks/pre-receive");
    writeFileSync(hook, "#!/bin/sh\necho 'this branch is protected' >&2\nexit 1\n", {
      mode: 0o755,
    });
    const landing = await openPullRequest(context, "t.7");
    expect(landing.state).toBe("held");
    expect(landing.reason).toContain("pre-receive hook declined");
    expect(landing.reason).toContain("this branch is protected");
    expect(forge.state().pulls).toEqual([]);
  });

  it("is held when the remote's branch moves between the look and the push", async () => {
    const { forge, store, context } = await scene();
    await openPullRequest(context, "t.7");
    await commitFile(store, forge.repository, "t.7", "ours.txt", "ours\n");
    let other = "";
    const host: ForgeHost = {
      ...context.host,
      run: (request) => {
        other ||= pushed(forge, "theirs.txt"); // after the look at the remote
        return context.host.run(request);
      },
    };
    const landing = await openPullRequest({ ...context, host }, "t.7");
    expect(landing).toMatchObject({ state: "held", reason: expect.stringContaining("moved") });
    expect(forge.commitOf(branch)).toBe(other);
  });

  it("goes to the remote that is set, into the branch that is set", async () => {
    const { forge, context } = await scene();
    git(forge.repository, "remote", "rename", "origin", "upstream");
    git(forge.repository, "remote", "add", "fork", "https://github.com/acme/nowhere.git");
    git(forge.repository, "push", "-q", "upstream", "main:release");
    const toml = '[merge]\nremote = "upstream"\ninto = "release"\n';
    const config = await configOf(toml, forge.folder);
    const landing = await openPullRequest({ ...context, config }, "t.7");
    expect(landing).toMatchObject({ state: "pull_request", target: "release" });
    expect(forge.state().pulls).toMatchObject([{ base: "release" }]);
  });

  it.each([
    ['[merge]\nremote = "nope"\n', "none is called nope"],
    ['[merge]\ninto = "nope"\n', "origin has no branch nope; push it"],
    ['[merge]\nbody = "nope.md"\n', "nope.md is not there"],
    ['[merge]\nforge = "glab"\n', "glab is not installed"],
  ])("is held with a wrong setting: %s", async (toml, words) => {
    const { forge, context } = await scene();
    const config = await configOf(toml, forge.folder);
    const landing = await openPullRequest({ ...context, config }, "t.7");
    expect(landing).toMatchObject({ state: "held", reason: expect.stringContaining(words) });
    expect(forge.commitOf(branch)).toBeNull();
  });

  it("names the push by hand when no program is installed, and no URL", async () => {
    const { forge, context } = await scene();
    git(forge.repository, "remote", "set-url", "origin", "https://u:hunter2@git.acme.org/a/b.git");
    const host = { ...context.host, find: () => null };
    const landing = await openPullRequest({ ...context, host }, "t.7");
    expect(landing).toMatchObject({
      state: "held",
      reason: expect.stringContaining("neither gh nor glab is installed"),
      command: `git -C ${forge.repository} push origin viv/t.7@run`,
    });
    expect(JSON.stringify(landing)).not.toMatch(/hunter2|git\.acme/);
  });
});

/** A commit of a colleague on the pull request's branch. */
function pushed(forge: StandIn, file: string): string {
  const tip = forge.commitOf(branch) ?? "";
  const tree = git(forge.bare, "rev-parse", `${tip}^{tree}`);
  const commit = git(forge.bare, "commit-tree", tree, "-p", tip, "-m", file);
  git(forge.bare, "update-ref", `refs/heads/${branch}`, commit);
  return commit;
}

describe("what is opened", () => {
  it("is only a done task with commits", async () => {
    const { store, context } = await scene();
    await expect(openPullRequest(context, "nope")).rejects.toMatchObject({
      code: "TASK_NOT_FOUND",
    });
    await store.enqueue({ id: "later", type: "t" });
    await expect(openPullRequest(context, "later")).rejects.toMatchObject({ code: "WRONG_STATE" });
    await store.enqueue({ id: "plain", type: "t" });
    await store.claim({ worker: "w", max: 2 });
    await store.complete({ id: "plain", worker: "w" });
    await expect(openPullRequest(context, "plain")).rejects.toThrow("it has no branch");
  });

  it("is nothing when the branch has no commits of its own", async () => {
    const { forge, store, context } = await scene();
    git(join(store.workspaces, "t.7"), "reset", "-q", "--hard", "HEAD~1");
    expect((await openPullRequest(context, "t.7")).state).toBe("no_changes");
    expect(forge.calls()).toEqual([]);
  });

  it("has landed when its commit was merged before", async () => {
    const { forge, path, context, store } = await scene();
    await openPullRequest(context, "t.7");
    const commit = forge.merge(1);
    const landing = await openPullRequest(context, "t.7");
    expect(landing).toMatchObject({ state: "landed", to: commit, target: "main" });
    expect(readLanding(path, "t.7")?.state).toBe("landed");
    expect(await ledgerOf(store, "landed")).toMatchObject([{ commit, target: "main", via: "pr" }]);
  });

  it("is a new one after the first was closed, when it is asked for", async () => {
    const { forge, context } = await scene();
    await openPullRequest(context, "t.7");
    forge.change(({ pulls: [one] }) => Object.assign(one ?? {}, { state: "closed" }));
    expect((await openPullRequest(context, "t.7")).pull_request?.number).toBe(2);
  });

  it("does not take a fork's request of the same branch for its own", async () => {
    const { forge, context } = await scene("glab");
    await openPullRequest(context, "t.7");
    forge.change(({ pulls: [one] }) => Object.assign(one ?? {}, { fork: 99 }));
    expect((await openPullRequest(context, "t.7")).pull_request?.number).toBe(2);
  });

  it("says what the template says, without secrets", async () => {
    const { forge, store } = await scene("gh", "t.1");
    const token = `ghp_${"a".repeat(36)}`;
    await store.enqueue({
      id: "t.7",
      type: "write",
      payload: { goal: `--title=x\n$(touch /tmp/x) ${token} hunter2-hunter2` },
    });
    await store.claim({ worker: "w", max: 1 });
    await commitFile(store, forge.repository, "t.7", "-rf `x`.txt", "x\n");
    await store.complete({ id: "t.7", worker: "w" });
    writeFileSync(join(forge.folder, "pr.md"), "{{title}}|{{ task }}|{{files}}|{{cost}}\n");
    const config = await configOf('[merge]\nbody = "pr.md"\n', forge.folder);
    const env = { ...forge.host.env, MY_API_KEY: "hunter2-hunter2" };
    await openPullRequest({ store, config, host: { ...forge.host, env } }, "t.7", { draft: true });
    const [pull] = forge.state().pulls;
    expect(pull).toMatchObject({
      title: "--title=x $(touch /tmp/x) [redacted] [redacted]",
      draft: true,
    });
    expect(pull?.body).toBe(
      "--title=x $(touch /tmp/x) [redacted] [redacted]|`t.7`|1 file changed:\n- ``-rf `x`.txt`` +1 −0|no model was used",
    );
    const calls = JSON.stringify(forge.calls());
    expect(calls).not.toMatch(/hunter2|ghp_|touch/);
  });

  it("names a mistake in the template", async () => {
    const { forge, context } = await scene();
    writeFileSync(join(forge.folder, "pr.md"), "{{proofs}}\n");
    const config = await configOf('[merge]\nbody = "pr.md"\n', forge.folder);
    const landing = await openPullRequest({ ...context, config }, "t.7");
    expect(landing.reason).toContain("{{proofs}} is unknown; did you mean {{proof}}?");
  });

  it("keeps the note of what was pushed, for the next process", async () => {
    const { forge, path, context } = await scene();
    await openPullRequest(context, "t.7");
    const head = git(forge.repository, "rev-parse", branch);
    expect(readForgeRecord(path, "t.7")).toEqual({
      ...{ task: "t.7", forge: "gh", host: "github.com", repo: "acme/app" },
      pull_request: {
        ...{ remote: "origin", branch, base: "main", pushed: [head], sent: [] },
        ...{ number: 1, url: "https://github.com/acme/app/pull/1" },
      },
    });
  });
});
