import { mkdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { MergeWorld } from "../../test/support/merge-world.ts";

/** Two runs of one name, in different folders, for one repository. */
async function twoRuns(): Promise<[MergeWorld, MergeWorld]> {
  const one = await MergeWorld.begin();
  return [one, await MergeWorld.open(one.home, "other/night")];
}

const files = (world: MergeWorld, branch: string) =>
  world.git("ls-tree", "--name-only", branch).split("\n");

it("two runs of one name have a target each, and keep it", async () => {
  const [one, two] = await twoRuns();
  await one.done("t.1", { "one.txt": "1\n" });
  await two.done("t.1", { "two.txt": "2\n" });
  await one.merge();
  await two.merge();
  expect(one.landing("t.1")).toMatchObject({ branch: "viv/t.1@night", target: "viv/night" });
  expect(two.landing("t.1")).toMatchObject({ branch: "viv/t.1@night-2", target: "viv/night-2" });
  expect(files(one, "viv/night")).toEqual(["a.txt", "one.txt"]);
  expect(files(one, "viv/night-2")).toEqual(["a.txt", "two.txt"]);

  one.git("branch", "-D", "viv/night");
  await two.done("t.2", { "more.txt": "2\n" });
  await two.merge();
  expect(two.landing("t.2")?.target, "though the other one is gone").toBe("viv/night-2");
  await one.done("t.2", { "again.txt": "1\n" });
  await one.merge();
  expect(one.landing("t.2")?.target, "a fresh start").toBe("viv/night");
  expect(files(one, "viv/night")).toEqual(["a.txt", "again.txt"]);
});

it("a run that was moved knows its target, and a new one in its place has another", async () => {
  const [one, two] = await twoRuns();
  await one.done("t.1", { "one.txt": "1\n" });
  await one.merge();
  await one.store.close();
  mkdirSync(join(one.home, "moved"));
  renameSync(one.run, join(one.home, "moved/night"));
  const moved = await MergeWorld.open(one.home, "moved/night");
  const fresh = await MergeWorld.open(one.home);
  for (const world of [two, fresh, moved]) await world.done("t.2", { "x.txt": world.run });
  for (const world of [two, fresh, moved]) await world.merge();
  const targets = [two, fresh, moved].map((world) => world.landing("t.2")?.target);
  expect(targets).toEqual(["viv/night-2", "viv/night-3", "viv/night"]);
});

it("takes a branch of that name without an owner, and changes nothing else of the settings", async () => {
  const [one, two] = await twoRuns();
  one.git("branch", "viv/night");
  one.git("branch", "viv/night-2");
  one.git("config", "branch.viv/night.description", "mine");
  const before = one.git("config", "--local", "--list").split("\n");
  await one.done("t.1", { "one.txt": "1\n" });
  await two.done("t.1", { "two.txt": "2\n" });
  await one.merge();
  await two.merge();
  expect(one.landing("t.1")?.target).toBe("viv/night");
  expect(two.landing("t.1")?.target, "viv/night-2 is a person's").toBe("viv/night-3");
  const id = (world: MergeWorld) => readFileSync(join(world.run, "merge/run-id"), "utf8").trim();
  const added = [`branch.viv/night.viv-run=${id(one)}`, `branch.viv/night-3.viv-run=${id(two)}`];
  expect(one.git("config", "--local", "--list").split("\n")).toEqual([...before, ...added]);
});
