import { describe, expect, it } from "vitest";
import { cli, ok } from "../cli/support.ts";
import { Repository } from "./support.ts";

/** What `viv board audit` finds in histories of several clones, however their sides were joined. */

interface Audit {
  unseen: string[];
  commits: number;
  claims: number;
  findings: { code: string; slug: string; message: string; commit: string; subject: string }[];
}

async function audit(repo: Repository): Promise<Audit> {
  const { stdout } = await cli(["board", "audit", "--json"], { cwd: repo.top });
  return JSON.parse(stdout);
}
const claim = (repo: Repository, slug: string, agent: string) =>
  ok(["board", "claim", slug, "--agent", agent], { cwd: repo.top });
const advance = (repo: Repository, slug: string, agent: string) =>
  ok(["board", "advance", slug, "--agent", agent], { cwd: repo.top });

/** A second clone, with the first as its origin. */
function cloneOf(origin: Repository): Repository {
  const clone = new Repository(null);
  clone.git("pull", "-q", origin.top, "main");
  clone.git("remote", "add", "origin", origin.top);
  return clone;
}

/** Joins the other's main; on a conflict one side's board is taken whole. */
function pull(repo: Repository, side: "--ours" | "--theirs"): void {
  const { status } = repo.ask("pull", "-q", "--no-rebase", "--no-edit", "origin", "main");
  if (status === 0) return;
  repo.git("checkout", side, "board.org");
  repo.commit("Merge branch 'main'");
}

describe("a task that two clones claimed", () => {
  it.each(["--ours", "--theirs"] as const)("is found after git checkout %s", async (side) => {
    const one = new Repository();
    const two = cloneOf(one);
    await claim(one, "hello-world", "moss");
    await claim(two, "hello-world", "wren");
    pull(two, side);
    const merge = two.head;
    await advance(two, "hello-world", side === "--ours" ? "wren" : "moss");
    const { findings, claims } = await audit(two);
    expect(findings).toMatchObject([{ code: "merged_claims", slug: "hello-world", commit: merge }]);
    expect(findings[0]?.message).toMatch(
      /^hello-world was claimed on two branches: by (moss|wren) \(\w{7}\) and (moss|wren) \(\w{7}\)$/,
    );
    expect(claims).toBe(3); // with the one that the board began with
  });

  it("is found though one side had passed it on, and with git merge -s ours", async () => {
    const one = new Repository();
    const two = cloneOf(one);
    await claim(one, "hello-world", "moss");
    await advance(one, "hello-world", "moss");
    await claim(two, "hello-world", "wren");
    two.git("fetch", "-q", "origin");
    two.git("merge", "-q", "-s", "ours", "-m", "ours", "origin/main");
    expect((await audit(two)).findings).toMatchObject([{ code: "merged_claims" }]);
  });

  it("is found in an octopus", async () => {
    const repo = new Repository();
    for (const agent of ["moss", "wren", "hale"]) {
      repo.git("checkout", "-q", "-b", agent, "main");
      await claim(repo, "hello-world", agent);
    }
    repo.git("checkout", "-q", "main");
    const parents = ["main", "moss", "wren", "hale"].flatMap((name) => ["-p", name]);
    const commit = repo.git("commit-tree", "moss^{tree}", ...parents, "-m", "octopus");
    repo.git("merge", "-q", "--ff-only", commit);
    const { findings } = await audit(repo);
    expect(findings).toMatchObject([{ code: "merged_claims", commit }]);
    for (const agent of ["moss", "wren", "hale"]) expect(findings[0]?.message).toContain(agent);
  });

  it("is a taken claim after a rebase or a squash that put one over the other", async () => {
    for (const how of ["rebase", "squash"] as const) {
      const one = new Repository();
      const two = cloneOf(one);
      await claim(one, "hello-world", "moss");
      await claim(two, "hello-world", "wren");
      two.git("fetch", "-q", "origin");
      const mine = two.read();
      if (how === "rebase") {
        two.ask("rebase", "origin/main");
        two.write(mine);
        two.git("add", "-A");
        two.git("-c", "core.editor=true", "rebase", "--continue");
      } else {
        two.git("branch", "side");
        two.git("reset", "-q", "--hard", "origin/main");
        two.ask("merge", "--squash", "side");
        two.write(mine);
        two.commit("research: claim hello-world");
      }
      expect((await audit(two)).findings, how).toMatchObject([
        { code: "taken_over", slug: "hello-world" },
      ]);
    }
  });

  it("is found where a merge itself puts in a third name", async () => {
    const one = new Repository();
    const two = cloneOf(one);
    await claim(one, "hello-world", "moss");
    await claim(two, "second", "wren");
    two.ask("pull", "-q", "--no-rebase", "--no-commit", "origin", "main");
    two.write(two.read().replace(":AGENT: moss", ":AGENT: eve"));
    two.commit("Merge branch 'main'");
    expect((await audit(two)).findings).toMatchObject([
      { code: "taken_over", slug: "hello-world" },
      { code: "untyped", slug: "hello-world" },
    ]);
  });
});

it("finds what a merge changed by itself", async () => {
  const repo = new Repository();
  repo.git("checkout", "-q", "-b", "side");
  await claim(repo, "second", "wren");
  repo.git("checkout", "-q", "main");
  await claim(repo, "hello-world", "moss");
  repo.git("merge", "-q", "--no-commit", "side");
  repo.write(repo.read().replace("EDIT third", "WRITING third").replace(":AGENT: hale\n", ""));
  repo.commit("Merge branch 'side'", "moss");
  expect((await audit(repo)).findings).toMatchObject([{ code: "not_holder", commit: repo.head }]);
});

describe("a history that is not whole", () => {
  it("is named in a shallow clone, whose edge is no commit of this board", async () => {
    const origin = new Repository();
    await claim(origin, "hello-world", "moss");
    await advance(origin, "hello-world", "moss");
    origin.git("checkout", "-q", "-b", "side", "HEAD~1");
    origin.git("commit", "-q", "--allow-empty", "-m", "other work");
    origin.git("checkout", "-q", "main");
    await claim(origin, "hello-world", "wren");
    origin.git("merge", "-q", "--no-ff", "-m", "side", "side");
    expect(await audit(origin)).toMatchObject({ findings: [], unseen: [] });
    const clone = new Repository(null);
    clone.git("pull", "-q", "--depth", "2", `file://${origin.top}`, "main");
    const cut = await audit(clone);
    expect(cut).toMatchObject({ commits: 0, claims: 0, findings: [] });
    expect(cut.unseen).toEqual([expect.stringContaining("shallow")]);
  });

  it("is named after a rename", async () => {
    const repo = new Repository();
    await claim(repo, "hello-world", "moss");
    repo.git("mv", "board.org", "plan.org");
    repo.commit("desk: another name");
    const { stdout, status } = await cli(["board", "audit", "--board=plan.org"], { cwd: repo.top });
    expect(status).toBe(0);
    const at = repo.head.slice(0, 7);
    expect(stdout).toContain(
      `not audited: before ${at} it was board.org, whose history is not read`,
    );
  });
});

describe("no false alarm", () => {
  it("for merges of sides that worked on different tasks, or one after the other", async () => {
    const one = new Repository();
    const two = cloneOf(one);
    await claim(one, "hello-world", "moss");
    await claim(two, "second", "wren");
    pull(two, "--ours");
    // The other side passes on what this one has seen claimed, and the next agent claims it there.
    one.git("pull", "-q", two.top, "main");
    await advance(one, "hello-world", "moss");
    await claim(one, "hello-world", "wren");
    await advance(two, "second", "wren");
    pull(two, "--ours");
    await claim(two, "second", "hale");
    const { findings, claims } = await audit(two);
    expect(findings).toEqual([]);
    expect(claims).toBe(5);
  });

  it("for a side that only changed other files, and one that was merged twice", async () => {
    const one = new Repository();
    const two = cloneOf(one);
    await claim(one, "hello-world", "moss");
    two.git("commit", "-q", "--allow-empty", "-m", "other work");
    pull(two, "--ours");
    await advance(two, "hello-world", "moss");
    one.git("commit", "-q", "--allow-empty", "-m", "more");
    pull(two, "--ours");
    await claim(two, "hello-world", "wren");
    expect((await audit(two)).findings).toEqual([]);
  });

  it("for a claim that was cherry-picked before its branch was merged, too", async () => {
    const repo = new Repository();
    repo.git("checkout", "-q", "-b", "side");
    await claim(repo, "hello-world", "moss");
    await advance(repo, "hello-world", "moss");
    repo.git("checkout", "-q", "main");
    repo.git("commit", "-q", "--allow-empty", "-m", "other work");
    repo.git("cherry-pick", "main..side");
    await claim(repo, "hello-world", "wren");
    repo.git("merge", "-q", "-s", "ours", "-m", "side", "side");
    expect((await audit(repo)).findings).toEqual([]);
  });

  it("for the same agent in two clones", async () => {
    const one = new Repository();
    const two = cloneOf(one);
    await claim(one, "hello-world", "moss");
    await claim(two, "hello-world", "moss");
    pull(two, "--ours");
    expect((await audit(two)).findings).toEqual([]);
  });
});
