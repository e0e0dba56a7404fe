import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, onTestFinished } from "vitest";
import { until } from "../../../test/support/deadline.ts";
import { newFolder } from "../../../test/support/folders.ts";
import { clearIfDead, clearPlace, deadPlaces, newPlace, processesOf } from "./place.ts";

const { TMPDIR } = process.env;
beforeEach(() => {
  process.env.TMPDIR = newFolder();
});
afterEach(() => {
  if (TMPDIR === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = TMPDIR;
});

/** As a demo leaves it that was killed. */
function killed(): string {
  const folder = newPlace();
  const owner = JSON.parse(readFileSync(join(folder, "demo.json"), "utf8"));
  writeFileSync(
    join(folder, "demo.json"),
    JSON.stringify({ ...owner, pid: 4194300, started: "1" }),
  );
  return folder;
}

it("leaves the folder of a demo that runs, and folders that say nothing", async () => {
  const folder = newPlace();
  const other = join(process.env.TMPDIR ?? "", "viv-fleet-demo-mine");
  mkdirSync(other);
  expect(deadPlaces()).toEqual([]);
  expect(await clearIfDead(folder)).toBe(false);
  expect(await clearIfDead(other)).toBe(false);
  expect(await clearIfDead(process.env.TMPDIR ?? "")).toBe(false);
  expect(existsSync(folder) && existsSync(other)).toBe(true);
});

it("ends the processes of one that was killed, and removes its folder", async () => {
  const folder = killed();
  const env = { ...process.env, VIV_DEMO: folder };
  const script = "trap '' TERM; echo ready; while :; do sleep 0.05; done";
  const child = spawn("/bin/sh", ["-c", script], { env, stdio: ["ignore", "pipe", "ignore"] });
  const bystander = spawn("sleep", ["600"], { env: { ...env, VIV_DEMO: `${folder}x` } });
  onTestFinished(() => {
    child.kill("SIGKILL");
    bystander.kill("SIGKILL");
  });
  await once(child.stdout, "data");
  const gone = once(child, "exit");
  expect(processesOf(folder)).toContain(child.pid);
  expect(deadPlaces()).toEqual([folder]);
  expect(await clearPlace(folder, { askMs: 100, killMs: 4000 })).toBe(true);
  expect((await gone)[1]).toBe("SIGKILL");
  expect(existsSync(folder)).toBe(false);
  expect(bystander.signalCode).toBe(null);
  // Also where a person has removed the folder meanwhile.
  expect(await clearIfDead(`${folder}x`)).toBe(true);
  await until("it is gone", () => bystander.signalCode === "SIGTERM");
});
