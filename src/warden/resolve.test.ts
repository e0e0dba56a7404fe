import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { FakeHost } from "../../test/support/machine.ts";
import { wardenDirectory } from "../app/warden-directory.ts";
import type { AgentState } from "../fleet/up-files.ts";
import { upFilesIn } from "../fleet/up-files.ts";
import { openRun } from "../main.ts";
import { type Lookup, resolveTarget } from "./resolve.ts";

let folder: string;
let host: FakeHost;
let lookup: Lookup;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "viv-resolve-"));
  host = new FakeHost();
  const machine = host.process();
  lookup = {
    ...{ machine, directory: wardenDirectory(machine.clock) },
    openRun: (path) => openRun(path, { readOnly: true, machine }),
  };
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it("a worker is its registered process; without one it cannot be identified", async () => {
  const run = join(folder, "run");
  const machine = host.process();
  const store = await openRun(run, { create: true, machine });
  for (const id of ["a", "b"]) await store.enqueue({ id, type: "t" });
  await store.claim({ worker: "shell" });
  await store.register("w1");
  await store.claim({ worker: "w1" });
  const find = (name: string, home: string | null = run) =>
    resolveTarget(lookup, "worker", name, home);
  expect(await find("w1")).toEqual({
    is: "there",
    bound: { is: "process", ...machine.self(), claim: "" },
    watch: [join(run, "artifacts/b.log")],
  });
  expect(await find("shell")).toMatchObject({
    is: "unknown",
    why: expect.stringContaining("one-shot commands"),
  });
  expect(await find("w2")).toMatchObject({
    is: "gone",
    why: `there is no worker w2 in ${run}; did you mean w1?`,
  });
  expect(await find("w1", join(folder, "nowhere"))).toMatchObject({ is: "gone" });
  expect(await find("w1", null)).toMatchObject({ is: "unknown" });
  machine.die();
  expect(await find("w1")).toMatchObject({
    is: "gone",
    why: expect.stringContaining("worker w1 (pid"),
  });
});

it("an agent of viv up is its run, or its worker", async () => {
  mkdirSync(join(folder, ".viv"));
  const files = upFilesIn(folder);
  await files.take();
  const machine = host.process();
  const { pid, started, boot, host: name } = machine.self();
  const state: AgentState = {
    ...{ name: "planner", species: "", state: "working", pid, started, boot, host: name },
    ...{ since: "2026-11-15T17:00:00Z", restarts: 0, last_run: null, next_run: null },
    ...{ last_exit: null, note: "", run: null },
  };
  const find = () => resolveTarget(lookup, "agent", "planner", folder);
  expect(await find()).toMatchObject({ is: "gone", why: `there is no agent planner in ${folder}` });
  files.write(state);
  expect(await find()).toMatchObject({ is: "there", bound: { pid, claim: "" } });
  files.write({ ...state, run: { ...machine.self(), claim: "c1" } });
  expect(await find()).toMatchObject({ is: "there", bound: { pid, claim: "c1" } });
  files.write({ ...state, pid: null, state: "resting" });
  expect(await find()).toMatchObject({
    is: "gone",
    why: "planner has no process now (resting since 2026-11-15T17:00:00Z)",
  });
});
