import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Fault, Faults } from "../../test/support/faults.ts";
import { LandingWorld } from "../../test/support/landing-world.ts";
import { newRun } from "../../test/support/new-run.ts";
import { artifactsIn } from "../work/artifacts.ts";
import { readRecord } from "../work/workspaces/record.ts";
import { type Landing, readLanding, writeLanding } from "./landing.ts";
import { type SentBack, sendBack } from "./send-back.ts";

/** `a` is done; its second line is also changed on main. */
async function conflicting(layout?: "pit"): Promise<{ world: LandingWorld; sent: SentBack }> {
  const world = await LandingWorld.make(layout);
  await world.done("a", { "file.txt": "one\nA\nthree\n" });
  const tip = world.onMain({ "file.txt": "one\nMAIN\nthree\n" });
  const sent: SentBack = {
    why: "conflict",
    reason: "conflict with main in file.txt",
    evidence: "CONFLICT (content): Merge conflict in file.txt",
    ...{ tip, files: ["file.txt"] },
  };
  return { world, sent };
}

async function stateOf({ store }: LandingWorld): Promise<string | undefined> {
  return (await store.show("a"))?.state;
}

test("the task is pending, with the reason as its note, the evidence and the new tip", async () => {
  const { world, sent } = await conflicting();
  const { store } = world;
  const landing = await sendBack(store, world.landing("a"), sent, 2);
  expect(landing).toEqual(readLanding(store.folder, "a"));
  expect(landing).toMatchObject({
    state: "reworked",
    reworks: 1,
    reason: "conflict with main in file.txt; sent back (rework 1 of 2)",
    files: ["file.txt"],
  });
  const evidence = artifactsIn(join(world.path, "artifacts")).evidenceBefore("a", 2);
  expect(evidence).toBe(landing.evidence);
  const text = readFileSync(evidence, "utf8");
  expect(text).toMatch(/^CONFLICT \(content\): Merge conflict in file\.txt\n/);
  expect(text).toContain(`before is kept as refs/viv/before/a@run/1.`);
  expect(text).toMatch(/Conflict markers may be in:\n {2}file\.txt\nWhat has no room/);
  expect((await store.show("a"))?.history.at(-1)).toMatchObject({
    by: "merge",
    note: "conflict with main in file.txt (rework 1 of 2)",
  });
  const claim = await world.claim("a");
  expect(claim.attempt).toBe(2);
  await world.open("a");
  expect(world.read("a")).toContain("<<<<<<<");
  expect(world.git("rev-parse", "viv/a@run")).toBe(sent.tip);
  expect(world.git("for-each-ref", "--format=%(refname)", "refs/viv/before")).toBe(
    `refs/viv/before/a@run/1`,
  );
});

test("after the last rework it is done, and waits for a person", async () => {
  const { world, sent } = await conflicting();
  const { store } = world;
  let landing: Landing = world.landing("a");
  for (let n = 1; n <= 2; n++) {
    landing = await sendBack(store, landing, sent, 2);
    expect(landing).toMatchObject({ state: "reworked", reworks: n });
    await world.work("a", { "file.txt": `one\nA${n}\nthree\n` });
    landing = world.landing("a", { reworks: landing.reworks });
  }
  landing = await sendBack(store, landing, sent, 2);
  expect(await stateOf(world)).toBe("done");
  const path = join(store.workspaces, "a");
  const told = readFileSync(landing.evidence ?? "", "utf8");
  expect(told, "its workspace stays as it is").not.toContain("This workspace is now on");
  expect(landing).toMatchObject({
    state: "needs_you",
    reworks: 2,
    files: ["file.txt"],
    command: "viv merge --continue a",
    reason: `conflict with main in file.txt; it went back 2 times, and waits for you: merge main in ${path}, resolve the conflicts, then continue`,
  });
  expect(existsSync(landing.evidence ?? "")).toBe(true);
  expect(await sendBack(store, landing, sent, 2)).toMatchObject({ state: "needs_you", reworks: 2 });
  const lines = [];
  for await (const line of store.ledger({ task: "a" })) {
    if (line.event === "needs_you") lines.push(line);
  }
  const note = "conflict with main in file.txt; it went back 2 times";
  expect(lines).toMatchObject([{ note, target: "main", commit: landing.head }]);
});

test("with no reworks allowed, it waits for a person at once", async () => {
  const { world, sent } = await conflicting();
  const red = { ...sent, why: "red", files: undefined, reason: "npm test failed" } as const;
  expect(await sendBack(world.store, world.landing("a"), red, 0)).toMatchObject({
    state: "needs_you",
    reason: expect.stringContaining(
      "npm test failed; it is not sent back, and waits for you: repair",
    ),
  });
});

test("a task that is claimed already is not touched; only its landing is", async () => {
  const { world, sent } = await conflicting();
  await sendBack(world.store, world.landing("a"), sent, 2);
  await world.claim("a");
  await world.open("a");
  const again = await sendBack(world.store, world.landing("a", { reworks: 0 }), sent, 2);
  expect(again).toMatchObject({ state: "reworked", reworks: 1 });
  expect(await stateOf(world)).toBe("claimed");
});

test("a task whose workspace was removed gets it again from its branch", async () => {
  const { world, sent } = await conflicting();
  world.git("worktree", "remove", "--force", join(world.store.workspaces, "a"));
  world.remove("workspaces", ".a.json");
  await sendBack(world.store, world.landing("a"), sent, 2);
  await world.open("a");
  expect(world.read("a")).toContain("<<<<<<<");
});

/** Without git, which sendBack does not call. */
async function lightly() {
  const { path, store } = await newRun();
  await store.enqueue({ id: "a", type: "t" });
  const [claim] = await store.claim({ worker: "w" });
  await store.complete({ id: "a", worker: "w", token: claim?.token });
  const landing: Landing = {
    ...{ task: "a", state: "conflict", at: "2026-11-16T12:00:00.000Z", repository: "/nowhere" },
    ...{ branch: "viv/a", base: "0".repeat(40), head: "1".repeat(40), target: "main" },
    ...{ strategy: "merge", reworks: 0 },
  };
  writeLanding(store.folder, landing);
  const sent: SentBack = {
    why: "conflict",
    reason: "conflict",
    evidence: "x",
    tip: "2".repeat(40),
  };
  return { path, store, act: () => sendBack(store, landing, sent, 2) };
}

test.each(["die", "tear", "enospc"] as Fault[])(
  "%s at every step: it goes back once",
  async (fault) => {
    for (let at = 1; ; at++) {
      const { path, store, act } = await lightly();
      const faults = new Faults(fault, at);
      await act().catch(() => {});
      faults.heal();
      at = Math.max(at, faults.struckAt);
      const story = `${fault} at ${at} of:\n${faults.log.join("\n")}\n`;
      const stateOf = async () => (await store.show("a"))?.state;
      expect(["done", "pending"], story).toContain(await stateOf());
      expect(await act(), story).toMatchObject({ state: "reworked", reworks: 1 });
      expect(await stateOf(), story).toBe("pending");
      expect(readRecord(join(path, "workspaces"), "a"), story).toMatchObject({
        onto: { step: "noted", tip: "2".repeat(40) },
      });
      expect(existsSync(join(path, "artifacts/a.evidence/1.merge.log")), story).toBe(true);
      const [claim] = await store.claim({ worker: "w" });
      expect(claim?.attempt, story).toBe(2);
      const sentBack = (await store.show("a"))?.history.filter((one) => "retried" in one);
      expect(sentBack, story).toHaveLength(1);
      await store.doctor({ fix: true });
      expect((await store.doctor()).findings.map(({ code }) => code)).not.toContain("status_drift");
      if (!faults.happened) return;
    }
  },
);

test("killed before the landing was written, and done again since: it still counts", async () => {
  const { world, sent } = await conflicting();
  await sendBack(world.store, world.landing("a"), sent, 2);
  writeLanding(world.store.folder, world.landing("a")); // as it was before
  await world.work("a", { "file.txt": "one\nA2\nthree\n" });
  expect(await sendBack(world.store, world.landing("a"), sent, 2)).toMatchObject({ reworks: 2 });
});
