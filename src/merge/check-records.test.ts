import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { MergeWorld } from "../../test/support/merge-world.ts";
import { openWorkspace } from "../work/workspaces/open.ts";
import { checkRecords } from "./check-records.ts";
import { writeForgeRecord } from "./forge/record.ts";

async function doctor({ store }: MergeWorld, fix = false) {
  const { findings } = await store.doctor({ fix, more: checkRecords(store) });
  return findings.map(({ code, path, fixed }) => `${code} ${path} ${fixed}`);
}

const spoil = (world: MergeWorld, path: string, text = '{"task": "t.') =>
  writeFileSync(join(world.run, path), text);

it("an unreadable landing of landed work is found, kept aside and rebuilt: nothing lands twice", async () => {
  const world = await MergeWorld.begin();
  await world.done("t.1", { "a.txt": "one\nmore\n" });
  await world.merge({ strategy: "squash" });
  await world.done("t.2", { "a.txt": "other\n" }, { base: "viv/night" });
  await world.merge({ strategy: "squash" });
  const { at: _, from: __, ...before } = world.landing("t.1") ?? {};
  const tip = world.git("rev-parse", "viv/night");
  expect(await doctor(world)).toEqual([]);

  spoil(world, "merge/t.1.json");
  expect(await doctor(world)).toEqual(["unreadable merge/t.1.json false"]);
  expect(() => world.landing("t.1")).toThrow("repair it with: viv doctor --fix");
  expect(await doctor(world, true)).toEqual(["unreadable merge/t.1.json true"]);
  expect(await doctor(world)).toEqual([]);
  expect(world.landing("t.1")).toMatchObject(before);
  const kept = join(world.run, "quarantine/.t.1.landing");
  expect(readFileSync(kept, "utf8")).toBe('{"task": "t.');
  expect(await world.store.show("t.1")).toMatchObject({ state: "done" });
  expect(readdirSync(join(world.run, "merge")).filter((name) => /t\.1/.test(name))).toEqual([
    "t.1.json",
  ]);

  await world.merge({ strategy: "squash" });
  expect(world.git("rev-parse", "viv/night")).toBe(tip);
  expect((await world.ledger("landed")).map(({ task }) => task)).toEqual(["t.1", "t.2"]);
  writeFileSync(join(world.workspace("t.1"), "late.txt"), "x\n");
  expect(world.landing("t.1")?.head).toBe(world.git("rev-parse", "viv/t.1@night"));
});

it("one of work that has not landed is queued again, and one with a pull request goes on there", async () => {
  const world = await MergeWorld.begin();
  await world.done("t.1", { "b.txt": "b\n" });
  await world.done("t.2", { "c.txt": "c\n" });
  const request = { remote: "origin", base: "main", pushed: [], sent: [], number: 7, url: "u" };
  writeForgeRecord(world.run, {
    ...{ task: "t.2", forge: "gh", host: null, repo: "acme/app" },
    pull_request: { ...request, branch: "viv/t.2" },
  });
  for (const id of ["t.1", "t.2"]) spoil(world, `merge/${id}.json`, "[]");
  await doctor(world, true);
  expect(world.landing("t.1")).toBeNull();
  expect(world.landing("t.2")).toMatchObject({
    ...{ state: "pull_request", branch: "viv/t.2@night", target: "main" },
    pull_request: { number: 7, url: "u", forge: "gh" },
  });
  await world.merge({}, { openPullRequests: async () => {} });
  expect(world.landing("t.1")?.state).toBe("landed");
  expect(world.landing("t.2")?.state).toBe("pull_request");
});

it("an unreadable record of a workspace: its worktree goes on with its branch", async () => {
  const world = await MergeWorld.begin();
  await world.done("t.1", { "b.txt": "b\n" });
  spoil(world, "workspaces/.t.1.json");
  expect(await doctor(world, true)).toEqual(["unreadable workspaces/.t.1.json true"]);
  expect(existsSync(join(world.run, "quarantine/.t.1.workspace-record"))).toBe(true);
  const { workspaces: root, runId: run } = world.store;
  const request = { kind: "worktree" as const, root, run, id: "t.1", repository: world.repo };
  expect(await openWorkspace(request)).toMatchObject({
    ...{ branch: "viv/t.1@night", base: world.git("rev-parse", "main") },
  });
});
