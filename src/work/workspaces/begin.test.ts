import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LandingWorld } from "../../../test/support/landing-world.ts";
import { beginOf } from "../../merge/begin-of.ts";
import { writeLanding } from "../../merge/landing.ts";
import { openWorkspace } from "./open.ts";

async function begun(world: LandingWorld, id: string, depends_on: string[]) {
  await world.store.enqueue({ id, type: "t", depends_on });
  const { task } = await world.claim(id);
  const begin = beginOf(world.store, task, undefined);
  return openWorkspace({ ...world.request(id), begin });
}

test("a task sees the work of its dependencies, and has changed nothing itself", async () => {
  const world = await LandingWorld.make();
  await world.done("a", { "a.txt": "a\n" });
  await world.done("b", { "b.txt": "b\n" });
  const { base, note } = await begun(world, "c", ["a", "b"]);
  expect([world.read("c", "a.txt"), world.read("c", "b.txt")]).toEqual(["a\n", "b\n"]);
  expect(note).toBeUndefined();
  expect(world.git("rev-parse", "viv/c@run")).toBe(base);
  expect(world.git("branch", "--contains", "viv/a@run", "--format=%(refname:short)")).toContain(
    "viv/c@run",
  );
});

test("a dependency that conflicts is left out, and the handler is told", async () => {
  const world = await LandingWorld.make();
  await world.done("a", { "file.txt": "one\nA\nthree\n" });
  await world.done("b", { "file.txt": "one\nB\nthree\n", "b.txt": "b\n" });
  const { note } = await begun(world, "c", ["a", "b"]);
  expect(world.read("c")).toBe("one\nA\nthree\n");
  expect(existsSync(join(world.store.workspaces, "c/b.txt"))).toBe(false);
  const told =
    "The work of b (branch viv/b@run) is not in this workspace: it conflicts with the rest in file.txt.";
  expect(note).toBe(told);
  expect((await world.open("c")).note, "the next attempt is told as well").toBe(told);
});

test("it begins at the target, once there is one; what landed is not merged again", async () => {
  const world = await LandingWorld.make();
  await world.done("a", { "a.txt": "a\n" });
  const target = `viv/${world.store.runId}`;
  world.git("branch", target, "main");
  world.git("worktree", "add", "--quiet", join(world.folder, "t"), target);
  world.git("-C", join(world.folder, "t"), "merge", "--quiet", "--squash", "viv/a@run");
  world.git("-C", join(world.folder, "t"), "commit", "--quiet", "-m", "a");
  const tip = world.git("rev-parse", target);
  const state = "landed" as const;
  writeLanding(world.store.folder, world.landing("a", { state, to: tip, target }));
  const { base } = await begun(world, "c", ["a"]);
  expect(base).toBe(tip);
  expect(world.read("c", "a.txt")).toBe("a\n");
});

test("a dependency without a branch, or with one of another repository, changes nothing", async () => {
  const world = await LandingWorld.make();
  await world.store.enqueue({ id: "a", type: "t" });
  const { token } = await world.claim("a");
  await world.store.complete({ id: "a", worker: "w", token });
  const { base } = await begun(world, "c", ["a"]);
  expect(base).toBe(world.git("rev-parse", "main"));
  const other = { task: "x", branch: "main", repository: "/elsewhere" };
  const request = { ...world.request("d"), begin: { dependencies: [other] } };
  expect((await openWorkspace(request)).base).toBe(base);
});

test("a task that is called like the run has a branch beside the one that all work goes into", async () => {
  const world = await LandingWorld.make();
  const target = `viv/${world.store.runId}`;
  world.git("branch", target, "main");
  expect((await begun(world, "run", [])).branch).toBe("viv/run@run");
});
