import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { newFolder } from "../support/folders.ts";
import { FakeHost } from "../support/machine.ts";
import { contents, snapshot } from "../support/run-files.ts";
import { cli, ok, type Surroundings, shell } from "./support.ts";

/** `viv doctor`: exit 1 when something is wrong, 0 when it is not or was repaired. */

let run: string;
let host: FakeHost;
let around: Surroundings;

beforeEach(async () => {
  run = join(newFolder(), "run");
  host = new FakeHost();
  around = { cwd: join(run, ".."), env: { VIV_RUN: run }, machine: host.process() };
  await say("enqueue", "--type", "job", "--id", "t.1");
  await say("enqueue", "--type", "job", "--id", "t.2", "--depends-on", "t.1");
});

const say = (...args: string[]) => ok(args, around);

interface Report {
  healthy: boolean;
  findings: { code: string; path: string; message: string; repair: string; fixed: boolean }[];
}

async function doctor(...args: string[]): Promise<Report & { status: number }> {
  const said = await cli(["doctor", "--json", ...args], around);
  expect(said.stderr).toBe("");
  return { status: said.status, ...(JSON.parse(said.stdout) as Report) };
}

/** An old file: a young one may still be in the making. */
function old(path: string, text: string): void {
  writeFileSync(join(run, path), text);
  utimesSync(join(run, path), 0, 0);
}

const DAMAGES: [code: string, path: string, damage: () => Promise<void> | void][] = [
  ["unreadable", "pending/broken.json", () => old("pending/broken.json", '{"task_id":')],
  ["unreadable", "failed/other.json", () => old("failed/other.json", '{"task_id":"x"}')],
  ["foreign_file", "pending/notes.txt", () => old("pending/notes.txt", "remember the milk")],
  ["foreign_file", "claimed/stray", () => old("claimed/stray", "")],
  [
    "two_states",
    "pending/t.1.json",
    async () => {
      await say("claim", "--worker", "w1");
      await say("complete", "t.1", "--worker", "w1");
      copyFileSync(join(run, "done/t.1.json"), join(run, "pending/t.1.json"));
    },
  ],
  [
    "claim_without_worker",
    "claimed/w1/t.1.json",
    async () => {
      await say("claim", "--worker", "w1");
      host.advance(3_600_000);
    },
  ],
  [
    "status_drift",
    "status.json",
    () => {
      const path = join(run, "status.json");
      const status = JSON.parse(readFileSync(path, "utf8"));
      status.checkpoint.completed_tasks = ["t.1"];
      writeFileSync(path, JSON.stringify(status));
    },
  ],
  ["unreadable", "status.json", () => writeFileSync(join(run, "status.json"), "{")],
];

describe.each(DAMAGES)("%s of %s", (code, path, damage) => {
  it("is found with exit 1, changes nothing, and --fix repairs it with exit 0", async () => {
    await damage();
    const work = contents(run);
    const before = snapshot(run);

    const found = await doctor();
    expect(found).toMatchObject({ status: 1, healthy: false });
    expect(found.findings).toContainEqual(
      expect.objectContaining({ code, path, fixed: false, repair: expect.stringMatching(/./) }),
    );
    expect(snapshot(run)).toEqual(before);

    const human = await cli(["doctor"], around);
    expect(human).toMatchObject({ status: 1, stderr: "" });
    expect(human.stdout).toContain(`found  ${code}  ${path}\n`);
    expect(human.stdout).toContain("--fix would: ");

    const fixed = await doctor("--fix");
    expect(fixed).toMatchObject({ status: 0, healthy: true });
    expect(fixed.findings).toContainEqual(expect.objectContaining({ code, path, fixed: true }));

    expect(await doctor()).toMatchObject({ status: 0, healthy: true, findings: [] });
    expect(await say("doctor")).toMatch(/^healthy\n/);
    for (const text of work) expect(contents(run)).toContain(text);
  });
});

it("what --fix moved aside has its reason beside it, and show says it", async () => {
  old("pending/broken.json", "{");
  expect((await cli(["doctor", "--fix"], around)).stdout).toMatch(/^fixed {2}unreadable/);
  expect(readdirSync(join(run, "quarantine")).sort()).toEqual([
    "broken.json",
    "broken.json.reason",
  ]);
  expect(await say("show", "broken")).toContain("not JSON");
  expect(await say("ls")).toContain("quarantined 1");
});

it("indexes that were deleted are rebuilt", async () => {
  rmSync(join(run, ".viv"), { recursive: true });
  mkdirSync(join(run, ".viv"));
  expect(await doctor()).toMatchObject({ status: 1 });
  expect(await doctor("--fix")).toMatchObject({ status: 0, healthy: true });
  expect(await doctor()).toMatchObject({ status: 0, findings: [] });
  await say("claim", "--worker", "w1");
  expect(await say("complete", "t.1", "--worker", "w1")).toBe("t.1: claimed → done\n");
  expect(JSON.parse(await say("claim", "--worker", "w1", "--json")).task_id).toBe("t.2");
});

it("a torn line of the ledger does not make a run sick for ever", async () => {
  const [file = ""] = readdirSync(join(run, "ledger"));
  writeFileSync(join(run, "ledger", file), '{"torn\n', { flag: "a" });
  await cli(["doctor", "--fix"], around);
  expect(await doctor()).toMatchObject({ status: 0 });
});

it("is what a script sees", () => {
  old("pending/broken.json", "{");
  const { stdout } = shell(
    "viv doctor >/dev/null; echo $?; viv doctor --fix >/dev/null; echo $?; viv doctor >/dev/null; echo $?",
    { env: { VIV_RUN: run } },
  );
  expect(stdout).toBe("1\n0\n0\n");
});
