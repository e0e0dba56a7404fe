import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { FakeHost } from "../../test/support/machine.ts";
import { crewFilesIn } from "../crew/crew-files.ts";
import type { MemberStatus } from "../crew/member-status.ts";
import { wardenDirectory } from "./warden-directory.ts";

let folder: string;
let host: FakeHost;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "viv-directory-"));
  host = new FakeHost();
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function status(name: string, more: Partial<MemberStatus> = {}): MemberStatus {
  return {
    ...{ name, state: "running", since: "2026-11-15T17:00:00Z", run: null, outcome: null },
    ...{ note: "", last_run: null, next_tick: null, streak: 0, crashes: 0, lifecycle: null },
    ...{ saved: 0, cost_today: 3, day: "", thought: null, engine: "exec", mode: "edit", ...more },
  };
}

const crew = () => wardenDirectory(host.clock).crew(folder);

it("finds a member by its file, and the singleton by the name in its status", () => {
  const files = crewFilesIn(folder);
  files.writeStatus("moss", status("moss"));
  files.writeStatus("", status("keeper", { state: "waiting" }));
  expect(crew().find("moss")).toMatchObject({ name: "moss", isBusy: true });
  expect(crew().find("keeper")).toMatchObject({ name: "keeper", isBusy: false });
  expect(["", "mos", "../moss"].map((name) => crew().find(name))).toEqual([null, null, null]);
  const names = crew()
    .list()
    .map(({ name }) => name);
  expect(names.sort()).toEqual(["keeper", "moss"]);
});

it("counts dollars of today only", () => {
  const today = new Date(host.clock.now()).toISOString().slice(0, 10);
  const files = crewFilesIn(folder);
  files.writeStatus("moss", status("moss", { day: today, budget_usd_day: 2 }));
  expect(crew().find("moss")?.spent).toEqual({ usd: 3, budgetUsd: 2 });
  files.writeStatus("moss", status("moss", { day: "2020-01-01", budget_usd_day: 2 }));
  expect(crew().find("moss")?.spent).toBeNull();
});

it("gives the latest steps first, and then only new ones", () => {
  const files = crewFilesIn(folder);
  files.append({ tool: "Read", target: "a", ts: 1, agent: "moss" });
  const first = crew().stepsFrom(null);
  expect(first.steps).toEqual([{ agent: "moss", at: 1000, tool: { tool: "Read", target: "a" } }]);
  files.append({ run: "done", ts: 2, agent: "moss", seconds: 1, usd: null, note: "" });
  const { steps } = crew().stepsFrom(first.position);
  expect(steps).toEqual([{ agent: "moss", at: 2000, endsRun: true }]);
});

it("does not take the state of the service for an agent of the fleet", () => {
  mkdirSync(join(folder, ".viv/up"), { recursive: true });
  writeFileSync(join(folder, ".viv/up/service.json"), '{"state": "working"}');
  const fleet = wardenDirectory(host.clock).fleet(folder);
  expect(fleet.find("service")).toBeNull();
  expect(fleet.list()).toEqual([]);
});
