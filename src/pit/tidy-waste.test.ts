import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { newFolder } from "../../test/support/folders.ts";
import { type TidyWasteOptions, tidyWaste } from "./tidy-waste.ts";
import { type WasteLog, wasteFoot, wasteHead, wasteName } from "./waste.ts";
import { type WasteFiles, wasteFiles } from "./waste-files.ts";

const DAY = 86_400_000;
const NOW = Date.parse("2026-11-15T12:00:00Z");
const defaults: TidyWasteOptions = { now: NOW, keepMs: 7 * DAY, isRunning: () => false };

function logText(snake: string, outcome: string | null, seconds = 1.5, body = "Error: x"): string {
  const at = "2026-11-01T00:00:00.000Z";
  const head = wasteHead({ id: "food-1-a", attempt: 1, worker: snake, at });
  return `${head}\n${body}\n${outcome === null ? "" : `${wasteFoot({ outcome, seconds })}\n`}`;
}

class Crash extends Error {}

/**
 * A pit in memory in which every step that a disk takes can be the last one: it happens or not, and
 * then nothing does any more.
 */
class FakePit implements WasteFiles {
  readonly logs = new Map<string, { text: string; mtimeMs: number }>();
  readonly texts = new Map<string, string>();
  readonly written: string[] = [];
  readonly mentions = new Set<string>();
  unreadable: string | null = null;
  readonly irremovable = new Set<string>();
  reads = 0;
  steps = 0;
  #dies: { at: number; isDone: boolean } | null = null;

  dieAt(at: number, isDone: boolean): void {
    this.steps = 0;
    this.#dies = { at, isDone };
  }

  revive(): void {
    this.#dies = null;
  }

  #step<T>(act: () => T): T {
    const left = this.#dies === null ? 1 : this.#dies.at - this.steps++;
    if (left < 0 || (left === 0 && !this.#dies?.isDone)) throw new Crash();
    const result = act();
    if (left === 0) throw new Crash();
    return result;
  }

  add(name: string, text: string, ageMs: number): void {
    this.logs.set(name, { text, mtimeMs: NOW - ageMs });
  }

  async list() {
    return this.#step(() =>
      [...this.logs].map(([name, { text, mtimeMs }]) => ({ name, size: text.length, mtimeMs })),
    );
  }

  async read({ name }: WasteLog) {
    this.reads++;
    const text = this.#step(() => this.logs.get(name)?.text);
    return text === undefined ? null : { head: text, end: text };
  }

  async mentioned(names: readonly string[]) {
    const { unreadable } = this;
    return this.#step(() =>
      unreadable === null
        ? new Set(names.filter((name) => this.mentions.has(name)))
        : { unreadable },
    );
  }

  async remove(logs: readonly WasteLog[]) {
    const left: WasteLog[] = [];
    for (const log of logs) {
      const there = this.logs.get(log.name);
      const isSame = there?.mtimeMs === log.mtimeMs && there.text.length === log.size;
      if (isSame && this.irremovable.has(log.name)) left.push(log);
      else if (isSame) this.#step(() => this.logs.delete(log.name));
    }
    return left;
  }

  async readText(file: string) {
    return this.#step(() => this.texts.get(file) ?? null);
  }

  async writeText(file: string, text: string) {
    this.#step(() => this.texts.set(file, text));
    this.written.push(file);
  }

  async setRecordAside(now: number) {
    return this.#step(() => {
      this.texts.set(`bad-${now}`, this.texts.get("record") ?? "");
      this.texts.delete("record");
      return `waste.json.bad-${now}`;
    });
  }

  get record() {
    return JSON.parse(this.texts.get("record") ?? "null");
  }

  get summary() {
    return this.texts.get("summary") ?? "";
  }
}

/** The row of a snake: attempts, failures, others, time. */
function rowOf(summary: string, snake: string): string[] {
  const row = summary.split("\n").find((line) => line.startsWith(`| ${snake} `)) ?? "";
  return row.split("|").slice(2, -1).map((cell) => cell.trim()); // biome-ignore format: short
}

const withoutDate = (summary: string) => summary.replace(/^As of .* UTC/m, "");

describe("one pass", () => {
  test("sums up, prunes what is old, and the summary stays what it was", async () => {
    const pit = new FakePit();
    pit.add("s-1-1718000000.log", logText("s-1", "failed"), 8 * DAY);
    pit.add("s-1-1718000001.log", logText("s-1", "done", 60), 6 * DAY);
    pit.add("s-2-1718000001.log", logText("s-2", "released"), DAY);
    expect(await tidyWaste(pit, defaults)).toEqual({
      logs: 2,
      pruned: ["s-1-1718000000.log"],
      kept: [],
    });
    expect([...pit.logs.keys()]).toEqual(["s-1-1718000001.log", "s-2-1718000001.log"]);
    expect(rowOf(pit.summary, "s-1")).toEqual(["2", "1", "0", "1m 2s"]);
    expect(rowOf(pit.summary, "s-2")).toEqual(["1", "0", "1", "2s"]);
    expect(pit.record).toEqual({
      version: 1,
      totals: {
        "s-1": { attempts: 1, failures: 1, other: 0, seconds: 1.5, unknown: 0, errors: [["Error: x", 1]] }, // biome-ignore format: one row
      },
      pruning: [],
    });
    const before = pit.summary;
    await tidyWaste(pit, { ...defaults, now: NOW + 8 * DAY });
    expect(pit.logs.size).toBe(0);
    expect(pit.summary.replace(/^As of.*$/m, "")).toBe(before.replace(/^As of.*$/m, ""));
  });

  test("nothing is written when nothing has changed but the time", async () => {
    const pit = new FakePit();
    pit.add("s-1-1718000000.log", logText("s-1", "done"), DAY);
    await tidyWaste(pit, defaults);
    expect(pit.written).toEqual(["summary"]);
    await tidyWaste(pit, { ...defaults, now: NOW + DAY });
    expect(pit.written).toEqual(["summary"]);
    pit.add("s-1-1718000001.log", logText("s-1", "done"), DAY);
    await tidyWaste(pit, { ...defaults, now: NOW + DAY });
    expect(pit.written).toEqual(["summary", "summary"]);
  });

  test("keeps a log that scraps/ names, however old", async () => {
    const pit = new FakePit();
    pit.add("s-1-1718000000.log", logText("s-1", "failed"), 80 * DAY);
    pit.mentions.add("s-1-1718000000.log");
    expect(await tidyWaste(pit, defaults)).toMatchObject({
      kept: ["s-1-1718000000.log"],
      pruned: [],
    });
    expect(pit.logs.size).toBe(1);
    expect(pit.summary).toContain("1 log, 1 of them old");
  });

  test("when a scrap cannot be read, nothing is pruned", async () => {
    const pit = new FakePit();
    pit.add("s-1-1718000000.log", logText("s-1", "failed"), 80 * DAY);
    pit.unreadable = "scraps/a cannot be read (EACCES)";
    const { pruned, warning } = await tidyWaste(pit, defaults);
    expect([pruned, pit.logs.size, pit.texts.has("record")]).toEqual([[], 1, false]);
    expect(warning).toBe(
      "scraps/a cannot be read (EACCES), so nothing is pruned: it may name a log.",
    );
    expect(rowOf(pit.summary, "s-1")[0]).toBe("1");
  });

  test("a running log is neither counted nor pruned before its last line", async () => {
    const pit = new FakePit();
    const name = "s-1-1718000000.log";
    const options = { ...defaults, isRunning: (asked: string) => asked === name };
    pit.add(name, logText("s-1", null), 80 * DAY);
    expect(await tidyWaste(pit, options)).toMatchObject({ logs: 1, pruned: [] });
    expect(pit.summary).not.toContain("s-1");
    pit.add(name, logText("s-1", "failed"), DAY);
    expect(await tidyWaste(pit, options)).toMatchObject({ logs: 1 });
    expect(rowOf(pit.summary, "s-1")).toEqual(["1", "1", "0", "2s"]);
  });

  test("a log that cannot be removed is counted once in many passes", async () => {
    const pit = new FakePit();
    pit.add("s-1-1718000000.log", logText("s-1", "failed"), 8 * DAY);
    pit.irremovable.add("s-1-1718000000.log");
    for (let i = 0; i < 3; i++) {
      const { pruned, warning } = await tidyWaste(pit, defaults);
      expect(pruned).toEqual([]);
      expect(warning).toBe("s-1-1718000000.log in waste/ cannot be removed.");
      expect(rowOf(pit.summary, "s-1")[0]).toBe("1");
    }
    pit.irremovable.clear();
    expect((await tidyWaste(pit, defaults)).pruned).toEqual(["s-1-1718000000.log"]);
    expect(rowOf(pit.summary, "s-1")[0]).toBe("1");
    expect(pit.record.pruning).toEqual([]);
  });

  test("a snake called __proto__ is a snake like any other", async () => {
    const pit = new FakePit();
    pit.add("__proto__-1718000000.log", logText("__proto__", "failed"), 8 * DAY);
    await tidyWaste(pit, defaults);
    await tidyWaste(pit, defaults);
    expect(rowOf(pit.summary, "`__proto__`")[0]).toBe("1");
  });
});

describe("the record", () => {
  test.each([
    ["half of it", '{"version":1,"totals":{"s-1":{"att'],
    ["nothing", ""],
    ["another thing", '{"version":1,"totals":[1],"pruning":[]}'],
    [
      "a path in it",
      '{"version":1,"totals":{},"pruning":[{"name":"../x.log","size":1,"mtimeMs":1}]}',
    ],
    ["a word for a number", '{"version":1,"totals":{"s":{"attempts":"1"}},"pruning":[]}'],
  ])("with %s is set aside with a warning", async (_, text) => {
    const pit = new FakePit();
    pit.texts.set("record", text);
    pit.add("s-1-1718000000.log", logText("s-1", "failed"), 8 * DAY);
    const { warning } = await tidyWaste(pit, defaults);
    expect(warning).toContain(`waste.json.bad-${NOW}`);
    expect(pit.texts.get(`bad-${NOW}`)).toBe(text);
    expect(pit.record.totals["s-1"].attempts).toBe(1);
  });

  test("from a newer viv is left alone", async () => {
    const pit = new FakePit();
    pit.texts.set("record", '{"version":2}');
    await expect(tidyWaste(pit, defaults)).rejects.toMatchObject({ code: "UNSUPPORTED" });
    expect(pit.written).toEqual([]);
  });

  test("a log that came back under a pruned name is not removed unread", async () => {
    const pit = new FakePit();
    const old = { name: "s-1-x.log", size: 3, mtimeMs: NOW - 8 * DAY };
    pit.texts.set("record", JSON.stringify({ version: 1, totals: {}, pruning: [old] }));
    pit.add("s-1-x.log", "new work", 0);
    expect((await tidyWaste(pit, defaults)).logs).toBe(1);
    expect(pit.logs.has("s-1-x.log")).toBe(true);
  });
});

describe("a crash", () => {
  const aLog = fc.record({
    snake: fc.constantFrom("a", "b"),
    outcome: fc.constantFrom("done", "failed", "released", null),
    seconds: fc.integer({ min: 0, max: 999 }).map((tenths) => tenths / 10),
    days: fc.integer({ min: 0, max: 20 }),
    body: fc.constantFrom("Error: x", "Error: y", "fine"),
    isMentioned: fc.boolean(),
  });

  function fill(
    pit: FakePit,
    all: readonly (typeof aLog extends fc.Arbitrary<infer T> ? T : never)[],
  ) {
    for (const [i, log] of all.entries()) {
      const name = wasteName(log.snake, NOW - i);
      pit.add(name, logText(log.snake, log.outcome, log.seconds, log.body), log.days * DAY);
      if (log.isMentioned) pit.mentions.add(name);
    }
    return pit;
  }

  test("at any step, before or after it, counts nothing twice and loses nothing", async () => {
    const property = fc.asyncProperty(fc.array(aLog, { maxLength: 8 }), async (all) => {
      const whole = fill(new FakePit(), all);
      whole.dieAt(Number.POSITIVE_INFINITY, false);
      await tidyWaste(whole, defaults);
      const { steps } = whole;
      for (let at = 0; at < steps; at++) {
        for (const isDone of [false, true]) {
          const pit = fill(new FakePit(), all);
          pit.dieAt(at, isDone);
          await expect(tidyWaste(pit, defaults)).rejects.toThrow(Crash);
          pit.dieAt(at, !isDone); // and once more, elsewhere: the second pass has other steps
          await tidyWaste(pit, defaults).catch(() => {});
          pit.revive();
          await tidyWaste(pit, defaults);
          expect(withoutDate(pit.summary)).toBe(withoutDate(whole.summary));
          expect(pit.record).toEqual(whole.record);
          expect([...pit.logs.keys()]).toEqual([...whole.logs.keys()]);
        }
      }
    });
    await fc.assert(property, { numRuns: 40 });
  });

  test("in passes over many days: every log is counted once", async () => {
    const crash = fc.record({ at: fc.nat({ max: 25 }), isDone: fc.boolean() });
    const day = fc.record({ logs: fc.nat({ max: 4 }), crash: fc.option(crash) });
    const property = fc.asyncProperty(fc.array(day, { maxLength: 12 }), async (days) => {
      const pit = new FakePit();
      let count = 0;
      for (const [i, { logs, crash }] of days.entries()) {
        for (let j = 0; j < logs; j++, count++) {
          pit.add(wasteName("a", NOW + count), logText("a", "failed"), -i * DAY);
          if (count % 4 === 0) pit.irremovable.add(wasteName("a", NOW + count));
        }
        if (crash) pit.dieAt(crash.at, crash.isDone);
        await tidyWaste(pit, { ...defaults, keepMs: 2 * DAY, now: NOW + i * DAY }).catch(
          (error) => {
            if (!(error instanceof Crash)) throw error;
          },
        );
        pit.revive();
      }
      pit.irremovable.clear();
      await tidyWaste(pit, { ...defaults, keepMs: 0, now: NOW + 99 * DAY });
      expect(pit.logs.size).toBe(0);
      expect(pit.record?.totals.a?.attempts ?? 0).toBe(count);
      expect(pit.record?.totals.a?.errors ?? []).toEqual(count === 0 ? [] : [["Error: x", count]]);
    });
    await fc.assert(property);
  });
});

describe("the memo", () => {
  function many(count: number): FakePit {
    const pit = new FakePit();
    for (let i = 0; i < count; i++) pit.add(wasteName("a", NOW + i), logText("a", "failed"), DAY);
    return pit;
  }

  test("logs that have not changed are not read again", async () => {
    const pit = many(150);
    await tidyWaste(pit, defaults);
    expect(pit.reads).toBe(150);
    pit.add(wasteName("a", NOW), `${logText("a", "failed")}more`, DAY);
    await tidyWaste(pit, defaults);
    expect(pit.reads).toBe(151);
    expect(rowOf(pit.summary, "a")[0]).toBe("150");
  });

  test.each(["{", '{"version":0}', '{"version":1,"seen":[null,{"log":{}}]}', "[]"])(
    "that says %s changes nothing",
    async (text) => {
      const pit = many(3);
      pit.texts.set("memo", text);
      await tidyWaste(pit, defaults);
      expect(rowOf(pit.summary, "a")[0]).toBe("3");
    },
  );
});

describe("on a disk", () => {
  function newPit() {
    const pit = newFolder();
    for (const folder of ["waste", "scraps"]) mkdirSync(join(pit, folder));
    const add = (name: string, text: string, ageMs: number) => {
      writeFileSync(join(pit, "waste", name), text);
      const at = (NOW - ageMs) / 1000;
      utimesSync(join(pit, "waste", name), at, at);
    };
    return { pit, add, files: wasteFiles(pit) };
  }

  test("sums up, keeps what a scrap names and what is no log, prunes the rest", async () => {
    const { pit, add, files } = newPit();
    add("s-1-1718000000.log", logText("s-1", "failed", 3), 8 * DAY);
    add("s-1-1718000001.log", logText("s-1", "failed", 4), 8 * DAY);
    add("s-2-2026-11-14.log", "tried\nbash: foo: command not found\n", DAY);
    add("trace.txt", "", 80 * DAY);
    writeFileSync(join(pit, "scraps/choke.md"), "see waste/s-1-1718000001.log");
    expect(await tidyWaste(files, defaults)).toEqual({
      logs: 2,
      pruned: ["s-1-1718000000.log"],
      kept: ["s-1-1718000001.log"],
    });
    const names = ["SUMMARY.md", "s-1-1718000001.log", "s-2-2026-11-14.log", "trace.txt"];
    expect(readdirSync(join(pit, "waste")).sort()).toEqual(names);
    const summary = readFileSync(join(pit, "waste/SUMMARY.md"), "utf8");
    expect(rowOf(summary, "s-1")).toEqual(["2", "2", "0", "7s"]);
    expect(rowOf(summary, "s-2")).toEqual(["1", "1", "0", "unknown"]);
    expect(summary).toContain("- 1 × `bash: foo: command not found`");
  });

  test("when scraps/ is no folder, everything is kept", async () => {
    const { pit, add, files } = newPit();
    add("s-1-1718000000.log", logText("s-1", "failed"), 80 * DAY);
    rmdirSync(join(pit, "scraps"));
    writeFileSync(join(pit, "scraps"), "");
    expect((await tidyWaste(files, defaults)).warning).toContain("ENOTDIR");
    expect(existsSync(join(pit, "waste/s-1-1718000000.log"))).toBe(true);
  });
});
