import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { until } from "../../test/support/deadline.ts";
import { newFolder } from "../../test/support/folders.ts";
import { MergeWorld } from "../../test/support/merge-world.ts";
import { commitWorkspace } from "../work/workspaces/commit.ts";
import { readRecord, writeRecord } from "../work/workspaces/record.ts";
import { landingOf } from "./facts.ts";
import { planMerge } from "./plan.ts";

describe("a pass of the queue", () => {
  it("lands done tasks in order, each proven after its merge, into the run's own branch", async () => {
    const world = await MergeWorld.begin();
    await world.done("t.1", { "b.txt": "b\n" }, { done_when: "test -f b.txt" });
    await world.done("t.2", { "c.txt": "c\n" }, { done_when: "test -f b.txt && test -f c.txt" });
    const main = world.git("rev-parse", "main");
    await world.merge({ prove: "ls; echo checked" });
    expect(world.story).toEqual(["t.1 landed", "t.2 landed"]);
    expect(world.git("rev-parse", "main")).toBe(main);
    expect(world.file("viv/night", "b.txt") + world.file("viv/night", "c.txt")).toBe("bc");
    const landing = world.landing("t.2");
    expect(landing).toMatchObject({ target: "viv/night", strategy: "merge" });
    expect(landing?.to).toBe(world.git("rev-parse", "viv/night"));
    expect(landing?.proof?.commands).toEqual([
      "test -f b.txt && test -f c.txt",
      "ls; echo checked",
    ]);
    expect(world.log("t.2")).toMatch(
      /merged into viv\/night[\s\S]*\$ ls; echo checked\n[\s\S]*checked\n/,
    );
    expect(world.git("log", "-1", "--format=%P", "viv/night").split(" ")[1]).toBe(
      world.git("rev-parse", "viv/t.2@night"),
    );
    const lines = await world.ledger("landed");
    expect(lines.map(({ task, commit }) => [task, commit])).toEqual([
      ["t.1", world.landing("t.1")?.to],
      ["t.2", landing?.to],
    ]);
    expect(lines[1]).toMatchObject({ target: "viv/night", repository: world.repo });
    await world.merge();
    expect(await world.ledger("landed")).toHaveLength(2);
  });
});

/** With two tasks that change the same line, and one that changes another file. */
async function conflicting(): Promise<MergeWorld> {
  const world = await MergeWorld.begin();
  await world.done("t.1", { "a.txt": "uno\n" });
  await world.done("t.2", { "a.txt": "eins\n" });
  await world.done("t.3", { "b.txt": "b\n" });
  return world;
}

describe("what does not land", () => {
  it("says of one that waits for another that it waits, also in a plan", async () => {
    const world = await MergeWorld.begin();
    await world.done("t.1", { "a.txt": "uno\n" });
    await world.done("t.2", { "a.txt": "eins\n" });
    await world.done("t.3", { "b.txt": "b\n" }, { depends_on: ["t.2"] });
    const context = await world.context();
    const planned = async () =>
      (await planMerge(context, null)).map(
        (one) => `${one.candidate.id} ${one.state} ${one.reason}`,
      );
    const waits = "t.3 queued waits for t.2, which has not landed";
    expect(await planned()).toEqual(["t.1 queued undefined", "t.2 conflict a.txt", waits]);
    await world.merge();
    expect(world.landing("t.3")).toMatchObject({ state: "queued" });
    const fact = await landingOf(world.store, { id: "t.3", state: "done" });
    expect(fact?.text).toBe(
      "done, not landed: in the queue for viv/night: it waits for t.2, which has not landed",
    );
  });

  it("calls a branch landed that a person merged while it was being proven", async () => {
    const world = await MergeWorld.begin();
    await world.done("t.1", { "b.txt": "b\n" });
    world.git("branch", "viv/night");
    const prove = `git -C ${world.repo} update-ref refs/heads/viv/night viv/t.1@night`;
    await world.merge({ prove });
    expect(world.landing("t.1")).toMatchObject({ state: "landed", reason: "merged meanwhile" });
    expect(await world.ledger("landed")).toHaveLength(1);
  });

  it("merges anew what was held and proven when git has cleared its commit away", async () => {
    const world = await MergeWorld.begin();
    await world.done("t.1", { "b.txt": "b\n" });
    world.write(world.repo, { "a.txt": "dirty\n" });
    await world.merge({ into: "main", prove: "true" });
    const held = world.landing("t.1");
    expect(held?.state).toBe("held");
    for (const ref of world.git("for-each-ref", "--format=%(refname)", "refs/viv").split("\n")) {
      world.git("update-ref", "-d", ref);
    }
    rmSync(join(world.run, "merge/.scratch"), { recursive: true });
    world.git("worktree", "prune");
    world.git("gc", "--quiet", "--prune=now");
    expect(() => world.git("cat-file", "-e", held?.to ?? "")).toThrow();
    world.write(world.repo, { "a.txt": "one\n" });
    await world.merge({ into: "main", prove: "true" });
    expect(world.landing("t.1")?.state).toBe("landed");
    expect(world.file("main", "b.txt")).toBe("b");
  });

  it("names the command that frees a target from a worktree that is gone", async () => {
    const world = await MergeWorld.begin();
    await world.done("t.1", { "b.txt": "b\n" });
    world.git("checkout", "-q", "--detach");
    world.git("worktree", "add", "-q", join(world.home, "gone"), "main");
    rmSync(join(world.home, "gone"), { recursive: true });
    await world.merge({ into: "main" });
    const { state, command = "" } = world.landing("t.1") ?? {};
    expect(state).toBe("held");
    execFileSync("/bin/sh", ["-c", command]);
    await world.merge({ into: "main" });
    expect(world.landing("t.1")?.state).toBe("landed");
  });

  it.each([1, 3])("holds only the one whose files cannot be written (batch %i)", async (batch) => {
    const world = await MergeWorld.begin({ ".gitattributes": "*.flt filter=bad\n" });
    world.git("config", "filter.bad.clean", "cat");
    world.git("config", "filter.bad.smudge", "grep -v POISON");
    world.git("config", "filter.bad.required", "true");
    await world.done("t.1", { "b.txt": "b\n" });
    await world.done("t.2", { "p.flt": "POISON" });
    await world.done("t.3", { "c.txt": "c\n" });
    await world.merge({ prove: "true", batch });
    expect(world.story.sort()).toEqual(["t.1 landed", "t.2 held", "t.3 landed"]);
    expect(world.landing("t.2")?.reason).toMatch(/files cannot be written for a proof \(.*filter/);
  });

  it("calls a branch that was set back behind its beginning one without changes", async () => {
    const world = await MergeWorld.begin();
    world.write(world.repo, { "b.txt": "b\n" });
    world.git("add", ".");
    world.git("commit", "-qm", "second");
    await world.done("t.1", {});
    execFileSync("git", ["-C", world.workspace("t.1"), "reset", "-q", "--hard", "HEAD~1"]);
    await world.merge();
    expect(world.landing("t.1")?.state).toBe("no_changes");
    expect(await world.ledger("landed")).toEqual([]);
  });

  it("sends a conflict back with its files, hunks and what landed in between", async () => {
    const world = await conflicting();
    await world.merge();
    expect(world.story).toEqual(["t.1 landed", "t.2 reworked", "t.3 landed"]);
    const [sent] = world.sent;
    expect(sent).toMatchObject({ id: "t.2", why: "conflict", files: ["a.txt"] });
    expect(sent?.tip).toBe(world.landing("t.1")?.to);
    expect(sent?.evidence).toContain("conflict with viv/night in a.txt");
    expect(sent?.evidence).toContain("Merge viv/t.1@night into viv/night");
    expect(sent?.evidence).toMatch(/<<<<<<< [\s\S]*uno[\s\S]*=======\neins\n>>>>>>> /);
    expect(world.file(sent?.tree ?? "", "a.txt")).toContain("<<<<<<<");
    expect(await world.ledger("conflict")).toMatchObject([{ task: "t.2", target: "viv/night" }]);
  });

  it("sends one back that is red after its merge, and goes on without it", async () => {
    const world = await MergeWorld.begin();
    await world.done("t.1", { "b.txt": "b\n" });
    await world.done("t.2", { "c.txt": "c\n" });
    await world.done("t.3", { "d.txt": "d\n" });
    await world.merge({ prove: "echo FAIL both; ! { test -f b.txt && test -f c.txt; }" });
    expect(world.story).toEqual(["t.1 landed", "t.2 reworked", "t.3 landed"]);
    expect(world.sent[0]).toMatchObject({ id: "t.2", why: "red" });
    expect(world.sent[0]?.evidence).toMatch(/In viv\/night since it began:[\s\S]*FAIL both/);
    expect(() => world.file("viv/night", "c.txt")).toThrow();
    expect((await world.ledger("merge_red")).map(({ task }) => task)).toEqual(["t.2"]);
  });

  it("holds one that is red where its target is red without it, and sends none back for that", async () => {
    const world = await MergeWorld.begin();
    await world.done("t.1", { "b.txt": "b\n" });
    await world.done("t.2", { "c.txt": "c\n" });
    const count = join(world.home, "proofs");
    const prove = `echo >> '${count}'; echo LINT; test -f fixed`;
    await world.merge({ prove });
    expect(world.story).toEqual(["t.1 held", "t.2 held"]);
    expect(world.sent).toEqual([]);
    const { reason } = world.landing("t.1") ?? {};
    expect(reason).toMatch(
      /^viv\/night fails the proof without it, too \(exit 1.*t\.1\.target\.log\)/,
    );
    const proofs = () => readFileSync(count, "utf8").length;
    expect(proofs(), "each of the two, and the target once").toBe(3);
    const redTips = new Set([world.git("rev-parse", "viv/night")]);
    await world.merge({ prove }, { redTips });
    expect(proofs(), "nothing has changed for a queue that goes on").toBe(3);
    await world.merge({ prove });
    expect(proofs(), "another process looks again: at one, and at the target").toBe(5);
    await world.merge({ prove }, { ids: ["t.2"], goAhead: new Set(["t.2"]) });
    expect(proofs(), "a person has named it").toBe(7);
    await world.done("t.3", { fixed: "" });
    await world.merge({ prove });
    expect(world.story.slice(-3)).toEqual(["t.3 landed", "t.1 landed", "t.2 landed"]);
  });

  it("lands what was held because of its target after another prove was set", async () => {
    const world = await MergeWorld.begin();
    await world.done("t.1", { "b.txt": "b\n" });
    await world.merge({ prove: "false" });
    expect(world.landing("t.1")?.reason).toMatch(/repair that, or change prove in \[merge\]$/);
    await world.merge({ prove: "true" });
    expect(world.story).toEqual(["t.1 held", "t.1 landed"]);
  });

  it("says that a branch without commits has no changes, and holds one with uncommitted ones", async () => {
    const world = await MergeWorld.begin(undefined, join(newFolder(), "my work"));
    await world.done("t.1", {});
    await world.done("t.2", {});
    writeFileSync(join(world.workspace("t.2"), "new.txt"), "by hand\n");
    await world.merge();
    expect(world.story).toEqual(["t.1 no_changes", "t.2 held"]);
    expect(world.landing("t.2")?.reason).toBe("its worktree has changes that are not committed");
    await world.merge();
    expect(await world.ledger("held")).toHaveLength(1);
    const { command } = world.landing("t.2") ?? {};
    const who = "GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t";
    execFileSync("sh", ["-c", `export ${who}; ${command} -qm work`]);
    await world.merge();
    expect(world.story.at(-1)).toBe("t.2 landed");
  });

  it("tries a conflict again that could not be sent back, and says it once in the ledger", async () => {
    const world = await conflicting();
    const sendBack = async () => {
      throw new Error("the disk is full");
    };
    await world.merge({}, { sendBack });
    expect(world.landing("t.2")?.state).toBe("conflict");
    await world.merge({}, { sendBack });
    await world.merge();
    expect(world.landing("t.2")?.state).toBe("reworked");
    expect(await world.ledger("conflict")).toHaveLength(1);
  });

  it("waits for a dependency that has not landed", async () => {
    const world = await conflicting();
    await world.done("t.4", { "d.txt": "d\n" }, { depends_on: ["t.2"] });
    await world.merge();
    expect(world.landing("t.4")).toMatchObject({
      state: "queued",
      reason: "waits for t.2, which has not landed",
    });
  });
});

describe("strategies", () => {
  it("squashes to one commit with the task's title and the subjects of its commits", async () => {
    const world = await MergeWorld.begin();
    await world.done("t.1", { "b.txt": "b\n" }, { payload: { title: "Add b\u0000\n" } });
    await world.merge({ strategy: "squash" });
    expect(world.git("log", "--format=%s|%P", "-1", "viv/night")).toBe(
      `Add b|${world.git("rev-parse", "main")}`,
    );
    expect(world.git("log", "--format=%b", "-1", "viv/night")).toBe("* t: t.1\n\nViv-Task: t.1");
  });

  it("rebases each commit, keeps its author, and finds conflicts", async () => {
    const world = await conflicting();
    const tree = world.workspace("t.3");
    world.write(tree, { "c.txt": "c\n" });
    const author = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"];
    world.git("-C", tree, "add", ".");
    world.git("-C", tree, ...author, "commit", "-qm", "second");
    await world.merge({ strategy: "rebase", prove: 'test -z "$(git status --porcelain)"' });
    expect(world.story).toEqual(["t.1 landed", "t.2 reworked", "t.3 landed"]);
    expect(world.git("log", "--format=%an: %s", "viv/night")).toBe(
      "Ann: second\nt: t: t.3\nt: t: t.1\nt: first",
    );
    expect(world.sent[0]?.files).toEqual(["a.txt"]);
  });

  it.each(["squash", "rebase"] as const)(
    "%s: a dependent brings only its own part",
    async (strategy) => {
      const world = await MergeWorld.begin();
      await world.done("t.1", { "a.txt": "two\n" });
      await world.done(
        "t.2",
        { "a.txt": "three\n" },
        { depends_on: ["t.1"], base: "viv/t.1@night" },
      );
      await world.merge({ strategy });
      expect(world.story).toEqual(["t.1 landed", "t.2 landed"]);
      expect(world.file("viv/night", "a.txt")).toBe("three");
      expect(world.git("rev-list", "--count", "main..viv/night")).toBe("2");
    },
  );
});

describe("a branch that began with a dependency's work", () => {
  it("does not bring back what a rework has taken out of that", async () => {
    const world = await MergeWorld.begin();
    await world.done("t.1", { "b.txt": "b\n", "wrong.txt": "wrong\n" });
    const more = { depends_on: ["t.1"], base: "viv/t.1@night" };
    await world.done("t.2", { "c.txt": "c\n" }, more);
    const path = world.workspace("t.1");
    const base = world.git("rev-parse", "main");
    execFileSync("git", ["reset", "--quiet", "--soft", base], { cwd: path });
    rmSync(join(path, "wrong.txt"));
    await commitWorkspace(path, "reworked");
    await world.merge();
    expect(world.story).toEqual(["t.1 landed", "t.2 landed"]);
    const files = world.git("ls-tree", "--name-only", "viv/night").split("\n");
    expect(files).toEqual(expect.arrayContaining(["b.txt", "c.txt"]));
    expect(files).not.toContain("wrong.txt");
  });
});

describe("a batch", () => {
  it("is proven once, and a red one is found by halves", async () => {
    const world = await MergeWorld.begin();
    for (const n of [1, 2, 3, 4, 5]) {
      await world.done(`t.${n}`, { [`f${n}.txt`]: "x\n" }, { done_when: `test -f f${n}.txt` });
    }
    const runs = join(world.home, "runs");
    const prove = `echo x >> ${runs}; ! test -f f4.txt`;
    await world.merge({ batch: 8, prove });
    expect(world.landing("t.4")?.state).toBe("reworked");
    for (const n of [1, 2, 3, 5]) expect(world.landing(`t.${n}`)?.state).toBe("landed");
    // 1-5 red, 1-3 green, 4-5 red, 4 red, 5 green.
    expect(readFileSync(runs, "utf8").split("\n").length - 1).toBe(5);
    expect(world.landing("t.1")?.proof?.commit).toBe(world.landing("t.3")?.to);
    expect(await world.ledger("landed")).toHaveLength(4);
  });

  it("proves each task in files that no other task's proof has touched", async () => {
    const world = await MergeWorld.begin();
    await world.done("t.1", { "b.txt": "b\n" }, { done_when: "touch left.txt" });
    await world.done("t.2", { "c.txt": "c\n" }, { done_when: "test -f left.txt" });
    await world.merge({ batch: 2 });
    expect(world.landing("t.1")?.state).toBe("landed");
    expect(world.landing("t.2")?.state).toBe("reworked");
  });

  it("tries one alone that conflicts with another of it", async () => {
    const world = await conflicting();
    await world.merge({ batch: 8 });
    expect(world.story).toEqual(["t.1 landed", "t.3 landed", "t.2 reworked"]);
    expect(world.sent[0]?.tip).toBe(world.git("rev-parse", "viv/night"));
  });
});

describe("a proof that checks out a branch", () => {
  it.each(["main", "viv/night"])("%s does not move by that", async (branch) => {
    const world = await MergeWorld.begin();
    world.git("switch", "--quiet", "-c", "elsewhere");
    await world.done("t.1", { "b.txt": "b\n" });
    await world.done("t.2", { "c.txt": "c\n" });
    await world.done("t.3", { "d.txt": "d\n" });
    const main = world.git("rev-parse", "main");
    const dirty = "echo more >> a.txt; ! test -f c.txt";
    const prove = `git rev-parse HEAD; test -f c.txt && exit 1; git checkout -q ${branch}; ${dirty}`;
    await world.merge({ prove });
    expect(world.git("rev-parse", "main")).toBe(main);
    expect(world.story).toEqual(["t.1 landed", "t.2 reworked", "t.3 landed"]);
    expect(world.git("rev-list", "--first-parent", "--count", "main..viv/night")).toBe("2");
    expect(world.git("worktree", "list", "--porcelain")).not.toContain(`refs/heads/${branch}`);
  });
});

describe("the target", () => {
  it("moves under the queue: merged and proven again on the new tip", async () => {
    const world = await MergeWorld.begin();
    await world.done("t.1", { "b.txt": "b\n" });
    world.git("branch", "trunk");
    const once = join(world.home, "once");
    const commit = `git -C ${world.repo} commit-tree -p trunk -m other trunk^{tree}`;
    const prove = `ls; test -f ${once} || { touch ${once}; git -C ${world.repo} update-ref refs/heads/trunk $(${commit}); }`;
    await world.merge({ into: "trunk", prove });
    expect(world.story).toEqual(["t.1 landed"]);
    expect(world.git("log", "--format=%s", "--first-parent", "trunk")).toBe(
      "Merge viv/t.1@night into trunk\nother\nfirst",
    );
    expect(await world.ledger("landed")).toHaveLength(1);
  });

  it("keeps moving: held after five tries", async () => {
    const world = await MergeWorld.begin();
    await world.done("t.1", { "b.txt": "b\n" });
    world.git("branch", "trunk");
    const commit = `git -C ${world.repo} commit-tree -p trunk -m $$ trunk^{tree}`;
    const prove = `git -C ${world.repo} update-ref refs/heads/trunk $(${commit})`;
    await world.merge({ into: "trunk", prove });
    expect(world.landing("t.1")).toMatchObject({ state: "held" });
    expect(world.git("log", "--format=%s", "trunk")).not.toContain("Merge");
  });

  it("is forced back to before a landing: that stays a fact, and the next lands on the new tip", async () => {
    const world = await MergeWorld.begin();
    await world.done("t.1", { "b.txt": "b\n" });
    await world.merge();
    world.git("update-ref", "refs/heads/viv/night", "main");
    await world.done("t.2", { "c.txt": "c\n" });
    await world.merge();
    expect(world.landing("t.1")?.state).toBe("landed");
    expect(world.git("ls-tree", "--name-only", "viv/night")).toBe("a.txt\nc.txt");
    expect(await world.ledger("landed")).toHaveLength(2);
  });

  it("is checked out and clean: its files come along", async () => {
    const world = await MergeWorld.begin();
    await world.done("t.1", { "b.txt": "b\n" });
    await world.done("t.2", { "c.txt": "c\n" });
    writeFileSync(join(world.repo, "mine.txt"), "untracked\n");
    await world.merge({ into: "main" });
    expect(world.story).toEqual(["t.1 landed", "t.2 landed"]);
    expect(readFileSync(join(world.repo, "c.txt"), "utf8")).toBe("c\n");
    expect(world.git("status", "--porcelain")).toBe("?? mine.txt");
  });

  it("is checked out with a submodule that a landing has moved: the next lands, and its files stay", async () => {
    const inner = await MergeWorld.begin();
    const world = await MergeWorld.begin();
    const own = join(world.repo, "inner");
    execFileSync("git", ["clone", "-q", inner.repo, own]);
    world.git("-c", "advice.addEmbeddedRepo=false", "add", "inner");
    world.git("commit", "-qm", "submodule");
    const old = inner.git("rev-parse", "main");
    inner.git("commit", "-q", "--allow-empty", "-m", "second");
    await world.done("t.1", { "b.txt": "b\n" });
    const there = ["-C", world.workspace("t.1")];
    const bump = `160000,${inner.git("rev-parse", "main")},inner`;
    world.git(...there, "update-index", "--cacheinfo", bump);
    world.git(...there, "commit", "-qm", "bump");
    writeFileSync(join(own, "a.txt"), "in the middle of something\n");
    await world.merge({ into: "main" });
    expect(world.git("status", "--porcelain")).toContain("inner");
    await world.done("t.2", { "c.txt": "c\n" });
    await world.merge({ into: "main" });
    expect(world.story).toEqual(["t.1 landed", "t.2 landed"]);
    expect(world.git("-C", own, "rev-parse", "HEAD")).toBe(old);
    expect(readFileSync(join(own, "a.txt"), "utf8")).toBe("in the middle of something\n");

    world.git("add", "inner"); // the person takes it back
    await world.done("t.3", { "d.txt": "d\n" });
    await world.merge({ into: "main" });
    expect(world.landing("t.3")?.reason).toContain("which has uncommitted changes");
  });

  it("is checked out and dirty: held with one command, which lands them", async () => {
    const world = await MergeWorld.begin();
    await world.done("t.1", { "b.txt": "b\n" });
    await world.done("t.2", { "c.txt": "c\n" });
    writeFileSync(join(world.repo, "a.txt"), "in the middle of something\n");
    const main = world.git("rev-parse", "main");
    await world.merge({ into: "main" });
    expect(world.story).toEqual(["t.1 held", "t.2 held"]);
    expect(world.git("rev-parse", "main")).toBe(main);
    const { reason, command = "" } = world.landing("t.2") ?? {};
    expect(reason).toBe(`main is checked out in ${world.repo}, which has uncommitted changes`);
    await world.done("t.3", { "d.txt": "d\n" });
    await world.merge({ into: "main" });
    expect(world.landing("t.3")?.state).toBe("held");
    const last = world.landing("t.3")?.command ?? "";
    expect(last).not.toBe(command);
    execFileSync("sh", ["-c", last]);
    expect(readFileSync(join(world.repo, "a.txt"), "utf8")).toBe("in the middle of something\n");
    await world.merge({ into: "main" });
    for (const id of ["t.1", "t.2", "t.3"]) expect(world.landing(id)?.state).toBe("landed");
    expect(world.landing("t.2")?.reason, "nothing is in its way any more").toBe(undefined);
    expect(await world.ledger("landed")).toHaveLength(3);
    expect(world.git("for-each-ref", "refs/viv")).toBe("");
  });

  it("becomes clean: what is held lands without another proof", async () => {
    const world = await MergeWorld.begin();
    await world.done("t.1", { "b.txt": "b\n" });
    await world.done("t.2", { "c.txt": "c\n" });
    writeFileSync(join(world.repo, "a.txt"), "dirty\n");
    const runs = join(world.home, "runs");
    const settings = { into: "main", prove: `echo x >> ${runs}`, batch: 2 };
    await world.merge(settings);
    world.git("checkout", "-q", "--", "a.txt");
    await world.merge(settings);
    expect(world.story.slice(2)).toEqual(["t.1 landed", "t.2 landed"]);
    expect(readFileSync(runs, "utf8")).toBe("x\n");
    expect(world.git("status", "--porcelain")).toBe("");
  });

  it("is checked out and cannot be moved: its files stay as they were", async () => {
    const world = await MergeWorld.begin();
    await world.done("t.1", { "b.txt": "b\n", "a.txt": "other\n" });
    writeFileSync(join(world.repo, ".git/refs/heads/main.lock"), "");
    await world.merge({ into: "main" });
    expect(world.landing("t.1")?.reason).toContain("main.lock in its way");
    expect(world.git("status", "--porcelain")).toBe("");
    rmSync(join(world.repo, ".git/refs/heads/main.lock"));
    await world.merge({ into: "main" });
    expect(world.story).toEqual(["t.1 held", "t.1 landed"]);
    expect(world.git("status", "--porcelain")).toBe("");
  });

  it("has an untracked or ignored file in the way: nothing of it is overwritten", async () => {
    const world = await MergeWorld.begin({ "a.txt": "one\n", ".gitignore": ".env\n" });
    await world.done("t.1", { "b.txt": "theirs\n" });
    writeFileSync(join(world.repo, "b.txt"), "mine\n");
    await world.merge({ into: "main" });
    expect(world.landing("t.1")?.reason).toContain("where b.txt is in the way");
    expect(readFileSync(join(world.repo, "b.txt"), "utf8")).toBe("mine\n");
    rmSync(join(world.repo, "b.txt"));
    writeFileSync(join(world.repo, ".env"), "mine\n");
    const tree = world.workspace("t.1");
    world.write(tree, { ".env": "theirs\n" });
    world.git("-C", tree, "add", "-f", ".env");
    world.git("-C", tree, "commit", "-qm", "env");
    await world.merge({ into: "main" });
    expect(world.landing("t.1")?.state).toBe("held");
    expect(readFileSync(join(world.repo, ".env"), "utf8")).toBe("mine\n");
  });

  it("is in the middle of a merge: held", async () => {
    const world = await MergeWorld.begin();
    await world.done("t.1", { "b.txt": "b\n" });
    writeFileSync(join(world.repo, ".git/MERGE_HEAD"), `${world.git("rev-parse", "main")}\n`);
    await world.merge({ into: "main" });
    expect(world.landing("t.1")?.reason).toContain("where a merge is unfinished");
  });

  it.each([
    ["origin/main", /is a branch of a remote; make a local one with: git -C \S+ branch main/],
    ["v1", /v1 is a tag of/],
    ["viv/t.1@night", /viv\/t\.1@night is the branch of the task t\.1/],
    ["nowhere", /has no branch nowhere; make it with: git -C \S+ branch nowhere/],
    ["a..b", /"a..b" cannot be a branch/],
    ["HEAD", /HEAD is no branch/],
    ["alias", /alias is another name of main/],
  ])("refuses %s in words", async (into, message) => {
    const world = await MergeWorld.begin();
    world.git("tag", "v1");
    world.git("update-ref", "refs/remotes/origin/main", "main");
    world.git("symbolic-ref", "refs/heads/alias", "refs/heads/main");
    await world.done("t.1", { "b.txt": "b\n" });
    await expect(world.merge({ into })).rejects.toThrow(message);
    expect(world.landing("t.1")).toBe(null);
  });

  it("is all that a branch has, which was only brought up to date: no changes", async () => {
    const world = await MergeWorld.begin();
    await world.done("t.1", { "b.txt": "b\n" });
    await world.done("t.2", {});
    await world.merge({}, { ids: ["t.1"] });
    const tip = world.git("rev-parse", "viv/night");
    execFileSync("git", ["reset", "--quiet", "--hard", tip], { cwd: world.workspace("t.2") });
    await world.merge();
    const reason = `its branch ends at viv/night (${tip.slice(0, 10)}) itself`;
    expect(world.landing("t.2")).toMatchObject({ state: "no_changes", reason });
    expect(await world.ledger("landed")).toHaveLength(1);
  });

  it("keeps what a task was before a rework that has left nothing of it", async () => {
    const world = await conflicting();
    await world.merge();
    const base = world.git("rev-parse", "viv/night");
    execFileSync("git", ["reset", "--quiet", "--hard", base], { cwd: world.workspace("t.2") });
    const record = readRecord(world.store.workspaces, "t.2");
    if (record?.kind !== "worktree") throw new Error("t.2 has no worktree");
    writeRecord(world.store.workspaces, "t.2", { ...record, base });
    await world.merge();
    const { state, reason } = world.landing("t.2") ?? {};
    expect([state, reason?.split(" ").at(-1)]).toEqual([
      "no_changes",
      "refs/viv/before/t.2@night/1",
    ]);
  });

  it("has the work already, merged by hand: that is found, and not merged again", async () => {
    const world = await MergeWorld.begin();
    await world.done("t.1", { "b.txt": "b\n" });
    world.git("merge", "-q", "--no-ff", "--no-edit", "viv/t.1@night");
    const main = world.git("rev-parse", "main");
    await world.merge({ into: "main" });
    expect(world.landing("t.1")).toMatchObject({ state: "landed", reason: "merged by hand" });
    expect(world.git("rev-parse", "main")).toBe(main);
    expect(await world.ledger("landed")).toMatchObject([{ task: "t.1", proof: null }]);
  });
});

describe("repositories as they are", () => {
  it("honours commit.gpgsign, and holds what cannot be signed", async () => {
    const world = await MergeWorld.begin();
    await world.done("t.1", { "b.txt": "b\n" });
    world.git("config", "commit.gpgsign", "true");
    world.git("config", "gpg.program", "/bin/false");
    await world.merge();
    expect(world.landing("t.1")).toMatchObject({ state: "held" });
    expect(world.landing("t.1")?.reason).toMatch(/could not be signed/);
    const signer = join(world.home, "gpg");
    const signs =
      'cat >/dev/null; echo "[GNUPG:] SIG_CREATED " >&2; echo "-----BEGIN PGP SIGNATURE-----"';
    writeFileSync(signer, `#!/bin/sh\n${signs}\n`);
    chmodSync(signer, 0o755);
    world.git("config", "gpg.program", signer);
    await world.merge();
    expect(world.git("cat-file", "-p", "viv/night")).toContain("gpgsig");
  });

  it("says once that hooks are not run", async () => {
    const world = await MergeWorld.begin();
    mkdirSync(join(world.repo, ".git/hooks"));
    const hook = join(world.repo, ".git/hooks/pre-merge-commit");
    writeFileSync(hook, "#!/bin/sh\nexit 1\n");
    chmodSync(hook, 0o755);
    for (const id of ["t.1", "t.2"]) {
      await world.done(id, { [id]: "b\n" });
      await world.merge();
    }
    expect(world.story).toEqual(["t.1 landed", "t.2 landed"]);
    expect(world.events.filter(({ kind }) => kind === "notice")).toMatchObject([
      { message: expect.stringMatching(/hook pre-merge-commit of .* put their checks into prove/) },
    ]);
  });

  it("holds before a branch that a hook guards, with the command that runs it", async () => {
    const world = await MergeWorld.begin();
    world.git("branch", "release");
    const hook = join(world.repo, ".git/hooks/reference-transaction");
    mkdirSync(join(world.repo, ".git/hooks"));
    writeFileSync(hook, "#!/bin/sh\n! grep -q release || test -e allowed\n", { mode: 0o755 });
    await world.done("t.1", { "b.txt": "b\n" });
    await world.merge({ into: "release" });
    const { state, reason, command = "" } = world.landing("t.1") ?? {};
    expect([state, reason]).toEqual([
      "held",
      "a reference-transaction hook guards release, and the queue runs no hooks",
    ]);
    expect(() => execFileSync("/bin/sh", ["-c", command], { stdio: "ignore" })).toThrow();
    world.write(world.repo, { allowed: "" });
    execFileSync("/bin/sh", ["-c", command]);
    await world.merge({ into: "release" });
    expect(world.landing("t.1")).toMatchObject({ state: "landed", target: "release" });
  });

  it("holds in a shallow clone without the common commit, with the command that helps", async () => {
    const origin = await MergeWorld.begin();
    origin.write(origin.repo, { "z.txt": "z\n" });
    origin.git("add", ".");
    origin.git("commit", "-qm", "second");
    const world = await MergeWorld.open();
    execFileSync("git", ["clone", "-q", "--depth=1", `file://${origin.repo}`, world.repo]);
    world.git("fetch", "-q", "--depth=1", "origin", origin.git("rev-parse", "main~1"));
    world.git("branch", "old", "FETCH_HEAD");
    await world.done("t.1", { "b.txt": "b\n" }, { base: "old" });
    await world.merge({ into: "main" });
    expect(world.landing("t.1")).toMatchObject({
      state: "held",
      command: `git -C ${world.repo} fetch --unshallow`,
    });
    world.git("fetch", "-q", "--unshallow");
    await world.merge({ into: "main" });
    expect(world.landing("t.1")?.state).toBe("landed");
  });

  it("proves in a whole tree where the checkout is sparse, and leaves nothing of one proof to the next", async () => {
    const world = await MergeWorld.begin({
      "in/a.txt": "a\n",
      "out/b.txt": "b\n",
      ".gitignore": "made*\n",
    });
    world.git("sparse-checkout", "set", "in");
    await world.done("t.1", { "in/c.txt": "c\n" });
    await world.done("t.2", { "in/d.txt": "d\n" });
    const prove =
      "test -f out/b.txt && ! test -e made && ! test -e new && mkdir made && echo x > made/y && echo x > new && echo x >> in/a.txt";
    await world.merge({ prove });
    expect(world.story).toEqual(["t.1 landed", "t.2 landed"]);
    expect(world.git("ls-tree", "-r", "--name-only", "viv/night")).toBe(
      ".gitignore\nin/a.txt\nin/c.txt\nin/d.txt\nout/b.txt",
    );
    expect(existsSync(join(world.repo, "out"))).toBe(false);
  });

  it("merges submodule pointers and large-file pointers as they are", async () => {
    const inner = await MergeWorld.begin();
    const world = await MergeWorld.begin({
      ".gitattributes": "*.bin filter=lfs merge=union\n",
      "x.bin": "version 1\n",
    });
    world.git("config", "filter.lfs.smudge", "sed s/version/SMUDGED/");
    world.git("config", "filter.lfs.clean", "sed s/SMUDGED/version/");
    const gitlink = ["update-index", "--add", "--cacheinfo"];
    world.git(...gitlink, `160000,${inner.git("rev-parse", "main")},inner`);
    world.git("commit", "-qm", "submodule");
    await world.done("t.1", { "x.bin": "SMUDGED 1\nSMUDGED 2\n" });
    await world.done("t.2", { "x.bin": "SMUDGED 1\nSMUDGED 3\n" });
    await world.merge({ prove: "grep SMUDGED x.bin" });
    expect(world.story).toEqual(["t.1 landed", "t.2 landed"]);
    expect(world.file("viv/night", "x.bin")).toBe("version 1\nversion 2\nversion 3");
    expect(world.git("ls-tree", "viv/night", "inner")).toMatch(/^160000 commit/);
  });
});

describe("the proof", () => {
  it("runs the command that has proven the task, with its variables, in its sandbox", async () => {
    const world = await MergeWorld.begin();
    await world.done("t.1", { "b.txt": "b\n" });
    const proof = {
      attempt: 1,
      command: "echo as proven: $VIV_TASK_ID $PWD",
      exit: 0,
      signal: null,
    };
    const rest = { timed_out: false, duration_ms: 1, at: "2026-01-01", output: "", dropped: 0 };
    await world.store.artifacts.write("t.1.proof.json", JSON.stringify({ ...proof, ...rest }));
    const route = { doneWhen: "false", sandbox: ["write-workspace" as const] };
    await world.merge({ prove: `touch inside; ! touch ${world.repo}/outside` }, { route });
    expect(world.story).toEqual(["t.1 landed"]);
    expect(world.log("t.1")).toMatch(/as proven: t\.1 \S*\/merge\/\.scratch\//);
    expect(existsSync(join(world.repo, "outside"))).toBe(false);
  });

  it("is red when its time is up", async () => {
    const world = await MergeWorld.begin();
    await world.done("t.1", { "b.txt": "b\n" });
    await world.merge({ prove: "! test -f b.txt || sleep 60", proveTimeoutMs: 100 });
    expect(world.sent[0]?.reason).toContain("not finished after 100 ms");
  });

  it("is ended with the queue, and nothing has landed", async () => {
    const world = await MergeWorld.begin();
    await world.done("t.1", { "b.txt": "b\n" });
    const stop = new AbortController();
    const begun = join(world.home, "begun");
    const pass = world.merge({ prove: `echo $$ > ${begun}; sleep 300` }, { signal: stop.signal });
    await until("the proof runs", () => existsSync(begun));
    stop.abort();
    await pass;
    expect(existsSync(`/proc/${readFileSync(begun, "utf8").trim()}`)).toBe(false);
    expect(world.landing("t.1")?.state).toBe("queued");
    expect(world.git("rev-parse", "viv/night")).toBe(world.git("rev-parse", "main"));
    await world.merge();
    expect(world.landing("t.1")?.state).toBe("landed");
  });
});

describe("two queues", () => {
  it("of two runs on one repository land everything once", async () => {
    const world = await MergeWorld.begin();
    const other = await MergeWorld.open(world.home, "day");
    for (const n of [1, 2, 3]) {
      await world.done(`n.${n}`, { [`n${n}.txt`]: "x\n" });
      await other.done(`d.${n}`, { [`d${n}.txt`]: "x\n" });
    }
    world.git("branch", "trunk");
    const settings = { into: "trunk", prove: "ls" };
    await Promise.all([world.merge(settings), other.merge(settings), world.merge(settings)]);
    expect(world.git("ls-tree", "--name-only", "trunk").split("\n")).toHaveLength(7);
    expect(world.git("rev-list", "--count", "--merges", "trunk")).toBe("6");
    expect(await world.ledger("landed")).toHaveLength(3);
    expect(await other.ledger("landed")).toHaveLength(3);
    expect(world.events.some(({ kind }) => kind === "waits")).toBe(true);
  });
});
