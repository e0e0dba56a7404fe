import { readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { until } from "../../test/support/deadline.ts";
import { commitAll, LandingWorld, userGit, write } from "../../test/support/landing-world.ts";
import { tryFileLock } from "../platform/files/file-lock.ts";
import { readRecord } from "../work/workspaces/record.ts";
import { continueLanding } from "./continue.ts";
import { readLanding, writeLanding } from "./landing.ts";

/** `a` is done and waits for a person: its second line is also changed on main. */
async function waiting(): Promise<{ world: LandingWorld; path: string; tip: string }> {
  const world = await LandingWorld.make();
  await world.done("a", { "file.txt": "one\nA\nthree\n" });
  const tip = world.onMain({ "file.txt": "one\nMAIN\nthree\n" });
  const state = "needs_you" as const;
  const more = { state, files: ["file.txt"], reworks: 2, reason: "conflict" };
  writeLanding(world.store.folder, world.landing("a", more));
  return { world, path: join(world.store.workspaces, "a"), tip };
}

function mergeMain(path: string): void {
  expect(() => userGit(path, "merge", "main")).toThrow();
}

async function refusal(world: LandingWorld): Promise<string> {
  const before = readLanding(world.store.folder, "a");
  const error = await continueLanding(world.store, "a").then(
    () => new Error("it was not refused"),
    (caught: unknown) => caught as Error,
  );
  expect(error, error.message).toMatchObject({ code: "WRONG_STATE" });
  expect(readLanding(world.store.folder, "a"), "nothing has changed").toEqual(before);
  return error.message;
}

test("resolved in a merge: committed with both parents, and queued again", async () => {
  const { world, path, tip } = await waiting();
  const head = world.git("rev-parse", "viv/a@run");
  mergeMain(path);
  expect(await refusal(world)).toContain("not resolved in");
  write(join(path, "file.txt"), "one\n<<<<<<< ours\nA\n=======\nthree\n");
  userGit(path, "add", "file.txt");
  expect(await refusal(world)).toContain("conflicts are left in file.txt");
  write(join(path, "file.txt"), "one\nboth\nthree\n");
  write(join(path, "beside.txt"), "new\n");
  const landing = await continueLanding(world.store, "a");
  expect(landing).toMatchObject({ state: "queued", base: tip, reworks: 2 });
  expect(landing).toEqual(readLanding(world.store.folder, "a"));
  expect([landing.reason, landing.files, landing.command]).toEqual([
    ...[undefined, undefined, undefined],
  ]);
  expect(world.git("rev-parse", "viv/a@run")).toBe(landing.head);
  expect(world.git("show", "viv/a@run:file.txt")).toBe("one\nboth\nthree");
  expect(world.git("show", "viv/a@run:beside.txt")).toBe("new");
  const parents = world.git("rev-list", "--parents", "viv/a@run");
  expect(parents).toContain(head);
  expect(parents).toContain(tip);
  expect(userGit(path, "status", "--porcelain")).toBe("");
  expect(readRecord(world.store.workspaces, "a")).toMatchObject({ base: tip });
});

test.each([
  [
    "merged and committed",
    (path: string) => {
      mergeMain(path);
      write(join(path, "file.txt"), "one\nboth\nthree\n");
      commitAll(path, "merged by hand");
    },
  ],
  [
    "rebased",
    (path: string) => {
      expect(() => userGit(path, "rebase", "main")).toThrow();
      write(join(path, "file.txt"), "one\nboth\nthree\n");
      userGit(path, "add", "-A");
      userGit(path, "-c", "core.editor=true", "rebase", "--continue");
    },
  ],
  [
    "reset onto the target, with the work not committed",
    (path: string) => {
      userGit(path, "reset", "--quiet", "--hard", "main");
      write(join(path, "file.txt"), "one\nboth\nthree\n");
    },
  ],
])("%s by hand", async (_, resolve) => {
  const { world, path, tip } = await waiting();
  resolve(path);
  const landing = await continueLanding(world.store, "a");
  expect(landing).toMatchObject({ state: "queued", base: tip });
  expect(world.git("show", `${landing.head}:file.txt`)).toBe("one\nboth\nthree");
  expect(world.git("rev-parse", "viv/a@run")).toBe(landing.head);
});

test("a rebase that is not over is refused, and so is another branch", async () => {
  const { world, path } = await waiting();
  expect(() => userGit(path, "rebase", "main")).toThrow();
  write(join(path, "file.txt"), "one\nboth\nthree\n");
  userGit(path, "add", "-A");
  expect(await refusal(world)).toContain(`git -C ${path} rebase --continue`);
  userGit(path, "rebase", "--abort");
  userGit(path, "switch", "--quiet", "--create", "mine");
  await expect(continueLanding(world.store, "a")).rejects.toThrow(
    "instead of its branch viv/a@run",
  );
});

test("without its worktree, the branch is taken as it is", async () => {
  const { world, path } = await waiting();
  world.git("worktree", "remove", "--force", path);
  rmSync(join(world.store.workspaces, ".a.json"));
  world.git("switch", "--quiet", "viv/a@run");
  mergeMain(world.repository);
  write(join(world.repository, "file.txt"), "one\nboth\nthree\n");
  const head = commitAll(world.repository, "resolved");
  expect(await continueLanding(world.store, "a")).toMatchObject({ state: "queued", head });
});

test("refused in words: no such task, no landing, landed, sent back, at work", async () => {
  const { world } = await waiting();
  const { store } = world;
  await expect(continueLanding(store, "b")).rejects.toMatchObject({ code: "TASK_NOT_FOUND" });
  await store.enqueue({ id: "b", type: "t" });
  await expect(continueLanding(store, "b")).rejects.toThrow("queue it with: viv merge b");
  writeLanding(store.folder, world.landing("a", { state: "landed", to: "0123456789abcdef" }));
  expect(await refusal(world)).toBe("a has landed in main (0123456789) already.");
  writeLanding(store.folder, world.landing("a", { state: "proving" }));
  expect(await refusal(world)).toContain("the queue works on a now");
  writeLanding(store.folder, world.landing("a", { state: "reworked" }));
  await store.rework("a");
  expect(await refusal(world)).toContain("a was sent back and is pending");
});

test("a task that went back and failed for good: the person's resolution makes it done, and says who", async () => {
  const { world, path } = await waiting();
  const { store } = world;
  await store.rework("a", { by: "merge" });
  writeLanding(store.folder, world.landing("a", { state: "reworked", reworks: 1 }));
  const { token } = await world.claim("a");
  await store.fail({ id: "a", worker: "w", token }, { final: true });
  mergeMain(path);
  expect(await refusal(world)).toContain("not resolved in");
  expect((await store.show("a"))?.state, "a refusal changes nothing").toBe("failed");
  write(join(path, "file.txt"), "one\nboth\nthree\n");
  userGit(path, "add", "file.txt");
  const signal = new AbortController().signal;
  expect(await continueLanding(store, "a", { signal, by: "ann" })).toMatchObject({
    ...{ state: "queued", reworks: 1 },
  });
  expect(await store.show("a")).toMatchObject({
    state: "done",
    history: [{}, { by: "merge" }, { outcome: "failed" }, { retried: true, by: "ann" }],
  });
  await store.rework("a");
  await store.cancel("a");
  expect(await refusal(world)).toBe(
    "a was sent back and is cancelled; requeue it with: viv retry a.",
  );
});

test("what the queue does at the same time comes first", async () => {
  const { world, path } = await waiting();
  write(join(path, "file.txt"), "one\nMAIN\nthree\nA\n");
  const lockFile = join(world.repository, ".git/viv-merge.lock");
  const lock = await tryFileLock(lockFile);
  const continued = continueLanding(world.store, "a").catch((error: Error) => error.message);
  const waiter = new RegExp(`-> FLOCK .*:${statSync(lockFile).ino} `);
  await until("it waits for the lock", () => waiter.test(readFileSync("/proc/locks", "utf8")));
  const landed = { state: "landed" as const, to: "0123456789abcdef" };
  writeLanding(world.store.folder, world.landing("a", landed));
  lock?.release();
  expect(await continued).toBe("a has landed in main (0123456789) already.");
  expect(readLanding(world.store.folder, "a")).toMatchObject(landed);
});
