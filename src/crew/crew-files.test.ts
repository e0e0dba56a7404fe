import { spawn } from "node:child_process";
import fs, {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { within } from "../../test/support/deadline.ts";
import { newFolder } from "../../test/support/folders.ts";
import { cannotMount, mountTmpfs } from "../../test/support/mounts.ts";
import { holds } from "../../test/support/property.ts";
import { crewFilesIn } from "./crew-files.ts";
import type { CrewLine, MemberStatus } from "./member-status.ts";

const files = () => crewFilesIn(newFolder("viv-crew-files-"));

const STATUS: MemberStatus = {
  ...{ name: "moss", state: "running", since: "2026-11-15T00:00:00.000Z", run: null },
  ...{ outcome: null, note: "", last_run: null, next_tick: null, streak: 0, crashes: 0 },
  ...{ lifecycle: null, saved: 0, cost_today: 0, day: "", thought: null, engine: "exec" },
  mode: "plan",
};

const step = (ts: number, agent = "moss"): CrewLine => ({ tool: "t", target: "x", ts, agent });

describe("names", () => {
  it("are those of the seed, and a missing file is null", () => {
    const state = files();
    expect([state.lastRun("wren"), state.position(""), state.ran("wren", "nap")]).toEqual([
      ...[null, null, null],
    ]);
    expect([state.status("wren"), state.names(), state.lastLines(9)]).toEqual([null, [], []]);
    for (const name of ["wren", ""]) {
      state.writeLastRun(name, 1_760_000_000_000);
      state.writePosition(name, "nap 2");
      state.writeRan(name, "nap", 5);
      state.writeStatus(name, STATUS);
    }
    expect(readdirSync(state.folder).sort()).toEqual([
      ...["keeper-last-run", "keeper-last-run-wren", "lifecycle-pos", "lifecycle-pos-wren"],
      ...["lifecycle-ran-nap", "lifecycle-ran-wren-nap", "status-wren.json", "status.json"],
    ]);
    expect(readFileSync(join(state.folder, "keeper-last-run-wren"), "utf8")).toBe(
      "1760000000000\n",
    );
    expect(state.names().sort()).toEqual(["", "wren"]);
    expect(statSync(join(state.folder, "status.json")).mode & 0o777).toBe(0o600);
  });

  it("of pauses are in a folder of their own", () => {
    const state = files();
    state.setPaused("moss", true);
    state.setPaused("", true);
    expect(readdirSync(join(state.folder, "paused")).sort()).toEqual(["keeper", "moss"]);
    expect([state.isPaused("moss"), state.isPaused("wren")]).toEqual([true, false]);
    state.setPaused("moss", false);
    state.setPaused("moss", false);
    expect(state.isPaused("moss")).toBe(false);
  });

  it("do not come back when their folder is removed, with or without its parent", () => {
    const state = crewFilesIn(join(newFolder("viv-crew-files-"), "news", ".crew"));
    const writes = [
      () => state.writeStatus("moss", STATUS),
      () => state.append(step(1)),
      () => state.setPaused("moss", true),
      () => state.newLog("moss", 1),
    ];
    mkdirSync(state.folder, { recursive: true });
    for (const write of writes) write();
    rmSync(state.folder, { recursive: true });
    for (const write of writes) expect(write).toThrow("ENOENT");
    rmSync(join(state.folder, ".."), { recursive: true });
    for (const write of writes) expect(write).toThrow("ENOENT");
    expect(existsSync(join(state.folder, ".."))).toBe(false);
  });

  it("are written no more when they are another's", () => {
    const state = files();
    state.append(step(1));
    state.abandon();
    state.writeStatus("moss", STATUS);
    state.append(step(2));
    state.writeLastRun("moss", 1);
    state.writeJson("crew", {});
    expect(readdirSync(state.folder)).toEqual(["_steps.jsonl"]);
    expect(state.lastLines(9)).toEqual([step(1)]);
  });

  it("leave no half of a file that could not be put in its place", () => {
    const state = files();
    mkdirSync(join(state.folder, "status-moss.json"), { recursive: true });
    expect(() => state.writeStatus("moss", STATUS)).toThrow();
    expect(readdirSync(state.folder)).toEqual(["status-moss.json"]);
  });
});

describe("a status", () => {
  it("is whole whenever it is read, while another process writes", async () => {
    const state = files();
    state.writeStatus("moss", STATUS);
    const path = join(state.folder, "status-moss.json");
    const reader = spawn(process.execPath, [
      "-e",
      `const { readFileSync } = require("node:fs");
       let last = "", seen = 0;
       for (;;) {
         const text = readFileSync(${JSON.stringify(path)}, "utf8");
         const { note, thought } = JSON.parse(text);
         if (note !== (thought ?? "")) { console.log("torn: " + text); break; }
         if (note !== last) { last = note; seen++; }
         if (note === "over") { console.log("fine"); break; }
       }`,
    ]);
    let said = "";
    reader.stdout.on("data", (text) => {
      said += text;
    });
    reader.stderr.on("data", (text) => {
      said += text;
    });
    const ended = new Promise((resolve) => reader.on("close", resolve));
    for (let i = 0; i < 3_000; i++) {
      const note = String(i).repeat(1 + (i % 100));
      state.writeStatus("moss", { ...STATUS, note, thought: note });
    }
    state.writeStatus("moss", { ...STATUS, note: "over", thought: "over" });
    await within("the reader sees the last one", ended);
    expect(said).toBe("fine\n");
  });

  it("of any text is read back, or null", () => {
    const state = files();
    state.writeStatus("moss", STATUS);
    holds(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        writeFileSync(join(state.folder, "status-moss.json"), text);
        expect(state.status("moss")).toBe(null);
      }),
    );
  });
});

describe("steps", () => {
  it("are read from the end, whatever their length", () => {
    const state = files();
    holds(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 40_000 }), { maxLength: 30 }),
        fc.integer({ min: 1, max: 40 }),
        (lengths, count) => {
          rmSync(join(state.folder, "_steps.jsonl"), { force: true });
          const lines = lengths.map((length, ts): CrewLine => {
            return { thought: "é".repeat(length), ts, agent: "moss" };
          });
          for (const line of lines) state.append(line);
          expect(state.lastLines(count)).toEqual(lines.slice(-count));
        },
      ),
      { numRuns: 30 },
    );
  });

  it("that were torn are passed over, and later lines are not lost", () => {
    const state = files();
    state.append(step(1));
    writeFileSync(join(state.folder, "_steps.jsonl"), '{"tool":"t","tar\n', { flag: "a" });
    state.append(step(2));
    expect(state.lastLines(5)).toEqual([step(1), step(2)]);
  });

  it("begin anew when there are many, and the last of before are still read", () => {
    const state = files();
    const path = join(state.folder, "_steps.jsonl");
    state.append(step(1));
    writeFileSync(
      path,
      `${JSON.stringify({ thought: "x".repeat(9_000_000), ts: 2, agent: "a" })}\n`,
      {
        flag: "a",
      },
    );
    state.append(step(3));
    expect(existsSync(join(state.folder, "_steps.1.jsonl"))).toBe(true);
    expect(statSync(path).size).toBeLessThan(100);
    expect(state.lastLines(3).map(({ ts }) => ts)).toEqual([1, 2, 3]);
  });

  it("are followed from a place on, each once, a line being written not at all", () => {
    const state = files();
    state.append(step(1));
    let { place } = state.linesFrom(null);
    const news = () => {
      const { lines, place: next } = state.linesFrom(place);
      place = next;
      return lines.map(({ ts }) => ts);
    };
    expect(news()).toEqual([]);
    state.append(step(2));
    state.append(step(3));
    expect(news()).toEqual([2, 3]);
    const path = join(state.folder, "_steps.jsonl");
    writeFileSync(path, '{"thought":"é', { flag: "a" });
    expect(news()).toEqual([]);
    writeFileSync(path, '","ts":4,"agent":"moss"}\n', { flag: "a" });
    expect(news()).toEqual([4]);
    writeFileSync(path, `${JSON.stringify(step(5))}\n`);
    expect(news()).toEqual([5]);
  });
});

it("the logs of a member are twenty, and those of others are left alone", () => {
  const state = files();
  const at = (i: number) => Date.UTC(2026, 10, 15, 0, i);
  const write = (one: typeof state, name: string, i: number) =>
    writeFileSync(one.newLog(name, at(i)), "");
  for (let i = 0; i < 15; i++) write(state, "moss", i);
  for (let i = 0; i < 3; i++) write(state, "moss-2", i);
  // As a new supervisor.
  const next = crewFilesIn(state.folder);
  for (let i = 15; i < 30; i++) write(next, "moss", i);
  const logs = readdirSync(join(state.folder, "runs")).sort();
  const own = logs.filter((file) => !file.startsWith("moss-2-"));
  expect(own).toHaveLength(20);
  expect(own[0]).toBe("moss-20261115T001000.000Z.log");
  expect(logs).toHaveLength(23);
  expect(next.newLog("", at(0))).toMatch(/runs\/keeper-20261115T000000\.000Z\.log$/);
});

describe("a request", () => {
  it("is returned once, in the order of the names, and malformed ones are skipped", () => {
    const state = files();
    state.leaveRequest("b", { cmd: "stop" });
    state.leaveRequest("a", { cmd: "tick" });
    writeFileSync(join(state.folder, "inbox", "nonsense.json"), "{");
    mkdirSync(join(state.folder, "inbox", "a-folder.json"));
    writeFileSync(join(state.folder, "inbox", ".hidden.json"), "{}");
    expect(state.takeRequests()).toEqual([
      { id: "a", request: { cmd: "tick" } },
      { id: "b", request: { cmd: "stop" } },
    ]);
    expect(state.takeRequests()).toEqual([]);
    state.answer("a", { ok: true });
    expect([state.takeAnswer("a"), state.takeAnswer("a")]).toEqual([{ ok: true }, null]);
  });

  it("is answered also when the answer appears while it is looked for", () => {
    const state = files();
    const { openSync } = fs;
    fs.openSync = (...args) => {
      try {
        return openSync(...args);
      } catch (error) {
        fs.openSync = openSync;
        syncBuiltinESMExports();
        state.answer("a", { ok: true });
        throw error;
      }
    };
    syncBuiltinESMExports();
    expect(state.takeAnswer("a")).toEqual({ ok: true });
  });

  it("is removed by tidy, together with half written files", () => {
    const state = files();
    state.leaveRequest("a", {});
    state.answer("b", {});
    state.writeStatus("moss", STATUS);
    writeFileSync(join(state.folder, ".status-moss.json.0123abcd"), "");
    writeFileSync(join(state.folder, ".lock"), "");
    state.tidy();
    expect([state.takeRequests(), state.takeAnswer("b")]).toEqual([[], null]);
    expect(readdirSync(state.folder).sort()).toEqual([
      ...[".lock", "inbox", "outbox", "status-moss.json"],
    ]);
  });
});

describe("a failed write", () => {
  it.skipIf(cannotMount !== null)("on a full disk is DISK_FULL, and names the file", () => {
    const folder = join(newFolder("viv-crew-full-"), "disk");
    mountTmpfs(folder, "size=64k");
    const state = crewFilesIn(folder);
    expect(() => writeFileSync(join(folder, "fill"), Buffer.alloc(128 * 1024))).toThrow("ENOSPC");
    for (const [write, file] of [
      [() => state.append(step(1)), "_steps.jsonl"],
      [() => state.writeHolder({}), ".lock"],
    ] as const) {
      const said = `the disk is full, so ${join(state.folder, file)} could not be written`;
      expect(write).toThrow(expect.objectContaining({ code: "DISK_FULL" }));
      expect(write).toThrow(said);
    }
  });

  it("a link or a pipe in its place is replaced, and never followed or waited for", () => {
    const state = files();
    const aim = join(state.folder, "aim");
    for (const name of ["_steps.jsonl", "status-moss.json", "keeper-last-run-moss"]) {
      symlinkSync(aim, join(state.folder, name));
    }
    state.append(step(1));
    state.writeStatus("moss", STATUS);
    state.writeLastRun("moss", 1);
    expect(existsSync(aim)).toBe(false);
    expect(state.lastLines(5)).toHaveLength(1);
    expect([state.lastRun("moss"), state.status("moss")?.name]).toEqual(["1\n", "moss"]);
  });

  it("for another reason names the file", () => {
    const state = files();
    writeFileSync(join(state.folder, "inbox"), "");
    expect(() => state.leaveRequest("stop-1", {})).toThrow(
      expect.objectContaining({
        code: "CORRUPT",
        message: expect.stringContaining(join(state.folder, "inbox/stop-1.json")),
      }),
    );
  });
});
