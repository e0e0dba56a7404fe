import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { newFolder } from "../../../test/support/folders.ts";
import { openRun } from "../../app/open-run.ts";
import { VivError } from "../../base/errors.ts";
import type { Store } from "../../queue/store.ts";
import type { Schedule } from "./config.ts";
import { loadCron } from "./cron.ts";
import { passOver, runSchedules, type ScheduleEvent, type ScheduleHost } from "./schedule-clock.ts";
import { scheduleFilesIn } from "./schedule-files.ts";

beforeAll(loadCron);

const NIGHTLY: Schedule = {
  ...{ name: "nightly", cron: "0 7 * * *", timezone: "UTC", missed: "once" },
  ...{ overlap: true, enabled: true, tasks: { kind: "task", type: "audit", payload: { n: 1 } } },
};
const CHAIN: Schedule = { ...NIGHTLY, tasks: { kind: "file", path: "chain.jsonl" } };

let folder: string;
let store: Store;
let now: number;
let events: ScheduleEvent[];
let host: ScheduleHost;

beforeEach(async () => {
  folder = newFolder("viv-schedule-");
  store = await openRun(join(folder, "run"), { create: true });
  now = Date.parse("2026-11-17T12:00:00Z");
  events = [];
  host = {
    ...{ store, files: scheduleFilesIn(store.folder, store.folder), folder, now: () => now },
    readText: (path) => {
      if (path.endsWith("missing.jsonl")) throw new Error("there is no such file");
      return '{"id":"a","type":"x"}\n\n{"id":"b","type":"x","depends_on":["a","t.1"],"priority":"low"}\n{"type":"y","parent":"a"}\n';
    },
  };
  await store.enqueue({ id: "t.1", type: "x" });
});

const at = (time: string) => {
  now = Date.parse(time);
};
const pass = (schedule = NIGHTLY, given = host) =>
  passOver(schedule, given, (one) => events.push(one));
async function ids(): Promise<string[]> {
  const found: string[] = [];
  for await (const { id } of store.list({})) if (id !== "t.1") found.push(id);
  return found.sort();
}

describe("a schedule", () => {
  it("has no past: the first fire is the first after it was seen", async () => {
    await pass();
    at("2026-11-18T06:59:59Z");
    await pass();
    expect(await ids()).toEqual([]);
    at("2026-11-18T07:00:00Z");
    await pass();
    await pass();
    expect(await ids()).toEqual(["nightly.20261118T0700Z"]);
    const task = (await store.show("nightly.20261118T0700Z"))?.task;
    expect(task).toMatchObject({
      task_type: "audit",
      payload: { n: 1 },
      created_by: "schedule nightly",
    });
    expect(events).toEqual([
      { kind: "fired", name: "nightly", fire: "2026-11-18T07:00:00.000Z", tasks: 1, created: 1 },
    ]);
  });

  it.each([
    ["once", ["nightly.20261120T0700Z"]],
    ["skip", []],
  ] as const)("after three days without viv up: %s", async (missed, expected) => {
    await pass();
    at("2026-11-20T09:00:00Z");
    await pass({ ...NIGHTLY, missed });
    expect(await ids()).toEqual(expected);
    at("2026-11-21T07:00:30Z");
    await pass({ ...NIGHTLY, missed });
    expect(await ids()).toEqual([...expected, "nightly.20261121T0700Z"]);
  });

  it("puts the fire before the ids of a file and their references", async () => {
    await pass(CHAIN);
    at("2026-11-18T07:00:01Z");
    await pass(CHAIN);
    const id = "nightly.20261118T0700Z";
    expect(await ids()).toEqual([`${id}.4`, `${id}.a`, `${id}.b`]);
    expect((await store.show(`${id}.b`))?.task).toMatchObject({ depends_on: [`${id}.a`, "t.1"] });
    expect((await store.show(`${id}.4`))?.task).toMatchObject({ parent: `${id}.a` });
  });

  it.each([
    [
      "two that wait for each other",
      '{"id":"b","type":"x","depends_on":["c"]}\n{"id":"c","type":"x","depends_on":["b","a"]}',
    ],
    ["one that waits for itself", '{"id":"b","type":"x","depends_on":["b"]}'],
    ["an id that is no name", '{"id":"b/c","type":"x"}'],
    ["an id that is too long behind the fire's", `{"id":"${"b".repeat(120)}","type":"x"}`],
    ["a dependency that is no list", '{"id":"b","type":"x","depends_on":"a"}'],
    ["no type", '{"id":"b"}'],
  ])("enqueues nothing of a chain with %s", async (_, lines) => {
    const text = `{"id":"a","type":"x"}\n${lines}\n`;
    await pass(CHAIN);
    at("2026-11-18T07:00:01Z");
    await expect(pass(CHAIN, { ...host, readText: () => text })).rejects.toThrow(VivError);
    expect(await ids()).toEqual([]);
  });

  it("is enqueued once by two processes", async () => {
    await pass(CHAIN);
    at("2026-11-18T07:00:01Z");
    await Promise.all([pass(CHAIN), pass(CHAIN)]);
    expect(await ids()).toHaveLength(3);
    const created = events.map((one) => (one.kind === "fired" ? one.created : 0));
    expect(created.reduce((sum, one) => sum + one, 0)).toBe(3);
  });

  it.each(["skip", "once"] as const)(
    "killed after its first task, %s: the next pass does the rest",
    async (missed) => {
      const chain = { ...CHAIN, missed };
      await pass(chain);
      at("2026-11-18T07:00:01Z");
      const killed: ScheduleHost["store"] = {
        show: (id) => store.show(id),
        enqueueMany: async (specs, options) => {
          for await (const spec of specs) {
            await store.enqueue(spec, options);
            throw new Error("killed");
          }
          throw new Error("no task");
        },
      };
      await expect(pass(chain, { ...host, store: killed })).rejects.toThrow("killed");
      expect(await ids()).toHaveLength(1);
      at("2026-11-18T19:00:00Z");
      await pass(chain);
      expect(await ids()).toHaveLength(3);
      await pass(chain);
      expect(events.at(-1)).toMatchObject({ kind: "fired", created: 2, tasks: 3 });
    },
  );

  it("killed before it noted the end: nothing is enqueued again", async () => {
    await pass();
    at("2026-11-18T07:00:01Z");
    let writes = 0;
    const files = {
      ...host.files,
      update: async (...args: Parameters<typeof host.files.update>) => {
        if (++writes >= 2) throw new Error("killed");
        return host.files.update(...args);
      },
    };
    await expect(pass(NIGHTLY, { ...host, files })).rejects.toThrow("killed");
    await store.cancel("nightly.20261118T0700Z");
    await pass();
    expect(await ids()).toEqual(["nightly.20261118T0700Z"]);
    expect(events).toMatchObject([{ kind: "fired", created: 0 }]);
  });

  it("waits for the last one with overlap = false", async () => {
    const alone = { ...NIGHTLY, overlap: false };
    await pass(alone);
    at("2026-11-18T07:00:00Z");
    await pass(alone);
    at("2026-11-19T07:00:00Z");
    await pass(alone);
    expect(await ids()).toHaveLength(1);
    expect(events.at(-1)).toMatchObject({
      kind: "skipped",
      why: expect.stringContaining("unfinished"),
    });
    await store.cancel("nightly.20261118T0700Z");
    await pass(alone);
    expect(await ids()).toHaveLength(1); // it was skipped
    at("2026-11-20T07:00:00Z");
    await pass(alone);
    expect(await ids()).toContain("nightly.20261120T0700Z");
  });

  it("skips what came while it was paused, and keeps that over restarts", async () => {
    await pass();
    await host.files.update("nightly", (state) => ({
      ...(state ?? { handled: "" }),
      paused: { by: "ann", at: "" },
    }));
    at("2026-11-18T07:00:00Z");
    await pass();
    await host.files.update("nightly", (state) => ({ handled: state?.handled ?? "" }));
    at("2026-11-18T07:00:10Z");
    await pass();
    expect(await ids()).toEqual([]);
  });

  it("tries again while its file is missing, and says why", async () => {
    const missing: Schedule = { ...CHAIN, tasks: { kind: "file", path: "missing.jsonl" } };
    await pass(missing);
    at("2026-11-18T07:00:00Z");
    await expect(pass(missing)).rejects.toThrow("no such file");
    expect(host.files.read().get("nightly")).toMatchObject({ note: "there is no such file" });
    at("2026-11-18T07:10:00Z");
    await pass(CHAIN);
    expect(await ids()).toHaveLength(3);
    expect(host.files.read().get("nightly")).not.toHaveProperty("note");
  });

  it("says once that it fails, and again when the reason is another or it had fired meanwhile", async () => {
    let why: string | null = "no file";
    const readText = (path: string) => {
      if (why !== null) throw new Error(why);
      return host.readText(path);
    };
    await pass(CHAIN);
    at("2026-11-18T07:00:00Z");
    for (const next of ["no file", "no file", "bad line", null, "no file"]) {
      why = next;
      await pass(CHAIN, { ...host, readText }).catch(() => {});
      if (next === null) at("2026-11-19T07:00:00Z");
    }
    expect(events.map((one) => (one.kind === "failed" ? one.why : one.kind))).toEqual([
      ...["no file", "bad line", "fired", "no file"],
    ]);
    expect(events[0]).toMatchObject({ name: "nightly", fire: "2026-11-18T07:00:00.000Z" });
  });

  it("with another pattern has no past either", async () => {
    at("2026-11-18T06:00:00Z");
    await pass();
    at("2026-11-18T06:45:00Z");
    const moved = { ...NIGHTLY, cron: "30 6 * * *" };
    await pass(moved);
    expect(await ids()).toEqual([]);
    at("2026-11-19T09:00:00Z");
    await pass(moved);
    expect(await ids()).toEqual(["nightly.20261119T0630Z"]);
  });

  it("takes a damaged state for a new one", async () => {
    await pass();
    writeFileSync(join(store.folder, "schedules.json"), '{"nightly": {"handled": 7}, ');
    at("2026-11-18T07:00:00Z");
    await pass();
    expect(await ids()).toEqual([]);
    at("2026-11-19T07:00:00Z");
    await pass();
    expect(await ids()).toEqual(["nightly.20261119T0700Z"]);
  });
});

it("runs all of them, looks at least every half minute, and one that fails stops no other", async () => {
  const stop = new AbortController();
  const broken: Schedule = {
    ...CHAIN,
    name: "broken",
    tasks: { kind: "file", path: "missing.jsonl" },
  };
  const waits: number[] = [];
  const wait = async (ms: number) => {
    waits.push(ms);
    now += ms;
    if (now > Date.parse("2026-11-18T07:02:00Z")) stop.abort();
  };
  at("2026-11-18T06:58:45Z");
  const told: { kind: string; name?: string; doing?: string; note?: string }[] = [];
  await runSchedules([broken, NIGHTLY], host, (one) => told.push(one), stop.signal, wait);
  expect(Math.max(...waits)).toBe(30_000);
  expect(waits[2]).toBe(15_000);
  expect(await ids()).toEqual(["nightly.20261118T0700Z"]);
  expect(told.filter(({ kind }) => kind === "trouble").map(({ name }) => name)).toEqual([
    "broken",
    "broken",
    "broken",
  ]);
  const doing = "next: broken, 2026-11-18 07:00 UTC";
  expect(told[0]).toEqual({ kind: "well", doing, note: "" });
  expect(told.at(-1)).toMatchObject({ kind: "trouble" });
  expect(told.findLast(({ kind }) => kind === "well")).toMatchObject({
    note: "broken could not fire: there is no such file",
  });
});

it("says which fires next, in its zone; a paused one does not, and is looked at on time all the same", async () => {
  const tokyo: Schedule = {
    ...{ ...NIGHTLY, name: "tokyo", cron: "0,20,40 * * * * *", timezone: "Asia/Tokyo" },
  };
  const pause = (name: string) =>
    host.files.update(name, (state) => ({
      ...{ handled: new Date(now).toISOString(), ...state },
      paused: { by: "ann", at: "" },
    }));
  const stop = new AbortController();
  const told: { kind: string; doing?: string }[] = [];
  const waits: number[] = [];
  at("2026-11-18T06:00:00Z");
  const wait = async (ms: number) => {
    now += ms;
    if (waits.push(ms) > 2) stop.abort();
    else await pause(["tokyo", "nightly"][waits.length - 1] ?? "");
  };
  await runSchedules([NIGHTLY, tokyo], host, (one) => told.push(one), stop.signal, wait);
  const said = told.flatMap(({ doing }) => doing ?? []);
  expect(said).toEqual([
    "next: tokyo, 2026-11-18 15:00:20 Asia/Tokyo",
    "next: nightly, 2026-11-18 07:00 UTC",
    "all are paused",
  ]);
  expect(waits).toEqual([20_000, 20_000, 20_000]);
});

it("many schedules begin with one write, and a stop does not wait for the rest of them", async () => {
  const all = Array.from({ length: 50 }, (_, i) => ({ ...NIGHTLY, name: `n${i}` }));
  let writes = 0;
  const { files } = host;
  const updateAll: typeof files.updateAll = (change) => {
    writes++;
    return files.updateAll(change);
  };
  const stop = new AbortController();
  const wait = async () => at("2026-11-18T07:00:00Z");
  const counting = { ...host, files: { ...files, updateAll } };
  const once = new AbortController();
  await runSchedules(
    all,
    counting,
    () => {},
    once.signal,
    async () => once.abort(),
  );
  expect(writes).toBe(1);
  expect(files.read().size).toBe(50);
  const stopping = (event: { kind: string }) => {
    if (event.kind === "fired") stop.abort();
  };
  await runSchedules(all, host, stopping, stop.signal, wait);
  expect(await ids()).toEqual(["n0.20261118T0700Z"]);
});
