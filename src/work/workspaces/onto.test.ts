import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LandingWorld, useGit, userGit, write } from "../../../test/support/landing-world.ts";
import { commitWorkspace } from "./commit.ts";
import { unresolvedIn } from "./onto.ts";
import { readRecord, type WorktreeRecord, writeRecord } from "./record.ts";

const KEEP = "refs/viv/before/run/a/1";

function recordOf(world: LandingWorld, id = "a"): WorktreeRecord {
  const record = readRecord(world.store.workspaces, id);
  if (record?.kind !== "worktree") throw new Error(`${id} has no worktree`);
  return record;
}

function note(world: LandingWorld, tip: string): void {
  const onto = { step: "noted", tip, keep: KEEP } as const;
  writeRecord(world.store.workspaces, "a", { ...recordOf(world), onto });
}

/** `a` has changed the second line, and so has main since. */
async function conflicting(): Promise<{ world: LandingWorld; tip: string; head: string }> {
  const world = await LandingWorld.make();
  await world.done("a", { "file.txt": "one\nA\nthree\n", "new.txt": "new\n" });
  const head = world.git("rev-parse", "viv/a@run");
  const tip = world.onMain({ "file.txt": "one\nMAIN\nthree\n", "other.txt": "other\n" });
  return { world, tip, head };
}

const MERGED = /^one\n<{7} .*\nMAIN\n={7}\nA\n>{7} .*\nthree\n$/;

test("the worktree is on the tip, with its work and the conflict in its files", async () => {
  const { world, tip, head } = await conflicting();
  note(world, tip);
  const { path, base } = await world.open("a");
  expect(base).toBe(tip);
  expect(world.git("rev-parse", "viv/a@run")).toBe(tip);
  expect(world.git("rev-parse", KEEP), "the old tip is kept").toBe(head);
  expect(world.read("a")).toMatch(MERGED);
  expect([world.read("a", "new.txt"), world.read("a", "other.txt")]).toEqual(["new\n", "other\n"]);
  expect(recordOf(world)).toMatchObject({ base: tip, conflicts: ["file.txt"] });
  expect(recordOf(world).onto).toBeUndefined();
  expect(await unresolvedIn(path)).toEqual(["file.txt"]);
  // A handler that commits the markers has not resolved them.
  userGit(path, "commit", "--quiet", "-am", "all of it");
  expect(await unresolvedIn(path)).toEqual(["file.txt"]);
  write(join(path, "file.txt"), "one\nboth\nthree\n");
  expect(await unresolvedIn(path)).toEqual([]);
  await commitWorkspace(path, "resolved");
  expect(world.git("diff", "--name-only", tip, "viv/a@run").split("\n")).toEqual([
    "file.txt",
    "new.txt",
  ]);
});

test("work that nobody committed is in the merge, and kept", async () => {
  const { world, tip, head } = await conflicting();
  const path = join(world.store.workspaces, "a");
  write(join(path, "late.txt"), "late\n");
  write(join(path, "ignored"), "mine\n");
  rmSync(join(path, "new.txt"));
  note(world, tip);
  await world.open("a");
  expect(world.read("a", "late.txt")).toBe("late\n");
  expect(world.read("a", "ignored")).toBe("mine\n");
  expect(existsSync(join(path, "new.txt"))).toBe(false);
  expect(world.git("show", `${KEEP}:late.txt`)).toBe("late");
  expect(world.git("rev-parse", `${KEEP}~1`)).toBe(head);
});

test("the queue's own merge is used when nothing has changed since", async () => {
  const { world, tip, head } = await conflicting();
  const tree = world.git("rev-parse", `${tip}^{tree}`); // another one than git would make
  const merged = { from: head, tree, files: ["x"] };
  const onto = { step: "noted", tip, keep: KEEP, merged } as const;
  writeRecord(world.store.workspaces, "a", { ...recordOf(world), onto });
  await world.open("a");
  expect(world.read("a")).toBe("one\nMAIN\nthree\n");
  expect(recordOf(world).conflicts).toEqual(["x"]);
});

test("a workspace that was removed is made again, then brought there", async () => {
  const { world, tip } = await conflicting();
  note(world, tip);
  rmSync(join(world.store.workspaces, "a"), { recursive: true });
  expect((await world.open("a")).base).toBe(tip);
  expect(world.read("a")).toMatch(MERGED);
});

test("a merge that a person began there is not run over", async () => {
  const { world, tip } = await conflicting();
  const path = join(world.store.workspaces, "a");
  expect(() => userGit(path, "merge", "main")).toThrow();
  const before = readFileSync(join(path, "file.txt"), "utf8");
  note(world, tip);
  await expect(world.open("a")).rejects.toThrow("a merge is unfinished in");
  expect(world.read("a")).toBe(before);
  userGit(path, "merge", "--abort");
  userGit(path, "switch", "--quiet", "--detach");
  await expect(world.open("a")).rejects.toThrow("a detached HEAD instead of its branch viv/a@run");
});

test("a text about conflicts has its markers in its own right", async () => {
  const world = await LandingWorld.make();
  const text = "<<<<<<< ours\n=======\n>>>>>>> theirs\n";
  world.onMain({ "about.md": text });
  await world.done("a", { "about.md": `${text}more\n` });
  writeRecord(world.store.workspaces, "a", { ...recordOf(world), conflicts: ["about.md"] });
  expect(await unresolvedIn(join(world.store.workspaces, "a"))).toEqual([]);
});

test("with a git that cannot merge without a worktree, it stays as it is", async () => {
  const { world, tip, head } = await conflicting();
  useGit(world.folder, 'case " $* " in *" merge-tree "*) exit 129;; esac; exec "$git" "$@"');
  note(world, tip);
  await world.open("a");
  expect(world.git("rev-parse", "viv/a@run")).toBe(head);
  expect(world.read("a")).toBe("one\nA\nthree\n");
  expect(recordOf(world).onto).toBeUndefined();
});

test.each(["before any", "after a changing"])(
  "killed %s call of git: the next open goes on",
  async (when) => {
    for (let at = 1; ; at++) {
      const { world, tip, head } = await conflicting();
      write(join(world.store.workspaces, "a", "late.txt"), "late\n");
      note(world, tip);
      const calls = join(world.folder, "calls");
      mkdirSync(calls);
      const isAfter = when.startsWith("after");
      const run = isAfter ? '"$git" "$@"; ' : "";
      const others = isAfter ? '*) exec "$git" "$@";;' : "";
      // Dead from the call numbered `at` on: what comes later has no effect.
      const revive = useGit(
        world.folder,
        `case " $* " in *" update-ref "*|*" read-tree "*) ;; ${others} esac
n=$(ls '${calls}' | wc -l); : > '${calls}/'$((n + 1))
if [ $n -eq ${at - 1} ]; then ${run}exit 77; elif [ $n -ge ${at} ]; then exit 77; fi
exec "$git" "$@"`,
      );
      const isOver = await world.open("a").then(
        () => true,
        () => false,
      );
      revive();
      await world.open("a");
      expect(world.git("rev-parse", "viv/a@run"), `call ${at}`).toBe(tip);
      expect(world.read("a")).toMatch(MERGED);
      expect(world.read("a", "late.txt")).toBe("late\n");
      expect(world.git("rev-parse", `${KEEP}~1`)).toBe(head);
      expect(recordOf(world)).toMatchObject({ base: tip, conflicts: ["file.txt"] });
      if (isOver) {
        expect(at, "there were calls to be killed at").toBeGreaterThan(isAfter ? 3 : 10);
        return;
      }
    }
  },
  180_000, // a real git a hundred times over, on a machine that may be busy
);

test("a file without room for markers lies there twice until one is chosen", async () => {
  const world = await LandingWorld.make();
  world.onMain({ "logo.bin": "\0first", thing: "a\nb\nc\n" });
  await world.done("a", { "logo.bin": "\0of a", thing: "a\nb\nc\nd\n" });
  const head = world.git("rev-parse", "viv/a@run");
  userGit(world.repository, "rm", "--quiet", "thing");
  const tip = world.onMain({ "logo.bin": "\0of main", "thing/inside": "x\n" });
  note(world, tip);
  const { path } = await world.open("a");
  const sides = [`logo.bin~${head}`, `thing~${head}`];
  expect(world.read("a", "logo.bin")).toBe("\0of main");
  expect(world.read("a", `logo.bin~${head}`)).toBe("\0of a");
  expect((await unresolvedIn(path)).toSorted()).toEqual(sides);
  for (const side of sides) rmSync(join(path, side));
  write(join(path, "logo.bin"), "\0of both");
  expect(await unresolvedIn(path)).toEqual([]);
  await commitWorkspace(path, "resolved");
  expect(world.git("diff", "--name-only", tip, "viv/a@run")).toBe("logo.bin");
});

test("a dependency's old work, which the tip does not have, does not come along", async () => {
  const world = await LandingWorld.make();
  await world.done("dep", { "wrong.txt": "wrong\n" });
  const { path } = await world.open("a");
  userGit(path, "reset", "--quiet", "--hard", "viv/dep@run");
  const base = world.git("rev-parse", "viv/dep@run");
  writeRecord(world.store.workspaces, "a", { ...recordOf(world), base });
  write(join(path, "mine.txt"), "mine\n");
  note(world, world.onMain({ "right.txt": "right\n" }));
  await world.open("a");
  expect(userGit(path, "status", "--short")).toBe("A  mine.txt");
});
