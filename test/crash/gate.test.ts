import { appendFileSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import type { MachineGate } from "../../src/gate/machine-gate.ts";
import { gateHere } from "../../src/main.ts";
import { until, within } from "../support/deadline.ts";
import { newFolder } from "../support/folders.ts";
import { Script } from "../support/processes.ts";
import { chooseSeed, seeded } from "../support/random.ts";

/** The machine's gate between real processes, which are killed. */

let state: string;
let log: string;
let gate: MachineGate;

beforeEach(async () => {
  state = newFolder();
  log = join(state, "log");
  appendFileSync(log, "");
  gate = (await gateHere({ VIV_STATE: state }, "/")).machine;
});

const start = (name: string, times: number, ...more: string[]) =>
  new Script("gate-user.mjs", [state, name, times, log, ...more]);
const lines = () => readFileSync(log, "utf8").trim().split("\n");
const tickets = () => readdirSync(join(state, "gate/tickets"));

/** The most that were in at a time, as they wrote it down themselves. */
function most(): number {
  const inside = new Set<string>();
  let most = 0;
  for (const line of lines()) {
    const [what, , pid = ""] = line.split(" ");
    if (what === "begin") {
      expect(inside.has(pid)).toBe(false);
      inside.add(pid);
    } else inside.delete(pid);
    most = Math.max(most, inside.size);
  }
  expect(inside.size).toBe(0);
  return most;
}

/** Noted while it can do nothing more, and before anybody else can know: then killed. */
async function kill(victim: Script): Promise<void> {
  const stateOf = () => {
    const path = `/proc/${victim.pid}/stat`;
    return existsSync(path) ? readFileSync(path, "utf8").replace(/.*\) /, "")[0] : "X";
  };
  victim.signal("SIGSTOP");
  await until("it is stopped", () => "TXZ".includes(stateOf() ?? "X"));
  appendFileSync(log, `killed ? ${victim.pid}\n`);
  victim.signal("SIGKILL");
  await within("it is dead", victim.ended);
}

test("8 processes, 50 times each: never more than the maximum, and none is left out", {
  timeout: 120_000,
}, async () => {
  await gate.setMax(3);
  const users = Array.from({ length: 8 }, (_, n) => start(`p${n}`, 50));
  await Promise.all(users.map((user) => user.success(100)));
  expect(most()).toBeLessThanOrEqual(3);
  expect(lines()).toHaveLength(2 * 8 * 50);
  expect(tickets()).toEqual([]);
});

test("kill -9 of holders and waiters: their places come back, and never too many are in", {
  timeout: 120_000,
}, async () => {
  const random = seeded(chooseSeed("gate"));
  await gate.setMax(2);
  const victims = Array.from({ length: 6 }, (_, n) => start(`victim${n}`, 10_000));
  const users = Array.from({ length: 2 }, (_, n) => start(`user${n}`, 40));
  await Promise.all(victims.map((one) => one.says("it was in", (line) => "in" in line)));
  while (victims.length > 0) {
    const count = lines().length;
    await until("things go on", () => lines().length > count + 10 * random());
    await kill(victims.splice(Math.floor(random() * victims.length), 1)[0] as Script);
  }
  await Promise.all(users.map((user) => user.success(100)));
  expect(most()).toBeLessThanOrEqual(2);
  expect(gate.view()).toMatchObject({ holders: [], queue: [] });
  (await gate.acquire({ name: "last" }))();
  expect(tickets()).toEqual([]);
});

test("first come, first served between processes, also over the dead", async () => {
  await gate.setMax(1);
  const holder = start("holder", 1, "hold");
  await holder.says("it is in", (line) => "in" in line);
  const users: Script[] = [];
  const names = ["a", "b", "c", "d", "e"];
  for (const name of names) {
    users.push(start(name, 1));
    await until(`${name} waits`, () => gate.view().queue.at(-1)?.name === name);
  }
  const ours = gate.acquire({ name: "ours", priority: "low" });
  await until("we wait", () => gate.view().queue.at(-1)?.name === "ours");
  await kill(users[1] as Script);
  expect(gate.view()).toMatchObject({
    holders: [{ name: "holder", pid: holder.pid }],
    queue: [{ name: "a" }, { name: "c" }, { name: "d" }, { name: "e" }, { name: "ours" }],
  });
  await kill(holder);
  (await within("we are in", ours))();
  const begun = lines().filter((line) => line.startsWith("begin"));
  expect(begun.map((line) => line.split(" ")[1])).toEqual(["holder", "a", "c", "d", "e"]);
  expect(tickets()).toEqual([]);
});
