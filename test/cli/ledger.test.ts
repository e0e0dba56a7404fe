import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { crewFilesIn } from "../../src/crew/crew-files.ts";
import type { NewEntry } from "../../src/ledger/line.ts";
import { recordTo } from "../../src/ledger/room-ledger.ts";
import { sealDays } from "../../src/ledger/seal.ts";
import { wardenFilesIn } from "../../src/warden/warden-files.ts";
import { newFolder } from "../support/folders.ts";
import { cli, json, ok, type Surroundings } from "./support.ts";

/** `viv ledger`: the record of a run, merged with those of its crew and its warden. */

let folder: string;
let around: Surroundings;
const at = (time: string) => Date.parse(`2026-11-17T${time}:00Z`);

beforeEach(async () => {
  folder = newFolder();
  around = { cwd: folder, env: { VIV_STATE: join(folder, "state"), USER: "ann" } };
  await ok(["init", "run"], around);
  const [crew, warden] = [join(folder, ".crew"), join(folder, "state/warden")];
  for (const one of [crew, warden]) mkdirSync(one, { recursive: true, mode: 0o700 });
  const line = { at: "2026-11-17T10:00:00.000Z", event: "ended", task: "t.1", worker: "w1" };
  const note = "=cmd()\u001b[31m,\nred";
  const ended = JSON.stringify({ ...line, from: "claimed", to: "failed", note });
  writeFileSync(join(folder, "run/ledger/2026-11-17.jsonl"), `${ended}\n`);
  crewFilesIn(crew).record(at("11:00"), { room: "crew", event: "parked", agent: "moss" });
  wardenFilesIn(warden).record(at("09:00"), { room: "warden", event: "executed", agent: "dog-1" });
  recordTo(join(folder, "run/ledger"), at("12:00"), PART);
});

const PART: NewEntry = {
  ...{ room: "fleet", event: "part_started", agent: "viv up", part: "merge" },
};

interface Shown {
  lines: Record<string, unknown>[];
  more: number;
  notes: string[];
}

const show = (...flags: string[]) => json<Shown>(["ledger", "show", ...flags], around);

test("a line of another writer is shown, whatever its task, type and note are", async () => {
  const line = { at: "2026-11-17T13:00:00.000Z", event: "landed" };
  const odd = { ...line, task: { a: 1 }, type: 5, note: ["x"] };
  const file = join(folder, "run/ledger/2026-11-17.jsonl");
  appendFileSync(file, `${JSON.stringify(odd)}\n${JSON.stringify({ ...line, task: null })}\n`);
  const [first, second] = (await show("--event", "landed")).lines;
  expect(first).toMatchObject({ task: '{"a":1}', type: "5", note: '["x"]' });
  expect(second).not.toHaveProperty("task");
  expect(await ok(["ledger", "show"], around)).toContain('{"a":1}');
  expect(await ok(["ledger", "tail", "--lines", "9"], around)).toContain('["x"]');
});

test("show merges the ledgers by time, stamps each line, and filters", async () => {
  const { lines } = await show();
  expect(lines.map(({ room, event, agent }) => `${room} ${event} ${agent}`)).toEqual([
    "warden executed dog-1",
    "queue ended w1",
    "crew parked moss",
    "fleet part_started viv up",
  ]);
  expect((await show("--room", "crew,fleet")).lines).toHaveLength(2);
  expect((await show("--task", "t.1")).lines).toMatchObject([{ event: "ended" }]);
  expect((await show("--agent", "moss", "--event", "parked")).lines).toHaveLength(1);
  expect((await show("--limit", "1")).more).toBe(3);
  const early = ["--since", "2026-11-17T09:30:00Z", "--until", "2026-11-17T11:00:00Z"];
  expect((await show(...early)).lines).toMatchObject([{ event: "ended" }]);
  const stdout = await ok(["ledger", "show"], { ...around, columns: 100 });
  expect(stdout).not.toContain("\u001b[31m,");
  expect(stdout.trimEnd().split("\n")).toHaveLength(4);
  expect(stdout).toMatch(/part_started.*merge/);
});

test("a room that is none is refused; an event that viv never writes is named", async () => {
  for (const verb of ["show", "tail", "export"]) {
    const { status, stderr } = await cli(["ledger", verb, "--rooms", "quee"], around);
    expect([status, stderr]).toEqual([2, expect.stringContaining("did you mean queue?")]);
  }
  expect((await cli(["ledger", "show", "--rooms", "x"], around)).stderr).toContain(
    "choose from queue, crew, warden, fleet",
  );
  expect((await show("--events", "eneded,own")).notes).toEqual([
    'viv writes no event "eneded"; did you mean ended?',
    'viv writes no event "own", but another program may',
  ]);
  expect((await cli(["ledger", "tail", "--events", "eneded"], around)).stderr).toContain(
    "did you mean ended?",
  );
});

test("tail goes on with lines as they come; one without --follow ends", async () => {
  const last = await ok(["ledger", "tail", "-n", "1", "--since", "2026-11-01", "--json"], around);
  expect(JSON.parse(last)).toMatchObject({ event: "part_started" });
  const stop = new AbortController();
  const began = ok(["ledger", "tail", "-f", "-n", "1", "--since", "2026-11-01", "--json"], {
    ...around,
    signal: stop.signal,
    onStdout: (text) => {
      if (text.includes("part_started")) {
        const line = { at: "2026-11-17T13:00:00.000Z", event: "paused", by: "ann" };
        appendFileSync(join(folder, "run/ledger/2026-11-17.jsonl"), `${JSON.stringify(line)}\n`);
      }
      if (text.includes("paused")) stop.abort();
    },
  });
  expect(await began).toContain('"agent":"ann"');
});

test("export has all lines, as JSON or CSV that no spreadsheet runs; into a new file only", async () => {
  const stdout = await ok(["ledger", "export"], around);
  expect(
    stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).room),
  ).toEqual(["warden", "queue", "crew", "fleet"]);
  const csv = ["ledger", "export", "--format", "csv", "--out", "record.csv"];
  await ok(csv, around);
  expect(readFileSync(join(folder, "record.csv"), "utf8")).toContain(`"'=cmd()`);
  expect((await cli(csv, around)).stderr).toContain("is there already");
});

test("verify names the file and line of a change, and ends with 1; an untrusted ledger is a note", async () => {
  await sealDays(join(folder, "run/ledger"), { now: Date.now, sleep: async () => true });
  const verify = () => cli(["ledger", "verify"], around);
  expect(await verify()).toMatchObject({ status: 0 });
  const file = join(folder, "run/ledger/2026-11-17.jsonl");
  writeFileSync(file, readFileSync(file, "utf8").replace("t.1", "t.2"));
  const { status, stdout } = await verify();
  expect(status).toBe(1);
  expect(stdout).toMatch(/run: 2026-11-17\.jsonl was changed: the first difference is at line 1/);
  chmodSync(join(folder, "state/warden"), 0o777);
  const { lines, notes } = await show();
  expect(notes).toMatchObject([expect.stringContaining("without the warden")]);
  expect(lines).toHaveLength(3);
});

test("verify and doctor find a ledger that was removed, also when another one was begun since", async () => {
  await ok(["enqueue", "--type", "job", "--id", "t.9"], around);
  await ok(["claim", "--worker", "w1"], around);
  await ok(["complete", "t.9", "--worker", "w1"], around);
  expect(await cli(["ledger", "verify"], around)).toMatchObject({ status: 0 });
  for (const name of readdirSync(join(folder, "run/ledger"))) {
    rmSync(join(folder, "run/ledger", name));
  }
  for (const isEmpty of [true, false]) {
    if (!isEmpty) recordTo(join(folder, "run/ledger"), at("12:00"), PART);
    const said = await cli(["ledger", "verify"], around);
    expect(said.stdout).toMatch(/changed +run .*\n.*run: \S+\.jsonl is missing.*projection\.json/s);
    expect(said.status).toBe(1);
    const { stdout, status } = await cli(["doctor"], around);
    expect(stdout).toMatch(/changed_record {2}ledger\/\S+\.jsonl\n.*is missing/);
    expect(status).toBe(1);
  }
});

test("verify tells days that were over a day ago from those that are not sealed yet", async () => {
  const read = () =>
    json<{ ledgers: { open: string[]; overdue: string[] }[] }>(["ledger", "verify"], around);
  const now = Date.now();
  recordTo(join(folder, "run/ledger"), now, PART);
  const [run] = (await read()).ledgers;
  const today = new Date(now).toISOString().slice(0, 10);
  expect(run).toMatchObject({ open: [today], overdue: ["2026-11-17"] });
  const said = await cli(["ledger", "verify"], around);
  expect(said.status).toBe(0);
  expect(said.stdout).toMatch(/ok +run +0 sealed days, 1 not sealed yet, 1 without a seal/);
  expect(said.stdout).toContain("run: 2026-11-17 has no seal: no process that seals (viv up");
});

test("people's commands to the crew and the warden are on the record", async () => {
  await ok(["warden", "pause", "--why", "lunch"], around);
  await ok(["warden", "resume"], around);
  const stdout = await ok(["warrant", "file", "--pid", String(process.pid), "--json"], around);
  await ok(["warrant", "withdraw", JSON.parse(stdout).id], around);
  const { lines } = await show("--room", "warden", "--agent", "ann");
  expect(lines.map(({ event }) => event)).toEqual([
    "pool_paused",
    "pool_resumed",
    "filed",
    "withdrawn",
  ]);
});
