import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Repository } from "../../../test/board/support.ts";
import { newFolder } from "../../../test/support/folders.ts";
import { excludeFromGit } from "./exclude.ts";

function repository(): Repository {
  const repo = new Repository();
  rmSync(join(repo.top, ".git/info"), { recursive: true, force: true });
  return repo;
}

const lines = (file: string) => readFileSync(file, "utf8").split("\n").slice(0, -1);

/** The folder with a file in it, as git lists it. */
function isListed(repo: Repository, folder: string): boolean {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "x"), "");
  return repo.git("-C", join(folder, ".."), "status", "--porcelain", "-uall", "--", ".") !== "";
}

it("adds the crew's folder once, also without info/", async () => {
  const repo = repository();
  const exclude = join(repo.top, ".git/info/exclude");
  const folder = join(repo.top, ".crew");
  expect(isListed(repo, folder)).toBe(true);
  expect(await excludeFromGit(folder)).toEqual({ file: exclude, line: ".crew/" });
  expect(isListed(repo, folder)).toBe(false);
  expect(await excludeFromGit(folder)).toBe(null);
  mkdirSync(join(repo.top, "sub"));
  expect(await excludeFromGit(join(repo.top, "sub/.crew"))).toBe(null);
  expect(lines(exclude)).toEqual([".crew/"]);
});

it("keeps the lines that are there, also one without its end, and obeys the rules that are there", async () => {
  const repo = repository();
  const exclude = join(repo.top, ".git/info/exclude");
  mkdirSync(join(repo.top, ".git/info"));
  writeFileSync(exclude, "# mine\n*.tmp");
  expect(await excludeFromGit(join(repo.top, ".crew"))).not.toBe(null);
  expect(lines(exclude)).toEqual(["# mine", "*.tmp", ".crew/"]);

  const other = repository();
  other.git("rm", "-q", "--cached", "board.org");
  writeFileSync(join(other.top, ".gitignore"), ".*/\n");
  expect(await excludeFromGit(join(other.top, ".crew"))).toBe(null);

  const wanted = repository();
  writeFileSync(join(wanted.top, ".gitignore"), "!.crew/\n");
  mkdirSync(join(wanted.top, ".git/info"));
  writeFileSync(join(wanted.top, ".git/info/exclude"), ".crew/\n");
  expect(await excludeFromGit(join(wanted.top, ".crew"))).toBe(null);
  expect(lines(join(wanted.top, ".git/info/exclude"))).toEqual([".crew/"]);
});

it("names another folder by its place, with a pattern's signs as they are", async () => {
  const repo = repository();
  const folder = join(repo.top, "a [b]/st*te");
  mkdirSync(folder, { recursive: true });
  const added = await excludeFromGit(folder);
  expect(added?.line).toBe("/a \\[b\\]/st\\*te/");
  expect(isListed(repo, folder)).toBe(false);
  expect(isListed(repo, join(repo.top, "a [b]/state"))).toBe(true);
});

it("finds the file of a linked worktree and of a submodule", async () => {
  const repo = repository();
  const tree = join(newFolder(), "tree");
  repo.git("worktree", "add", "-q", tree);
  const folder = join(tree, ".crew");
  expect(isListed(repo, folder)).toBe(true);
  expect((await excludeFromGit(folder))?.file).toBe(join(repo.top, ".git/info/exclude"));
  expect(isListed(repo, folder)).toBe(false);

  const outer = new Repository();
  outer.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", repo.top, "inner");
  const inner = join(outer.top, "inner/.crew");
  expect(isListed(outer, inner)).toBe(true);
  const added = await excludeFromGit(inner);
  expect(added?.file).toBe(join(outer.top, ".git/modules/inner/info/exclude"));
  expect(isListed(outer, inner)).toBe(false);
});

it("does nothing outside a repository", async () => {
  expect(await excludeFromGit(join(newFolder(), ".crew"))).toBe(null);
});
