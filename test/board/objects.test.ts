import { readdirSync, readFileSync, rmSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ok } from "../cli/support.ts";
import { Repository } from "./support.ts";

const CLAIM = ["board", "claim", "second", "--agent", "wren"];

/** Every file below objects/, from there. */
function objectsOf(repo: Repository): string[] {
  const all = readdirSync(join(repo.top, ".git/objects"), { recursive: true, encoding: "utf8" });
  return all.filter((name) => /^[0-9a-f]{2}\/./.test(name)).sort();
}

describe("the objects of a claim", () => {
  it("are three files as git writes them, and nothing is left beside them", async () => {
    const repo = new Repository();
    const before = objectsOf(repo);
    await ok(CLAIM, { cwd: repo.top });
    const names = ["HEAD", "HEAD^{tree}", "HEAD:board.org"].map((name) =>
      repo.git("rev-parse", name).replace(/^../, "$&/"),
    );
    const added = objectsOf(repo).filter((name) => !before.includes(name));
    expect(added).toEqual(names.sort());
    for (const name of added) {
      expect(statSync(join(repo.top, ".git/objects", name)).mode & 0o777).toBe(0o444);
    }
    expect(repo.git("fsck", "--strict")).toBe("");
  });

  it("are shared with a group where the repository is", async () => {
    const repo = new Repository();
    repo.git("config", "core.sharedRepository", "group");
    const objects = join(repo.top, ".git/objects");
    const before = readdirSync(objects);
    await ok(CLAIM, { cwd: repo.top });
    const made = readdirSync(objects).filter((name) => !before.includes(name));
    expect(made).not.toEqual([]);
    for (const name of made) expect(statSync(join(objects, name)).mode & 0o020).toBe(0o020);
  });

  it("are taken as they are when they are there already", async () => {
    const repo = new Repository();
    await ok(CLAIM, { cwd: repo.top });
    const claimed = repo.git("rev-parse", "HEAD:board.org");
    const file = join(repo.top, ".git/objects", claimed.replace(/^../, "$&/"));
    const { ino } = statSync(file);
    repo.git("reset", "-q", "--hard", "HEAD~1");
    await ok(CLAIM, { cwd: repo.top });
    expect(repo.git("rev-parse", "HEAD:board.org")).toBe(claimed);
    expect(statSync(file).ino).toBe(ino);
  });

  it("go to the repository itself, not to one that it borrows from", async () => {
    const lender = new Repository();
    const before = objectsOf(lender);
    const borrower = join(lender.top, "borrower");
    lender.git("clone", "-q", "--shared", lender.top, borrower);
    await ok([...CLAIM, "--board", join(borrower, "board.org")]);
    expect(objectsOf(lender)).toEqual(before);
    expect(lender.git("-C", borrower, "fsck", "--strict")).toBe("");
    expect(lender.git("-C", borrower, "status", "--porcelain")).toBe("");
  });
});

describe("the branch of a claim", () => {
  it("is found also where HEAD is a link", async () => {
    const repo = new Repository();
    const head = join(repo.top, ".git/HEAD");
    rmSync(head);
    symlinkSync("refs/heads/main", head);
    await ok(CLAIM, { cwd: repo.top });
    expect(repo.git("log", "-1", "--format=%s", "main")).toBe("write: claim second");
    expect(readFileSync(head, "utf8").trim()).toBe(repo.git("rev-parse", "main"));
  });
});
