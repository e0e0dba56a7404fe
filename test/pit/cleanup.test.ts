import { spawnSync } from "node:child_process";
import { appendFileSync, renameSync } from "node:fs";
import { expect, test } from "vitest";
import { until } from "../support/deadline.ts";
import { FakeHost } from "../support/machine.ts";
import { ended, Pit } from "./support.ts";

/** Cleanup duty: abandoned claims go back, logs are summed up and pruned. */

const MINUTE = 60_000;

/** A sweep at a time that the test sets. */
async function sweepAt(pit: Pit, host: FakeHost, ...flags: string[]) {
  const { status, stdout, stderr } = await pit.cli(["pit", "sweep", "--json", ...flags], {
    machine: host.process(),
  });
  expect([status, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout) as { reclaimed: { food: string; snake: string }[]; pruned: string[] };
}

async function handClaim(snake = "hand"): Promise<{ pit: Pit; host: FakeHost; id: string }> {
  const pit = await Pit.make();
  const id = await pit.toss("x");
  renameSync(pit.path(`food/${id}.md`), pit.path(`claimed/${snake}.${id}.md`));
  return { pit, host: new FakeHost(), id };
}

test("a claim of a silent snake goes back after half an hour, not before", async () => {
  const { pit, host, id } = await handClaim();
  host.advance(29 * MINUTE);
  expect((await sweepAt(pit, host)).reclaimed).toEqual([]);
  expect(pit.names("claimed")).toEqual([`hand.${id}.md`]);
  host.advance(2 * MINUTE);
  expect((await sweepAt(pit, host)).reclaimed).toEqual([
    { id, food: id, snake: "hand", to: "pending" },
  ]);
  expect(pit.names("food")).toEqual([`${id}.md`]);
  expect(await pit.findings()).toEqual([]);
});

test("--stale-after sets the time-out", async () => {
  const { pit, host } = await handClaim();
  host.advance(4 * MINUTE);
  expect((await sweepAt(pit, host, "--stale-after", "5m")).reclaimed).toEqual([]);
  host.advance(2 * MINUTE);
  expect((await sweepAt(pit, host, "--stale-after", "5m")).reclaimed).toHaveLength(1);
});

test("a snake that appends to its log keeps it", async () => {
  const { pit, host, id } = await handClaim("snake-2");
  host.advance(31 * MINUTE);
  const log = "waste/snake-2-20261115T134931.123Z.log";
  pit.write(log, "chewing\n");
  appendFileSync(pit.path(log), "still chewing\n");
  pit.age(log, (Date.now() - host.clock.now()) / 1000);
  expect((await sweepAt(pit, host)).reclaimed).toEqual([]);
  expect(pit.names("claimed")).toEqual([`snake-2.${id}.md`]);
  host.advance(31 * MINUTE);
  expect((await sweepAt(pit, host)).reclaimed).toHaveLength(1);
});

test("a snake that touches its claim keeps it", async () => {
  const { pit, id } = await handClaim();
  const claim = pit.path(`claimed/hand.${id}.md`);
  const claimedAt = Date.now();
  // Change times cannot be made up, so this takes as long as it takes to be past the limit.
  await until("past the limit", async () => {
    expect(spawnSync("touch", [claim]).status).toBe(0);
    expect((await pit.sweep("--stale-after", "2s")).reclaimed).toEqual([]);
    return Date.now() - claimedAt > 3_000;
  });
  await until("given back when it no longer does", async () => {
    return (await pit.sweep("--stale-after", "2s")).reclaimed.length === 1;
  });
});

test("the log of snake-22 is no sign of life of snake-2", async () => {
  const { pit, host } = await handClaim("snake-2");
  host.advance(31 * MINUTE);
  pit.write(
    "waste/snake-22-20261115T134931.123Z.log",
    "chewing\n",
    (Date.now() - host.clock.now()) / 1000,
  );
  expect((await sweepAt(pit, host)).reclaimed).toHaveLength(1);
});

// Known: a log counts by the beginning of its name (src/queue/fs/reap.ts, youngestLogAge).
test("the log of snake-2-b is no sign of life of snake-2", async () => {
  const { pit, host } = await handClaim("snake-2");
  host.advance(31 * MINUTE);
  const log = "waste/snake-2-b-20261115T134931.123Z.log";
  pit.write(log, "chewing\n", (Date.now() - host.clock.now()) / 1000);
  expect((await sweepAt(pit, host)).reclaimed).toHaveLength(1);
});

test("waste/: summed up, then pruned by age; what a scrap names stays, and what is being written", async () => {
  const pit = await Pit.make();
  for (const words of ["one", "two"]) await pit.toss(words);
  const handler = pit.script("h.sh", 'echo "Error: out of teeth"; exit 3');
  await ended(pit.work(handler, "--worker-id", "w", "--max-tasks", "2"));
  pit.write("viv.toml", "");
  const traces = pit.names("waste").filter((name) => name.endsWith(".log"));
  expect(traces).toHaveLength(2);
  const [old, named] = traces as [string, string];
  pit.write("waste/hand-20260101T000000.000Z.log", "Error: nothing left\n", 30 * 86_400);
  pit.write("waste/picture.png", "x", 30 * 86_400);
  for (const name of traces) pit.age(`waste/${name}`, 30 * 86_400);
  pit.write("scraps/notes/deep.md", `see waste/${named}\n`);
  pit.write("scraps/blob.bin", Buffer.from([0, 255, 10, 13]));
  const first = await pit.sweep();
  expect(first.pruned.sort()).toEqual(["hand-20260101T000000.000Z.log", old].sort());
  expect(pit.names("waste")).toEqual(["SUMMARY.md", "picture.png", named].sort());
  const summary = pit.read("waste/SUMMARY.md");
  expect(summary).toMatch(/\bw\b/);
  expect(summary).toMatch(/hand/);
  expect(summary).toContain("out of teeth");
  // What was pruned is still counted, once.
  await pit.sweep();
  expect(counts(pit.read("waste/SUMMARY.md"))).toEqual(counts(summary));
  expect(await pit.sweep("--keep-logs", "60d")).toMatchObject({ pruned: [] });
  expect(pit.has(`waste/${named}`)).toBe(true);
});

test("a choke note keeps its logs, however old", async () => {
  const pit = await Pit.make();
  pit.write(
    "viv.toml",
    `run = "."\n[handlers.default]\nhandler = "${pit.script("h.sh", "echo no; exit 3")}"\nbackoff = "1ms"\n`,
  );
  await pit.toss("x");
  await ended(pit.viv("work", "--worker-id", "w", "--max-tasks", "3", "--poll-interval", "0.1"));
  const logs = pit.names("waste").filter((name) => name.endsWith(".log"));
  expect(logs).toHaveLength(3);
  for (const name of logs) pit.age(`waste/${name}`, 30 * 86_400);
  expect(await pit.sweep()).toMatchObject({ pruned: [] });
  expect(pit.names("waste")).toEqual(["SUMMARY.md", ...logs].sort());
});

/** The table without the time that it was written. */
function counts(summary: string): string[] {
  return summary.split("\n").filter((line) => line.startsWith("|") || line.startsWith("-"));
}
