import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { newFolder } from "../../test/support/folders.ts";
import { type AgentState, type ServiceState, upFilesIn } from "./up-files.ts";

const SERVICE: ServiceState = {
  ...{ name: "service", state: "working", host: "h", boot: "b", pid: 7, started: "1" },
  ...{ since: "2026-11-15T00:00:00.000Z", config: "/a.toml", agents: ["snake-1"], note: "" },
};
const SNAKE: AgentState = {
  ...{ name: "snake-1", species: "snake", state: "idle", pid: 8, started: "2", boot: "b" },
  ...{ host: "h", since: "2026-11-15T00:00:00.000Z", restarts: 0, last_run: null, next_run: null },
  ...{ last_exit: null, note: "", run: null },
};

it("keeps each state, and no other file beside it", async () => {
  const pit = newFolder();
  const files = upFilesIn(pit);
  expect(files.names()).toEqual([]);
  expect(files.service()).toBeNull();
  expect(await files.take()).toBe(true);
  files.write(SERVICE);
  files.write(SNAKE);
  files.write({ ...SNAKE, state: "working" });
  expect(files.service()).toEqual(SERVICE);
  expect(files.agent("snake-1")).toEqual({ ...SNAKE, state: "working" });
  expect(files.names()).toEqual(["snake-1"]);
  expect(readdirSync(join(pit, ".viv/up")).sort()).toEqual([
    ".lock",
    "service.json",
    "snake-1.json",
  ]);
  files.remove("snake-1");
  files.remove("snake-1");
  expect(files.agent("snake-1")).toBeNull();
});

it("ignores torn and foreign files, links and folders", async () => {
  const pit = newFolder();
  const folder = join(pit, ".viv/up");
  const files = upFilesIn(pit);
  await files.take();
  for (const text of ["", "{", "[]", "null", '{"state":"flying"}', "x".repeat(1_000_000)]) {
    writeFileSync(join(folder, "snake-1.json"), text);
    writeFileSync(join(folder, "service.json"), text);
    expect(files.agent("snake-1")).toBeNull();
    expect(files.service()).toBeNull();
  }
  symlinkSync("/etc/passwd", join(folder, "link.json"));
  mkdirSync(join(folder, "dir.json"));
  expect(files.agent("link")).toBeNull();
  expect(files.agent("dir")).toBeNull();
});

it("can be locked once, until the holder is gone", async () => {
  const pit = newFolder();
  expect(await upFilesIn(pit).take()).toBe(true);
  expect(await upFilesIn(pit).take()).toBe(false);
});
