import { spawnSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { Running, viv } from "../cli/support.ts";
import { until } from "../support/deadline.ts";
import { newFolder } from "../support/folders.ts";
import { cannotMount, mountTmpfs } from "../support/mounts.ts";
import { snapshot } from "../support/run-files.ts";
import { ended, Pit } from "./support.ts";

/** chmod does not stop root. Why nothing else does here either, or null. */
const cannotFreeze = tryToFreeze();

function tryToFreeze(): string | null {
  const folder = mkdtempSync(join(tmpdir(), "viv-frozen-"));
  const { status, stderr, error } = spawnSync("chattr", ["+i", folder], { encoding: "utf8" });
  if (status === 0) spawnSync("chattr", ["-i", folder]);
  rmSync(folder, { recursive: true, force: true });
  if (status === 0) return null;
  console.log(`skipping what needs chattr +i: ${error?.message ?? stderr.trim()}`);
  return "chattr failed";
}

function freeze(folder: string): () => void {
  const thaw = () => void spawnSync("chattr", ["-i", folder]);
  onTestFinished(thaw);
  expect(spawnSync("chattr", ["+i", folder]).status).toBe(0);
  return thaw;
}

/** Whatever lies in a pit: clear words, nothing lost, and the rest goes on. */

const EATS = 'echo "$VIV_TASK_ID" >> "$H/ate"';

/** A good food is eaten beside whatever else is there. */
async function restGoesOn(pit: Pit, ...flags: string[]): Promise<void> {
  const id = await pit.toss("good", "--priority", "high");
  const mode = flags.length > 0 ? flags : ["--drain"];
  const worker = pit.work(pit.script("h.sh", EATS), ...mode);
  expect(await ended(worker)).toBe(0);
  expect(pit.has(`done/${id}.md`)).toBe(true);
}

describe("in food/", () => {
  test("food without a task: quarantined with the reason when it is old, left alone while young", async () => {
    const pit = await Pit.make();
    pit.food("food-0001-empty", "");
    pit.food("food-0002-head", "# food-0002-head\n");
    pit.food("food-0003-fields", "- **tossed-by:** me\n- **done-when:** `true`\n");
    pit.write("food/food-0004-young.md", "", -60); // however slow this machine is
    await pit.sweep();
    const bad = ["food-0001-empty.md", "food-0002-head.md", "food-0003-fields.md"];
    expect(pit.names("record/quarantine").filter((name) => !name.endsWith(".reason"))).toEqual(bad);
    for (const name of bad) expect(pit.read(`record/quarantine/${name}.reason`)).toContain("task");
    expect(pit.names("food")).toEqual(["food-0004-young.md"]);
    rmSync(pit.path("food/food-0004-young.md"));
    await restGoesOn(pit);
    const { quarantined } = await pit.json<{ quarantined: { from: string; reason: string }[] }>(
      "pit",
      "status",
    );
    expect(quarantined.map(({ from }) => from).sort()).toEqual(bad.map((name) => `food/${name}`));
  });

  test("two foods with one number are two foods, and doctor says so", async () => {
    const pit = await Pit.make();
    pit.food("food-0007-a");
    pit.food("food-7-b");
    await pit.sweep();
    expect(await pit.json("pit", "status")).toMatchObject({
      same_number: [{ number: 7, foods: ["food-0007-a", "food-7-b"] }],
    });
    expect((await pit.cli(["doctor"])).stdout).toMatch(/food-0007-a, food-7-b[\s\S]*number 7/);
    expect(await ended(pit.work(pit.script("h.sh", EATS), "--drain"))).toBe(0);
    expect(pit.lines("ate").sort()).toEqual(["food-0007-a", "food-7-b"]);
  });

  test("one food in two places: doctor keeps the one further on", async () => {
    const pit = await Pit.make();
    const id = await pit.toss("x");
    pit.write(`resting/stuck/${id}.md`, pit.read(`food/${id}.md`));
    expect(await pit.findings()).toEqual([expect.stringContaining("two_states")]);
    await pit.ok("doctor", "--fix");
    expect(pit.names("food")).toEqual([`${id}.md`]);
    expect(pit.names("record/quarantine")).toContain(`${id}.md`);
  });

  test("what is not food: pictures, folders, links, pipes, notes, hidden files", async () => {
    const pit = await Pit.make();
    const png = Buffer.from("89504e470d0a1a0a0000000d49484452000000ff0000", "hex");
    pit.write("food/picture.png", png, 60);
    pit.write("food/notes.txt", "hello", 60);
    pit.write("food/.swp", "x", 60);
    mkdirSync(pit.path("food/food-0003-folder.md"));
    pit.write("food/folder/inside.md", "- task: no\n");
    symlinkSync("/etc/passwd", pit.path("food/food-0004-link.md"));
    symlinkSync("nowhere", pit.path("food/dangling"));
    spawnSync("mkfifo", [pit.path("food/food-0005-pipe.md"), pit.path("food/pipe")]);
    for (const name of ["food-0003-folder.md", "folder"]) pit.age(`food/${name}`, 60);
    pit.age("food/food-0005-pipe.md", 60);
    pit.age("food/pipe", 60);
    await restGoesOn(pit);
    await pit.sweep();
    await pit.cli(["doctor", "--fix"]);
    expect(pit.lines("ate")).toEqual([expect.stringMatching(/-good$/)]);
    const aside = pit.names("record/quarantine").filter((name) => !name.endsWith(".reason"));
    for (const name of [
      "picture.png",
      "notes.txt",
      "food-0003-folder.md",
      "food-0004-link.md",
      "food-0005-pipe.md",
      "folder",
      "pipe",
    ]) {
      expect(aside).toContain(name);
      expect(pit.read(`record/quarantine/${name}.reason`)).toMatch(/"reason": "[^"]/);
    }
    expect(pit.names("food")).toEqual([".swp", "dangling"]);
    expect(await pit.findings()).toEqual([]);
  });

  // Known: adoption takes it for a task file with a wrong name (src/queue/fs/adopt.ts, examine).
  test("a README.md in food/ is no food, and stays", async () => {
    const pit = await Pit.make();
    pit.write("food/README.md", "how we write food here\n", 60);
    await restGoesOn(pit);
    await pit.sweep();
    expect(pit.names("food")).toEqual(["README.md"]);
  });

  test("names that mean something else: results and claims as food, long ones, with spaces", async () => {
    const pit = await Pit.make();
    for (const id of [
      "food-1-x.result",
      "food-1-x.unproven-2",
      "a.food-2-y",
      "x".repeat(240),
      "two words",
      "-rf",
    ]) {
      pit.food(id);
    }
    await pit.toss("good");
    expect(await ended(pit.work(pit.script("h.sh", EATS), "--max-tasks", "2"))).toBe(0);
    expect(pit.lines("ate").sort()).toEqual(["-rf", "food-0002-good"]);
    const { status } = await pit.cli(["doctor", "--fix"]);
    expect([0, 1]).toContain(status);
    expect(pit.names("record/quarantine")).toContain("two words.md");
    for (const id of ["food-1-x.result", "food-1-x.unproven-2", "a.food-2-y"]) {
      const places = ["food", "record/quarantine"].filter((folder) =>
        pit.has(`${folder}/${id}.md`),
      );
      expect(places, id).toHaveLength(1);
      expect(pit.names("done").some((name) => name === `${id}.md`)).toBe(false);
    }
  });
});

describe("names of snakes", () => {
  test("claims made by hand under such names do no harm, and are found", async () => {
    const pit = await Pit.make();
    const strange = [
      "..food-0001-a.md",
      "...food-0002-b.md",
      ".hidden.food-0003-c.md",
      "a.b.food-0004-d.md",
      "food-0005-e.md",
      "nodot.md",
      ".md",
      "snake..md",
      "x.",
      "a b.food-0006-f.md",
      `${"s".repeat(200)}.food-0007-g.md`,
      "photo.png",
    ];
    for (const name of strange) pit.write(`claimed/${name}`, "- task: x\n", 60);
    mkdirSync(pit.path("claimed/folder.food-0008-h.md"));
    symlinkSync("/etc/passwd", pit.path("claimed/link.food-0009-i.md"));
    spawnSync("mkfifo", [pit.path("claimed/pipe.food-0010-j.md")]);
    await pit.sweep();
    await restGoesOn(pit, "--max-tasks", "1");
    for (const command of [
      ["ls"],
      ["status"],
      ["pit", "status"],
      ["why", "food-0004-d"],
      ["reap"],
    ]) {
      expect(await pit.cli(command), command.join(" ")).toMatchObject({ status: 0, stderr: "" });
    }
    const { stdout } = await pit.cli(["doctor", "--fix"]);
    for (const name of ["photo.png", "folder.food-0008-h.md", "link.food-0009-i.md"]) {
      expect(stdout).toContain(name);
    }
    expect(await pit.findings("claim_without_worker")).toEqual([]);
    // Nothing is lost: each is where it was, in food/ again, or in quarantine.
    const all = Object.keys(snapshot(pit.dir)).join("\n");
    for (let n = 1; n <= 10; n++)
      expect(all).toMatch(
        new RegExp(`(food|claimed|quarantine)/.*food-00${String(n).padStart(2, "0")}-`),
      );
  });
});

describe("the pit itself", () => {
  test.each(["a file", "a link"])("food/ is %s", async (what) => {
    const pit = await Pit.make();
    renameSync(pit.path("food"), join(pit.home, "elsewhere"));
    if (what === "a file") writeFileSync(pit.path("food"), "x");
    else symlinkSync(join(pit.home, "elsewhere"), pit.path("food"));
    for (const command of [
      ["pit", "toss", "x"],
      ["pit", "status"],
      ["pit", "sweep"],
      ["doctor"],
      ["work", "--handler", "/bin/true", "--once"],
      ["ls"],
    ]) {
      const { status, stderr } = await pit.cli(command);
      expect([command[0], status]).toEqual([command[0], 5]);
      expect(stderr).toMatch(what === "a file" ? /food .*is a file/ : /food .*is a symbolic link/);
    }
  });

  test("a run is no pit, a pit is no run, and a folder of both is a run", async () => {
    const pit = await Pit.make();
    const run = join(newFolder(), "run");
    expect(viv(["enqueue", "--run", run, "--type", "t"]).status).toBe(0);
    expect(viv(["pit", "toss", run, "x"])).toMatchObject({
      status: 5,
      stderr: expect.stringContaining("run"),
    });
    expect(viv(["pit", "init", run])).toMatchObject({
      status: 5,
      stderr: expect.stringContaining("choose another folder"),
    });
    expect(viv(["pit", "init", pit.dir])).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("is there"),
    });
    expect(viv(["pit", "status", join(pit.home, "nowhere")]).status).toBe(3);
    expect(viv(["pit", "init", join(pit.dir, "README.md")]).status).toBe(5);
  });

  test.skipIf(cannotMount)("folders on two filesystems", async () => {
    const pit = await Pit.make();
    const id = await pit.toss("x");
    mountTmpfs(pit.path("done"), "size=1m");
    for (const command of [
      ["pit", "toss", "y"],
      ["work", "--handler", "/bin/true", "--once"],
      ["pit", "sweep"],
    ]) {
      const { status, stderr } = await pit.cli(command);
      expect([command[0], status, stderr]).toEqual([
        command[0],
        5,
        expect.stringMatching(/done lies on another filesystem/),
      ]);
    }
    expect(pit.names("food")).toEqual([`${id}.md`]);
  });

  test.skipIf(cannotFreeze).each(["done", "claimed", "waste", "record/artifacts"])(
    "%s is read-only while a worker works: told, nothing lost, and it goes on when it is not",
    async (folder) => {
      const pit = await Pit.make();
      const ids = [await pit.toss("a"), await pit.toss("b")];
      const handler = pit.script("h.sh", EATS);
      const thaw = freeze(pit.path(folder));
      for (const command of [["ls"], ["pit", "status"], ["why", ids[0] as string]]) {
        expect(await pit.cli(command), command.join(" ")).toMatchObject({ status: 0 });
      }
      const flags = ["--handler", handler, "--drain", "--poll-interval", "0.2"];
      const worker = new Running(["work", "--run", pit.dir, ...flags]);
      const said = () => `${worker.stdout}${worker.stderr}`;
      await until("it says what is wrong, or has done all", () =>
        /not permitted|permission|no hard links|2 done/.test(said()),
      );
      thaw();
      await worker.end();
      expect(await ended(pit.work(handler, "--drain"))).toBe(0);
      for (const id of ids) expect(await pit.stateOf(id), `${id}: ${said()}`).toBe("done");
      for (const id of ids) expect(pit.has(`done/${id}.result.md`)).toBe(true);
    },
  );

  test.skipIf(cannotMount)("all of it is read-only", async () => {
    const pit = await Pit.make();
    const id = await pit.toss("a");
    spawnSync("mount", ["--bind", pit.dir, pit.dir]);
    onTestFinished(() => void spawnSync("umount", ["-l", pit.dir]));
    expect(spawnSync("mount", ["-o", "remount,bind,ro", pit.dir]).status).toBe(0);
    for (const command of [
      ["pit", "toss", "x"],
      ["pit", "sweep"],
      ["claim", "--worker", "w"],
    ]) {
      const { status, stderr } = await pit.cli(command);
      expect([command, status, stderr]).toEqual([command, 5, expect.stringMatching(/read-only/)]);
    }
    for (const command of [["ls"], ["pit", "status"], ["why", id], ["status"], ["doctor"]]) {
      expect(await pit.cli(command), command.join(" ")).toMatchObject({ status: 0, stderr: "" });
    }
  });
});

test("a result for food that does not exist, and a pit without .viv, record or resting", async () => {
  const pit = await Pit.make();
  for (const folder of [".viv", "record", "resting", "scraps", "waste", "done"]) {
    rmSync(pit.path(folder), { recursive: true });
  }
  pit.food("food-0001-a");
  pit.result("food-0404-unknown");
  await restGoesOn(pit);
  expect(pit.names("done")).toEqual(
    expect.arrayContaining(["food-0001-a.md", "food-0404-unknown.result.md"]),
  );
  chmodSync(pit.path("done"), 0o700);
});
