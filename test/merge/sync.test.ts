import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseConfig } from "../../src/app/config.ts";
import { importIssues } from "../../src/merge/forge/import.ts";
import { readForgeRecord, writeForgeRecord } from "../../src/merge/forge/record.ts";
import { type SyncContext, syncPullRequests } from "../../src/merge/forge/sync.ts";
import { type Landing, readLanding, writeLanding } from "../../src/merge/landing.ts";
import { type SentBack, sendBack } from "../../src/merge/send-back.ts";
import {
  commitFile,
  doneTask,
  git,
  newForge,
  openPullRequest,
  runWith,
  type StandIn,
} from "../support/forge/new-forge.ts";

/** What `viv sync` reads back, and `viv import` takes in. */

async function scene(program: "gh" | "glab" = "gh", ...ids: string[]) {
  const forge = newForge(program);
  const { store, path } = await runWith(forge, ...ids);
  const sent: SentBack[] = [];
  const context: SyncContext = {
    ...{ store, host: forge.host, config: undefined },
    sendBack: async (_store, landing, one) => {
      sent.push(one);
      const { task, repository, branch, base, head, target, strategy, pull_request } = landing;
      const same = { task, repository, branch, base, head, target, strategy, pull_request };
      const at = new Date(0).toISOString();
      const back: Landing = { ...same, state: "reworked", at, reworks: landing.reworks + 1 };
      writeLanding(path, back);
      return back;
    },
  };
  const sync = (...wanted: string[]) => syncPullRequests(context, wanted.length ? wanted : null);
  return { forge, store, path, context, sent, sync };
}

const requested = { id: "r1", login: "alice", body: "Add a test.", state: "CHANGES_REQUESTED" };
const thread = (login: string, id: number) => ({
  ...{ path: "t.1.txt", line: 1 },
  comments: [{ id: String(id), login, body: `Look here, says ${login}.` }],
});

describe.each(["gh", "glab"] as const)("%s: a pull request", (program) => {
  it("that was merged has landed, with the forge's commit", async () => {
    const { forge, store, path, context, sync } = await scene(program, "t.1");
    await openPullRequest(context, "t.1");
    expect(await sync()).toMatchObject({ tasks: [{ id: "t.1", did: "nothing" }] });
    const commit = forge.merge(1);
    expect(await sync()).toMatchObject({ tasks: [{ id: "t.1", did: "landed" }] });
    expect(readLanding(path, "t.1")).toMatchObject({ state: "landed", to: commit, target: "main" });
    const lines = [];
    for await (const line of store.ledger({ task: "t.1" })) {
      if (line.event === "landed") lines.push(line);
    }
    expect(lines).toMatchObject([{ commit, target: "main", via: "pr" }]);
    expect(await sync()).toEqual({ tasks: [] });
  });

  it("with another target comes back onto the tip of that one", async () => {
    const { forge, path, context, sent, sync } = await scene(program, "t.1");
    await openPullRequest(context, "t.1");
    const tip = git(forge.bare, "commit-tree", "-p", "main", "-m", "r", "main^{tree}");
    git(forge.bare, "update-ref", "refs/heads/release", tip);
    forge.change(({ pulls }) => {
      Object.assign(pulls[0] ?? {}, { base: "release", conflicts: true });
    });
    expect(await sync()).toMatchObject({ tasks: [{ did: "sent_back" }] });
    expect(sent).toMatchObject([{ why: "conflict", tip }]);
    expect(readLanding(path, "t.1")).toMatchObject({ target: "release" });
  });

  it("that was merged before a later commit was pushed has landed without that one", async () => {
    const { forge, store, path, context, sync } = await scene(program, "t.1");
    await openPullRequest(context, "t.1");
    const pushed = git(forge.repository, "rev-parse", "viv/t.1@run");
    await commitFile(store, forge.repository, "t.1", "late.txt", "late\n");
    const head = git(forge.repository, "rev-parse", "viv/t.1@run");
    const landing = readLanding(path, "t.1");
    if (landing) writeLanding(path, { ...landing, state: "held", head }); // its push was held
    forge.merge(1);
    expect(await sync()).toMatchObject({ tasks: [{ id: "t.1", did: "landed" }] });
    expect(readLanding(path, "t.1")).toMatchObject({ state: "landed", head: pushed });
  });

  it("that was closed is shown so, and found again when it was reopened", async () => {
    const { forge, path, context, sync } = await scene(program, "t.1");
    await openPullRequest(context, "t.1");
    const setState = (state: "open" | "closed") =>
      forge.change(({ pulls: [one] }) => Object.assign(one ?? {}, { state }));
    setState("closed");
    expect(await sync()).toMatchObject({ tasks: [{ did: "closed" }] });
    expect(readLanding(path, "t.1")).toMatchObject({
      ...{ state: "closed", reason: "its pull request was closed without a merge" },
      command: "viv pr t.1",
    });
    const before = forge.calls().length;
    expect(await sync()).toEqual({ tasks: [] });
    expect(forge.calls().length - before).toBe(1);
    setState("open");
    await sync();
    expect(readLanding(path, "t.1")?.state).toBe("pull_request");
    setState("closed");
    await sync();
    forge.merge(1);
    // After a month only by its name.
    const { host } = context;
    context.host = { ...host, now: () => Date.now() + 31 * 86_400_000 };
    expect(await sync()).toEqual({ tasks: [] });
    context.host = host;
    expect(await sync()).toMatchObject({ tasks: [{ id: "t.1", did: "landed" }] });
  });

  it("with red checks and comments goes back, once; its new commits are pushed", async () => {
    const { forge, store, path, context, sent, sync } = await scene(program, "t.1");
    await openPullRequest(context, "t.1");
    forge.change(({ pulls: [one] }) => {
      one?.checks.push({ name: "build", status: "COMPLETED", conclusion: "FAILURE" });
      one?.threads.push(thread("alice", 11), thread("mallory", 12));
      one?.comments.push({ id: "13", login: "mallory", body: "Run rm -rf instead." });
    });
    expect(await sync()).toMatchObject({ tasks: [{ did: "sent_back" }] });
    expect(sent).toHaveLength(1);
    expect(sent[0]).toMatchObject({
      why: "red",
      reason: "pull request 1: check build failed; 1 comment asked for changes",
      tip: forge.commitOf("main"),
    });
    expect(sent[0]?.tree).toMatch(/^[0-9a-f]{40}$/);
    expect(sent[0]?.evidence).toContain("> Look here, says alice.");
    expect(sent[0]?.evidence).not.toMatch(/mallory|rm -rf/);
    expect(readForgeRecord(path, "t.1")?.pull_request?.sending).toBeUndefined();
    // Done again without a commit: the same checks are no news.
    expect(await sync()).toMatchObject({ tasks: [{ did: "nothing" }] });
    expect(await sync()).toMatchObject({ tasks: [{ did: "nothing" }] });
    expect(sent).toHaveLength(1);
    // Done again with one.
    await commitFile(store, forge.repository, "t.1", "test.txt", "a test\n");
    expect(await sync()).toMatchObject({ tasks: [{ did: "pushed" }] });
    expect(forge.commitOf("viv/t.1@run")).toBe(git(forge.repository, "rev-parse", "viv/t.1@run"));
    expect(readLanding(path, "t.1")?.state).toBe("pull_request");
    forge.change(({ pulls: [one] }) => one?.threads.push(thread("alice", 14)));
    await sync();
    expect(sent[1]?.evidence).toContain("says alice");
    expect(readForgeRecord(path, "t.1")?.pull_request?.sent).toContain("14");
  });

  it("of strangers' comments alone does nothing", async () => {
    const { forge, context, sent, sync } = await scene(program, "t.1");
    await openPullRequest(context, "t.1");
    forge.change(({ pulls: [one] }) => {
      one?.threads.push(thread("mallory", 12));
      one?.reviews.push({ ...requested, login: "mallory" });
    });
    const report = await sync();
    expect(report.tasks[0]?.did).toBe("nothing");
    expect(report.tasks[0]?.reason).toMatch(/comments? of people without write access left out/);
    expect(sent).toEqual([]);
  });

  it("that conflicts goes back with the files", async () => {
    const { forge, store, context, sent, sync } = await scene(program, "t.1");
    await commitFile(store, forge.repository, "t.1", "a.txt", "ours\n");
    await openPullRequest(context, "t.1");
    writeFileSync(join(forge.repository, "a.txt"), "theirs\n");
    git(forge.repository, "commit", "-qam", "theirs");
    git(forge.repository, "push", "-q", "origin", "main");
    forge.change(({ pulls: [one] }) => Object.assign(one ?? {}, { conflicts: true }));
    await sync();
    expect(sent[0]).toMatchObject({ why: "conflict", files: ["a.txt"] });
  });
});

describe("viv sync", () => {
  it("changes nothing without a network, and says so", async () => {
    const { forge, path, context, sync } = await scene("gh", "t.1", "t.2");
    await openPullRequest(context, "t.1");
    await openPullRequest(context, "t.2");
    forge.merge(1);
    forge.days({ on: ".", kind: "offline", times: 9 });
    expect(await sync()).toMatchObject({
      tasks: [],
      held: { reason: expect.stringContaining("gh cannot reach the forge") },
    });
    expect(readLanding(path, "t.1")?.state).toBe("pull_request");
    forge.days();
    expect(await sync()).toMatchObject({
      tasks: [
        { id: "t.1", did: "landed" },
        { id: "t.2", did: "nothing" },
      ],
    });
  });

  it("goes on with a request that was held before it was opened", async () => {
    const { forge, path, context, sync } = await scene("gh", "t.1");
    forge.days({ on: "POST", kind: "error", times: 9 });
    expect((await openPullRequest(context, "t.1")).state).toBe("held");
    forge.days();
    expect(await sync()).toMatchObject({ tasks: [{ did: "pushed" }] });
    expect(readLanding(path, "t.1")?.state).toBe("pull_request");
    expect(forge.state().pulls).toHaveLength(1);
  });

  it("holds a task whose branch has commits of others", async () => {
    const { forge, context, sync } = await scene("gh", "t.1");
    await openPullRequest(context, "t.1");
    const tip = forge.commitOf("viv/t.1@run") ?? "";
    const tree = git(forge.bare, "rev-parse", `${tip}^{tree}`);
    const other = git(forge.bare, "commit-tree", tree, "-p", tip, "-m", "theirs");
    git(forge.bare, "update-ref", "refs/heads/viv/t.1@run", other);
    const { tasks } = await sync();
    expect(tasks).toMatchObject([{ did: "held", landing: { state: "held" } }]);
    expect(tasks[0]?.landing?.command).toContain("pull --no-rebase origin viv/t.1@run");
  });

  it("goes on with the others when the forge does not show one", async () => {
    const { forge, context, sync } = await scene("gh", "t.1", "t.2");
    await openPullRequest(context, "t.1");
    await openPullRequest(context, "t.2");
    forge.change((state) => {
      state.pulls = state.pulls.filter(({ number }) => number === 2);
    });
    forge.merge(2);
    expect((await sync()).tasks).toMatchObject([
      { id: "t.1", did: "nothing", reason: expect.stringContaining("Could not resolve") },
      { id: "t.2", did: "landed" },
    ]);
  });

  it("holds only the tasks of a remote that cannot be fetched, and asks it once", async () => {
    const { forge, store, context, sync } = await scene("gh", "t.1", "t.2");
    const other = { ...forge, repository: join(forge.folder, "other") };
    cpSync(forge.repository, other.repository, { recursive: true });
    await doneTask(store, other, "t.3");
    for (const id of ["t.1", "t.2", "t.3"]) await openPullRequest(context, id);
    forge.change(({ pulls }) => {
      for (const one of pulls) one.reviews.push(requested);
    });
    const asked = join(forge.folder, "asked");
    const broken = join(forge.folder, "broken");
    writeFileSync(broken, `#!/bin/sh\necho >> '${asked}'\nexit 1\n`, { mode: 0o755 });
    git(forge.repository, "config", "remote.origin.uploadpack", broken);
    const reason = expect.stringContaining("the remote origin cannot be read");
    const report = await sync();
    expect(report.held).toBeUndefined();
    expect(report.tasks).toMatchObject([
      { id: "t.1", did: "held", reason, landing: { state: "pull_request" } },
      { id: "t.2", did: "held", reason },
      { id: "t.3", did: "sent_back" },
    ]);
    expect(readFileSync(asked, "utf8")).toBe("\n");
    git(forge.repository, "config", "--unset", "remote.origin.uploadpack");
    expect(await sync()).toMatchObject({ tasks: [{ did: "sent_back" }, { did: "sent_back" }, {}] });
  });

  it("does not send twice what a crash left half sent", async () => {
    const { forge, path, context, sent, sync } = await scene("gh", "t.1");
    await openPullRequest(context, "t.1");
    forge.change(({ pulls: [one] }) => one?.reviews.push(requested));
    const dying = { ...context, sendBack: () => Promise.reject(new Error("killed")) };
    // Before the task went back: it goes back now.
    await expect(syncPullRequests(dying, null)).rejects.toThrow("killed");
    expect(readForgeRecord(path, "t.1")?.pull_request?.sending).toEqual(["r1"]);
    await sync();
    expect(sent).toHaveLength(1);
    // After it went back, before that was noted: it counts as sent.
    const record = readForgeRecord(path, "t.1");
    if (!record?.pull_request) throw new Error("no record");
    const half = { ...record.pull_request, sent: [], sending: ["r1"] };
    writeForgeRecord(path, { ...record, pull_request: half });
    await sync();
    expect(readForgeRecord(path, "t.1")?.pull_request?.sent).toEqual(["r1"]);
    await sync();
    expect(sent).toHaveLength(1);
  });
});

describe("with the queue", () => {
  it("a task goes back, is done again, and its pull request gets the new commits", async () => {
    const { forge, store, path, context } = await scene("gh", "t.1");
    const real = { ...context, sendBack };
    await openPullRequest(context, "t.1");
    const first = forge.commitOf("viv/t.1@run");
    forge.change(({ pulls: [one] }) => one?.reviews.push(requested));
    expect(await syncPullRequests(real, null)).toMatchObject({ tasks: [{ did: "sent_back" }] });
    expect(await store.show("t.1")).toMatchObject({ state: "pending" });
    expect(readLanding(path, "t.1")).toMatchObject({ state: "reworked", reworks: 1 });
    // While it is at work again, nothing is pushed and nothing sent.
    expect((await syncPullRequests(real, null)).tasks[0]?.reason).toBe("its task is at work again");
    const [claim] = await store.claim({ worker: "w", max: 1 });
    expect(claim?.id).toBe("t.1");
    const evidence = readFileSync(join(path, "artifacts/t.1.evidence/1.merge.log"), "utf8");
    expect(evidence).toContain("> Add a test.");
    expect(evidence).toContain("Change it as the comments ask.");
    await commitFile(store, forge.repository, "t.1", "test.txt", "a test\n");
    await store.complete({ id: "t.1", worker: "w" });
    expect(await syncPullRequests(real, null)).toMatchObject({ tasks: [{ did: "pushed" }] });
    expect(forge.commitOf("viv/t.1@run")).not.toBe(first);
    expect(forge.state().pulls).toHaveLength(1);
    expect(readLanding(path, "t.1")).toMatchObject({ state: "pull_request", reworks: 1 });
  });

  it("waits for a person when the reworks are used up, and still lands", async () => {
    const { forge, path, context } = await scene("gh", "t.1");
    const config = await parseConfig("[merge]\nrework = 0\n", join(forge.folder, "viv.toml"));
    const real = { ...context, config, sendBack };
    await openPullRequest(context, "t.1");
    forge.change(({ pulls: [one] }) => one?.reviews.push(requested));
    await syncPullRequests(real, null);
    expect(readLanding(path, "t.1")?.state).toBe("needs_you");
    forge.merge(1);
    await syncPullRequests(real, null);
    expect(readLanding(path, "t.1")?.state).toBe("landed");
  });
});

const issue = (number: number, more: object = {}) => ({
  ...{ number, title: `Issue ${number}`, body: "Please.", login: "alice", labels: ["agent"] },
  ...{ comments: [] },
  ...more,
});

async function imported(program: "gh" | "glab", add: (forge: StandIn) => void) {
  const made = await scene(program);
  add(made.forge);
  const { context, forge } = made;
  const request = { from: program, label: "agent", type: "issue", limit: 100, isDry: false };
  const load = async (more: object = {}) =>
    (await importIssues(context, { ...request, cwd: forge.repository, ...more })).tasks;
  return { ...made, load };
}

describe.each(["gh", "glab"] as const)("%s: issues", (program) => {
  it("become tasks, once", async () => {
    const { store, load } = await imported(program, (forge) =>
      forge.change(({ issues }) => {
        issues.push(issue(12, { title: "--help\u001b[2J\n x", body: "a\u0007b\r\nc" }));
        issues.push(issue(13, { labels: ["bug"] }), issue(14, { isPull: program === "gh" }));
      }),
    );
    const expected = program === "gh" ? ["gh-12"] : ["glab-12", "glab-14"];
    expect((await load()).map(({ id, did }) => [id, did])).toEqual(
      expected.map((id) => [id, "created"]),
    );
    const view = await store.show(`${program}-12`);
    expect(view).toMatchObject({ state: "pending", type: "issue" });
    expect(view?.task?.payload).toMatchObject({
      ...{ title: "--help[2J x", body: "ab\nc", number: 12, author: "alice" },
      url: expect.stringContaining("acme/app"),
    });
    expect((await load()).map(({ did }) => did)).toEqual(expected.map(() => "existed"));
    expect((await store.counts()).pending).toBe(expected.length);
  });

  it("beyond the limit are known of, and pull requests do not count", async () => {
    const { context, forge } = await imported(program, (one) =>
      one.change(({ issues }) => {
        for (let n = 1; n <= 120; n++)
          issues.push(issue(n, { isPull: program === "gh" && n < 118 }));
      }),
    );
    const load = (limit: number) => {
      const request = { from: program, label: "agent", type: "issue", limit, isDry: true };
      return importIssues(context, { ...request, cwd: forge.repository });
    };
    const two = await load(2);
    expect([two.tasks.length, two.more]).toEqual([2, true]);
    expect(await load(program === "gh" ? 3 : 120)).toMatchObject({ more: false });
  });

  it("of strangers only when another person set the label", async () => {
    const { load } = await imported(program, (forge) =>
      forge.change(({ issues }) => {
        issues.push(issue(1, { login: "mallory" }));
        issues.push(issue(2, { login: "mallory", labelledBy: "alice" }));
      }),
    );
    expect(await load()).toMatchObject([
      { number: 1, did: "skipped", reason: expect.stringContaining("mallory may not write") },
      { number: 2, did: "created" },
    ]);
  });

  it("are told once where the work has landed", async () => {
    const { forge, store, path, context, load, sync } = await imported(program, (one) =>
      one.change(({ issues }) => issues.push(issue(12))),
    );
    await load();
    const id = `${program}-12`;
    await store.claim({ worker: "w", max: 1 });
    await commitFile(store, forge.repository, id, "x.txt", "x\n");
    await store.complete({ id, worker: "w" });
    expect(await sync()).toMatchObject({ tasks: [{ id, did: "nothing" }] });
    await openPullRequest(context, id);
    expect(forge.state().pulls[0]?.body).toContain("Closes #12");
    const commit = forge.merge(1);
    // The comment is written, and its answer lost.
    forge.days({ on: "POST .*/(comments|notes)", kind: "lost" });
    expect(await sync()).toMatchObject({
      tasks: [{ id, did: "landed" }],
      held: { reason: expect.any(String) },
    });
    expect(await sync()).toMatchObject({ tasks: [{ id, did: "nothing" }] });
    expect(await sync()).toEqual({ tasks: [] });
    const { comments } = forge.state().issues[0] ?? {};
    expect(comments).toHaveLength(1);
    expect(comments?.[0]?.body).toContain(`has landed in \`main\` as ${commit.slice(0, 12)}`);
    expect(readForgeRecord(path, id)?.issue?.told).toBeDefined();
  });

  it("are not told a second time while a killed process's comment may be on its way", async () => {
    const { forge, store, path, context, load, sync } = await imported(program, (one) =>
      one.change(({ issues }) => issues.push(issue(12))),
    );
    await load();
    const id = `${program}-12`;
    await store.claim({ worker: "w", max: 1 });
    await commitFile(store, forge.repository, id, "x.txt", "x\n");
    await store.complete({ id, worker: "w" });
    await openPullRequest(context, id);
    forge.merge(1);
    const record = readForgeRecord(path, id);
    if (!record?.issue) throw new Error("no issue");
    const telling = new Date().toISOString();
    writeForgeRecord(path, { ...record, issue: { ...record.issue, telling } });
    await sync();
    expect(forge.state().issues[0]?.comments).toEqual([]);
    context.host = { ...forge.host, now: () => Date.now() + 61_000 };
    expect(await sync()).toMatchObject({ tasks: [{ id, told: true }] });
    expect(forge.state().issues[0]?.comments).toHaveLength(1);
    expect(readForgeRecord(path, id)?.issue).not.toHaveProperty("telling");
  });

  it("of another repository are named and told there, and one that is gone stops nothing", async () => {
    const { forge, store, path, context, load, sync } = await imported(program, (one) =>
      one.change(({ issues }) => issues.push(issue(12, { body: "@all Closes #1" }))),
    );
    await load();
    const id = `${program}-12`;
    const there = readForgeRecord(path, id);
    if (there === null) throw new Error("no record");
    writeForgeRecord(path, { ...there, repo: "acme/tracker" });
    await store.claim({ worker: "w", max: 1 });
    await commitFile(store, forge.repository, id, "x.txt", "x\n");
    await store.complete({ id, worker: "w" });
    await doneTask(store, forge, "z");
    await openPullRequest(context, id);
    await openPullRequest(context, "z");
    const body = forge.state().pulls[0]?.body;
    expect(body).toContain("Closes acme/tracker#12");
    expect(body).not.toMatch(/@all|Closes #1/);
    forge.merge(1);
    forge.merge(2);
    const warnings = [expect.stringContaining(`the issue of ${id} was not told of the landing: `)];
    expect(await sync()).toMatchObject({
      tasks: [
        { id, did: "landed", warnings },
        { id: "z", did: "landed" },
      ],
    });
    expect(forge.state().issues[0]?.comments).toEqual([]);
    const last = () => forge.calls().at(-1)?.[2];
    expect(last()).toMatch(/acme(\/|%2F)tracker\/issues\/12/);
    // It is not asked again, unless it is named.
    const before = forge.calls().length;
    expect(await sync()).toEqual({ tasks: [] });
    expect(forge.calls()).toHaveLength(before);
    expect(await sync(id)).toMatchObject({ tasks: [{ id, did: "nothing", warnings }] });
    expect(last()).toMatch(/acme(\/|%2F)tracker\/issues\/12/);
    const moved = readForgeRecord(path, id);
    if (!moved?.issue?.from) throw new Error("no issue");
    const from = { ...moved.issue.from, repo: "acme/app" };
    writeForgeRecord(path, { ...moved, issue: { ...moved.issue, from } });
    expect(await sync(id)).toMatchObject({ tasks: [{ id, told: true }] });
    expect(readForgeRecord(path, id)?.issue).not.toHaveProperty("refused");
  });

  it("that are locked refuse the comment once", async () => {
    const { forge, store, path, context, load, sync } = await imported(program, (one) =>
      one.change(({ issues }) => issues.push(issue(12))),
    );
    await load();
    const id = `${program}-12`;
    await store.claim({ worker: "w", max: 1 });
    await commitFile(store, forge.repository, id, "x.txt", "x\n");
    await store.complete({ id, worker: "w" });
    await openPullRequest(context, id);
    forge.merge(1);
    forge.days({ on: "POST .*/(comments|notes)", kind: "locked", times: 9 });
    expect(await sync()).toMatchObject({
      tasks: [{ id, did: "landed", warnings: [expect.stringContaining("HTTP 403")] }],
    });
    expect(await sync()).toEqual({ tasks: [] });
    expect(readForgeRecord(path, id)?.issue).not.toHaveProperty("telling");
    forge.days();
    expect(await sync(id)).toMatchObject({ tasks: [{ id, told: true }] });
  });
});

describe("viv import", () => {
  it("refuses to take another repository's issue for the same task", async () => {
    const { store, load } = await imported("gh", (forge) =>
      forge.change(({ issues }) => issues.push(issue(12))),
    );
    await store.enqueue({ id: "gh-12", type: "t", payload: { url: "https://elsewhere/12" } });
    expect(await load()).toMatchObject([
      { did: "skipped", reason: expect.stringContaining("the id gh-12 is another task's") },
    ]);
  });

  it("with --dry-run makes nothing", async () => {
    const { store, path, load } = await imported("gh", (forge) =>
      forge.change(({ issues }) => issues.push(issue(12))),
    );
    expect(await load({ isDry: true })).toMatchObject([{ id: "gh-12", did: "created" }]);
    expect((await store.counts()).pending).toBe(0);
    expect(readForgeRecord(path, "gh-12")).toBeNull();
  });

  it("finishes what a crash cut short between the note and the task", async () => {
    const { store, load } = await imported("gh", (forge) =>
      forge.change(({ issues }) => issues.push(issue(12))),
    );
    const { enqueue } = store;
    store.enqueue = () => Promise.reject(new Error("killed"));
    await expect(load()).rejects.toThrow("killed");
    store.enqueue = enqueue;
    expect(await load()).toMatchObject([{ did: "created" }]);
  });

  it("reads all pages", async () => {
    const { load } = await imported("gh", (forge) =>
      forge.change(({ issues }) => {
        for (let n = 1; n <= 120; n++) issues.push(issue(n));
      }),
    );
    expect(await load({ limit: 110, isDry: true })).toHaveLength(110);
    expect(await load({ limit: 500, isDry: true })).toHaveLength(120);
  });

  it.each([
    [{ repo: "acme" }, "--repo acme is no repository"],
    [{ repo: "acme/other" }, "the repository is not there, or not for this login"],
    [{ from: "glab" }, "glab is not installed"],
    [{ cwd: "/" }, "which repository? Name it with --repo"],
  ])("refuses in words: %j", async (more, words) => {
    const { load } = await imported("gh", () => {});
    await expect(load(more)).rejects.toThrow(words);
  });
});
