import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { newFolder } from "../support/folders.ts";
import { FakeHost } from "../support/machine.ts";
import { seedDance, writeSeedPool } from "../warden/seed-files.ts";
import { cli } from "./support.ts";

/** The seed's commands, on the seed's pool directory. */
function seedPool(env: Record<string, string> = {}) {
  const home = newFolder();
  const host = new FakeHost();
  const folder = join(home, "gt/deacon/dogs");
  writeSeedPool(folder, Math.floor(host.clock.now() / 1000) * 1000);
  const type = async (line: string) => {
    const { status, stdout, stderr } = await cli(
      [...line.split(" "), "--state", "~/gt/deacon/dogs"],
      {
        cwd: home,
        env: { HOME: home, VIV_STATE: join(home, "state"), USER: "pia", ...env },
        machine: host.process(),
      },
    );
    return { status, text: stdout + stderr };
  };
  return { folder, type };
}

it("shows the pool, its dances and its queue in the seed's words", async () => {
  const { folder, type } = seedPool();
  expect((await type("dog pool status")).text.split("\n")).toEqual([
    "Dog Pool: 2/5 active, 2 waiting",
    "  dog-123: interrogating Toast (attempt 2, 45s remaining)",
    "  dog-456: executing Shadow",
    ...["  dog-3: idle", "  dog-4: idle", "  dog-5: idle"],
    `no warden is up here; start one: viv warden up --state-dir ${folder}`,
    "",
  ]);
  expect((await type("dog dances")).text.split("\n")).toEqual([
    "Active Shutdown Dances:",
    "  dog-123 → Toast: Interrogating (2/3), timeout in 45s",
    "  dog-456 → Shadow: Executing warrant",
    "",
  ]);
  expect((await type("dog status --active")).text).toBe(
    "dog-123: interrogating Toast (attempt 2, 45s remaining)\ndog-456: executing Shadow\n",
  );
  expect((await type("dog warrants")).text.split("\n")).toEqual([
    "Pending Warrants: 2",
    expect.stringMatching(
      /^ {2}1\. gt-abc: witness-gastown \(stuck_no_progress\) {2}by deacon, for/,
    ),
    expect.stringMatching(/^ {2}2\. gt-def: polecat-Copper \(crash_loop\) /),
    "",
  ]);
});

it("gives no idle dog the name of a busy one", async () => {
  const { folder, type } = seedPool({ GT_DOG_POOL_SIZE: "4" });
  const third = seedDance("dog-4", "Slate", "evaluating", 0);
  writeFileSync(join(folder, "active/dog-4.json"), JSON.stringify(third));
  const names = (await type("dog status")).text.trim().split("\n");
  expect(names.map((line) => line.split(":")[0]).sort()).toEqual([
    ...["dog-123", "dog-4", "dog-456", "dog-5"],
  ]);
});

it("assigns and releases by hand, by the warrant's id or the name of its file", async () => {
  const { folder, type } = seedPool();
  const { text } = await type("dog pool allocate warrant-abc");
  expect(text).toMatch(/^dog-\d{13} takes gt-abc \(witness-gastown\)\n/);
  expect(text).toContain(`viv warden up --state-dir ${folder}`);
  expect(readdirSync(join(folder, "warrants"))).toEqual(["warrant-def.json"]);
  expect((await type("warrant show warrant-def.json")).text).toMatch(/^gt-def {2}queued/);
  expect((await type("dog pool allocate gt-def")).text).toContain("takes gt-def");
  expect((await type("dog warrants")).text).toBe("Pending Warrants: 0\n");
  expect((await type("dog pool release dog-123")).text).toContain("give gt-toast back (Toast)");
});

it("names this pool's folder in every command that it suggests", async () => {
  const { folder, type } = seedPool();
  await type("warden pause");
  for (const line of ["dog pool status", "dog dances", "warden status"]) {
    expect((await type(line)).text).toContain(`to go on: viv warden resume --state-dir ${folder}`);
  }
  expect((await type("dog pool allocate gt-abc")).text).toContain(`resume --state-dir ${folder}`);
  expect((await type("dog pool release x")).text).toContain(`pool status --state-dir ${folder}`);
  expect((await type("warrant show x")).text).toContain(`warrant ls --state-dir ${folder}`);
});

it("refuses a warrant while all dogs are busy", async () => {
  const { type } = seedPool({ GT_DOG_POOL_SIZE: "2" });
  const refused = await type("dog pool allocate gt-abc");
  expect(refused).toMatchObject({ status: 4 });
  expect(refused.text).toContain("gt-abc: pool exhausted, no free dog (pool of 2)");
});

it("shows records that the seed has left in completed/", async () => {
  const { type } = seedPool();
  for (const name of ["gt-copper", "dog-789"]) {
    const { status, text } = await type(`warrant show ${name}`);
    expect(status).toBe(0);
    expect(text).toMatch(/^gt-copper {2}over\n/);
    expect(text).toContain("complete, by a pool before this one\n");
  }
  const { text } = await type("warrant show gt-slate");
  expect(text).toContain("executed, by a pool before this one: no ALIVE after 3 attempts\n");
  expect((await type("epitaph gt-slate")).text).toContain("dog-790 ended it for a pool before");
  expect((await type("warrant withdraw gt-slate")).text).toContain("it is executed");
});

it("leaves the files of Boot alone", async () => {
  const { folder, type } = seedPool();
  await type("dog pool allocate gt-abc");
  expect(readFileSync(join(folder, "boot/CLAUDE.md"), "utf8")).toBe("# Boot\n");
  expect(existsSync(join(folder, "boot/.boot-status.json"))).toBe(true);
});
