import { execFileSync, spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { newFolder } from "../../../test/support/folders.ts";
import { cannotMount, mountTmpfs, remount } from "../../../test/support/mounts.ts";
import { newRun } from "../../../test/support/new-run.ts";
import { DIST } from "../../../test/support/processes.ts";
import { contents, names, places, snapshot } from "../../../test/support/run-files.ts";
import { isVivError, type VivError } from "../../base/errors.ts";
import { parseUserJson } from "../../base/user-json.ts";
import { openRun } from "../../main.ts";
import { specFromObject } from "../spec.ts";

/** Bad input that a run directory can meet. */

/** The error must be one of ours: a code, and a sentence with the next step. */
async function failure(call: Promise<unknown>): Promise<VivError> {
  try {
    await call;
  } catch (error) {
    if (!isVivError(error)) throw error;
    return error;
  }
  throw new Error("expected it to be refused");
}

/** A rest that is not over during the test. */
const HOUR = 3_600_000;

const task = (id: string, more: object = {}) =>
  JSON.stringify({ task_id: id, task_type: "t", ...more });

const BAD_NAMES = [
  "../x",
  "a/b",
  "/etc/passwd",
  "..",
  ".",
  ".hidden",
  "",
  "x".repeat(129),
  "a\nb",
  "a\0b",
  "a b",
  "a\tb",
  "é",
  "a~b",
  "%2e%2e",
  "a\\b",
];

describe("names", () => {
  test.each(BAD_NAMES)(
    "%j is refused wherever a name is taken, and touches nothing",
    async (bad) => {
      const folder = newFolder();
      const { store } = await newRun(folder);
      const before = snapshot(folder);
      const calls: (() => Promise<unknown>)[] = [
        () => store.enqueue({ id: bad, type: "t" }),
        () => store.enqueue({ id: "ok", type: "t", depends_on: [bad] }),
        () => store.enqueue({ id: "ok", type: "t", parent: bad }),
        () => store.enqueueMany([{ id: bad, type: "t" }]),
        () => store.claim({ worker: bad }),
        () => store.complete({ id: bad, worker: "w" }),
        () => store.complete({ id: "ok", worker: bad }),
        () => store.fail({ id: bad, worker: "w" }),
        () => store.release({ id: bad, worker: "w" }),
        () => store.cancel(bad),
        () => store.retry(bad),
        () => store.approve(bad),
        () => store.reject(bad),
        () => store.show(bad),
        () => store.attemptsOf(bad),
        () => store.heartbeat(bad),
        () => store.register(bad),
        async () => {
          for await (const _ of store.log(bad)) throw new Error("read something");
        },
      ];
      for (const call of calls) expect((await failure(call())).code).toBe("INVALID");
      expect(snapshot(folder)).toEqual(before);
    },
  );

  test("128 characters, and all kinds that are allowed, go through everything", async () => {
    const { store, path } = await newRun();
    const id = `${"Az09._-".repeat(18)}xx`;
    expect(id).toHaveLength(128);
    await store.register(id);
    await store.enqueue({ id, type: "t", depends_on: [`d${id.slice(1)}`], max_attempts: 2 });
    await store.enqueue({ id: `d${id.slice(1)}`, type: "t" });
    for (let n = 0; n < 2; n++) {
      const [claim] = await store.claim({ worker: id });
      if (!claim) throw new Error("nothing to claim");
      await store.complete({ id: claim.task.task_id, worker: id, token: claim.token });
    }
    writeFileSync(join(path, "pending", `${id}.json`), "{");
    utimesSync(join(path, "pending", `${id}.json`), 1, 1);
    await store.doctor({ fix: true });
    expect(names(join(path, "quarantine"))).toHaveLength(2);
    await store.close();
  });
});

describe("payloads", () => {
  test.each(["[]", "null", "1", '"x"', "true"])("a payload %s is refused", async (text) => {
    const { store } = await newRun();
    const spec = { id: "a", type: "t", payload: parseUserJson(text, "payload") as never };
    if (text !== "null") expect((await failure(store.enqueue(spec))).code).toBe("INVALID");
    expect(() => specFromObject(parseUserJson(text, "the line"))).toThrow(/JSON object/);
    expect(await store.counts()).toMatchObject({ pending: 0 });
  });

  test.each(["{", "{'a':1}", "{a:1}", "", "undefined", '{"a":1}}', "\u0000", '{"a":"\n"}'])(
    "%j is no JSON, and the error says so",
    (text) => {
      expect(() => parseUserJson(text, "payload")).toThrow(/payload is not valid JSON/);
    },
  );

  test.each([
    "1e400",
    "-1e999",
    "12345678901234567890",
    "0.1234567890123456789012345",
    "9007199254740993",
  ])("the number %s would not survive, and is refused or kept", (text) => {
    let value: unknown;
    try {
      value = parseUserJson(`{"n":${text}}`, "payload");
    } catch (error) {
      expect(error).toMatchObject({ code: "INVALID" });
      return;
    }
    expect(Number.isFinite((value as { n: number }).n)).toBe(true);
  });

  test("50 MB is refused, and nothing is left of it", async () => {
    const folder = newFolder();
    const { store } = await newRun(folder);
    const before = snapshot(folder);
    const payload = { text: "x".repeat(50 * 1024 * 1024) };
    const error = await failure(store.enqueue({ id: "a", type: "t", payload }));
    expect(error.code).toBe("INVALID");
    expect(error.message).toMatch(/limit is 16/);
    const bulk = await failure(
      store.enqueueMany([
        { id: "a", type: "t" },
        { id: "b", type: "t", payload },
      ]),
    );
    expect(bulk.details.index).toBe(1);
    rmSync(join(store.location, "pending/a.json"));
    expect(Object.keys(snapshot(folder)).filter((path) => path.includes("/tmp/"))).toEqual([
      ...Object.keys(before).filter((path) => path.includes("/tmp/")),
    ]);
  });

  test("just under the limit, a payload goes through", async () => {
    const { store } = await newRun();
    const payload = { text: "x".repeat(15 * 1024 * 1024) };
    await store.enqueue({ id: "a", type: "t", payload });
    const [claim] = await store.claim({ worker: "w" });
    expect(claim?.task.payload).toEqual(payload);
    await store.complete({ id: "a", worker: "w" });
    await store.close();
  });

  test.each([501, 3_000, 10_000, 200_000])("%i levels are refused, quickly", async (levels) => {
    const { store } = await newRun();
    let deep: unknown = 1;
    for (let n = 0; n < levels; n++) deep = n % 2 ? [deep] : { a: deep };
    const error = await failure(store.enqueue({ id: "a", type: "t", payload: { deep } }));
    expect(error.code).toBe("INVALID");
    expect(error.message).toMatch(/nested deeper than/);
    const text = `${"[".repeat(levels)}1${"]".repeat(levels)}`;
    expect(() => parseUserJson(text, "payload")).toThrow(/nested deeper/);
    expect(await store.counts()).toMatchObject({ pending: 0 });
  });

  test("values without a JSON form are refused or kept, never lost in silence", async () => {
    const { store } = await newRun();
    const at = new Date(0);
    const results = await Promise.allSettled([
      store.enqueue({ id: "date", type: "t", payload: { at } }),
      store.enqueue({ id: "big", type: "t", payload: { n: 10n } }),
      store.enqueue({ id: "map", type: "t", payload: { m: new Map([["a", 1]]) } }),
    ]);
    for (const result of results) {
      if (result.status === "rejected") expect(result.reason).toMatchObject({ code: "INVALID" });
    }
    const date = (await store.show("date"))?.task?.payload.at;
    if (results[0]?.status === "fulfilled") expect(date).toBe(at.toISOString());
    if (results[2]?.status === "fulfilled") {
      expect((await store.show("map"))?.task?.payload.m).not.toEqual({});
    }
  });

  test("specs from a stream keep __proto__ and other odd keys as keys", () => {
    const line = '{"type":"t","__proto__":{"a":1},"constructor":2,"toString":3,"payload":{}}';
    const spec = specFromObject(parseUserJson(line, "it"));
    expect(Object.entries(spec.extra ?? {}).sort()).toEqual([
      ["__proto__", { a: 1 }],
      ["constructor", 2],
      ["toString", 3],
    ]);
  });
});

describe("foreign files in pending/", () => {
  test("half a file that is young is left alone; when it is whole, it is claimed", async () => {
    const { store, path } = await newRun();
    const file = join(path, "pending/a.json");
    writeFileSync(file, '{"task_id": "a", "task_');
    expect(await store.claim({ worker: "w" })).toEqual([]);
    await store.sweep();
    expect(names(join(path, "quarantine"))).toEqual([]);
    writeFileSync(file, task("a", { mine: "kept" }));
    const [claim] = await store.claim({ worker: "w" });
    expect(claim?.task).toMatchObject({ task_id: "a", mine: "kept" });
  });

  test("half a file that is old is quarantined with the reason, and the others are claimed", async () => {
    const { store, path } = await newRun();
    const half = '{"task_id": "a", "task_';
    writeFileSync(join(path, "pending/a.json"), half);
    utimesSync(join(path, "pending/a.json"), 1, 1);
    writeFileSync(join(path, "pending/b.json"), task("b"));
    expect((await store.claim({ worker: "w", max: 9 })).map((c) => c.task.task_id)).toEqual(["b"]);
    expect(readFileSync(join(path, "quarantine/a.json"), "utf8")).toBe(half);
    const reason = JSON.parse(readFileSync(join(path, "quarantine/a.json.reason"), "utf8"));
    expect(reason).toMatchObject({ from: "pending/a.json", reason: expect.stringMatching(/JSON/) });
    expect(await store.show("a")).toMatchObject({ state: "quarantined", reason: reason.reason });
    expect(await store.counts()).toMatchObject({ quarantined: 1, pending: 0, claimed: 1 });
    const lines = [];
    for await (const line of store.ledger({ task: "a" })) lines.push(line.event);
    expect(lines).toEqual(["quarantined"]);
  });

  test("a finished task that cannot be read is shown with the reason, after its history", async () => {
    const { store, path } = await newRun();
    writeFileSync(join(path, "failed/a.json"), "{half");
    const shown = JSON.parse(JSON.stringify(await store.show("a")));
    expect(Object.keys(shown)).toEqual([
      "id",
      "type",
      "state",
      "task",
      "since",
      "history",
      "reason",
    ]);
    expect(shown).toMatchObject({ task: null, reason: expect.stringMatching(/^not JSON/) });
  });

  test("a second one of the same name goes beside the first", async () => {
    const { store, path } = await newRun();
    for (const text of ["{one", "{two", "{three"]) {
      writeFileSync(join(path, "pending/a.json"), text);
      utimesSync(join(path, "pending/a.json"), 1, 1);
      await store.sweep();
    }
    expect(contents(path)).toEqual(["{one", "{three", "{two"]);
  });

  test("a folder, a link, a pipe and a socket with a task's name", async () => {
    const folder = newFolder();
    const { store, path } = await newRun(folder);
    writeFileSync(join(folder, "outside.json"), task("link"));
    mkdirSync(join(path, "pending/folder.json"));
    writeFileSync(join(path, "pending/folder.json/inside"), "kept");
    symlinkSync(join(folder, "outside.json"), join(path, "pending/link.json"));
    symlinkSync("/nowhere", join(path, "pending/broken.json"));
    execFileSync("mkfifo", [join(path, "pending/pipe.json")]);
    writeFileSync(join(path, "pending/ok.json"), task("ok"));
    expect((await store.claim({ worker: "w", max: 9 })).map((c) => c.task.task_id)).toEqual(["ok"]);
    const moved = names(join(path, "quarantine")).filter((name) => !name.endsWith(".reason"));
    expect(moved).toEqual(["broken.json", "folder.json", "link.json", "pipe.json"]);
    expect(readFileSync(join(path, "quarantine/folder.json/inside"), "utf8")).toBe("kept");
    expect(readFileSync(join(folder, "outside.json"), "utf8")).toBe(task("link"));
    expect((await store.doctor()).findings).toEqual([]);
  });

  test("a type that is half a character does not stop claims", async () => {
    const { store, path } = await newRun();
    writeFileSync(join(path, "pending/a.json"), '{"task_id":"a","task_type":"\\ud800"}');
    writeFileSync(join(path, "pending/b.json"), task("b"));
    const claims = await store.claim({ worker: "w", max: 9 });
    expect(claims.map((c) => c.task.task_id).sort()).toEqual(["a", "b"]);
  });

  test("a file that is exchanged after it was announced is read, not remembered", async () => {
    const { store, path } = await newRun();
    await store.enqueue({ id: "a", type: "t", payload: { v: 1 } });
    rmSync(join(path, "pending/a.json"));
    writeFileSync(join(path, "pending/a.json"), task("a", { payload: { v: 2 } }));
    const [claim] = await store.claim({ worker: "w" });
    expect(claim?.task.payload).toEqual({ v: 2 });
  });

  test("a folder in the place of a finished task stops no worker", async () => {
    const { store, path } = await newRun();
    for (const id of ["a", "b"]) await store.enqueue({ id, type: "t" });
    mkdirSync(join(path, "done/a.json"));
    writeFileSync(join(path, "done/a.json/inside"), "kept");
    const claims = await store.claim({ worker: "w", max: 2 });
    for (const { task: one, token } of claims) {
      await store.complete({ id: one.task_id, worker: "w", token });
    }
    expect(places(path).get("b")).toEqual([{ state: "done" }]);
    expect(statSync(join(path, "done/a.json")).isFile()).toBe(true);
    expect(contents(path)).toContain("kept");
    expect((await store.reap({ staleAfterSeconds: 0 })).reaped).toEqual([]);
  });

  test("a second file under a failed task's id is not lost when the first is sent round again", async () => {
    const { store, path } = await newRun();
    await store.enqueue({ id: "a", type: "t", payload: { ours: true } });
    const [claim] = await store.claim({ worker: "w" });
    await store.fail({ id: "a", worker: "w", token: claim?.token ?? "" });
    writeFileSync(join(path, "pending/a.json"), task("a", { payload: { theirs: true } }));
    const before = contents(path);
    await store.cancel("a").catch(() => {});
    await store.retry("a").catch(() => {});
    await store.doctor({ fix: true });
    for (const text of before) expect(contents(path)).toContain(text);
  });
});

describe("lanes and ledgers that a crash or a full disk tore", () => {
  test("a torn line on a lane costs no task, and no claim fails", async () => {
    const { store, path } = await newRun();
    await store.enqueue({ id: "a", type: "t", payload: { text: "x".repeat(100) } });
    await store.close();
    const lane = join(path, ".viv/lanes/normal.log");
    const whole = readFileSync(lane, "latin1");
    for (let cut = 1; cut < whole.length; cut += 7) {
      writeFileSync(lane, whole.slice(0, whole.length - cut));
      const next = await openRun(path, { durability: "fast" });
      const id = `b${cut}`;
      await next.enqueue({ id, type: "t" });
      const claims = await next.claim({ worker: "w", max: 9 });
      claims.push(...(await next.claim({ worker: "w", max: 9 })));
      expect(claims.map((c) => c.task.task_id).sort(), `cut ${cut}`).toEqual(["a", id]);
      await next.complete({ id, worker: "w" });
      await next.release({ id: "a", worker: "w" });
      await next.close();
      rmSync(join(path, ".viv/cursors"), { recursive: true });
    }
  });

  test("a torn line in the ledger does not swallow the next one", async () => {
    const { store, path } = await newRun();
    await store.enqueue({ id: "a", type: "t" });
    await store.close();
    const [day = ""] = names(join(path, "ledger"));
    appendFileSync(join(path, "ledger", day), '{"at":"2026-01-01T00:00:00.000Z","event":"enq');
    const next = await openRun(path, { durability: "fast" });
    await next.enqueue({ id: "b", type: "t" });
    const events = [];
    for await (const { task: id } of next.ledger()) events.push(id);
    expect(events).toEqual(["a", "b"]);
  });
});

describe("links inside a run are not followed", () => {
  test.each(["pending", "done", "claimed", "ledger", "artifacts", "quarantine"])(
    "%s as a link: the run is refused, and nothing is written through it",
    async (name) => {
      const folder = newFolder();
      const { store, path } = await newRun(folder);
      await store.enqueue({ id: "a", type: "t" });
      await store.close();
      mkdirSync(join(folder, "elsewhere"));
      rmSync(join(path, name), { recursive: true });
      symlinkSync(join(folder, "elsewhere"), join(path, name));
      for (const options of [{}, { create: true }, { readOnly: true }]) {
        const error = await failure(openRun(path, options));
        expect(error.code).toBe("RUN_INVALID");
        expect(error.message).toContain("symbolic link");
      }
      expect(names(join(folder, "elsewhere"))).toEqual([]);
    },
  );

  test.each([".viv", ".viv/tmp"])("%s as a link: moved away, and made anew", async (name) => {
    const folder = newFolder();
    const { store, path } = await newRun(folder);
    await store.enqueue({ id: "a", type: "t" });
    await store.close();
    mkdirSync(join(folder, "elsewhere"));
    rmSync(join(path, name), { recursive: true });
    symlinkSync(join(folder, "elsewhere"), join(path, name));
    expect((await failure(openRun(path, { readOnly: true }))).code).toBe("RUN_INVALID");
    const again = await openRun(path, { durability: "fast" });
    await again.enqueue({ id: "b", type: "t" });
    expect(await again.claim({ worker: "w", max: 3 })).toHaveLength(2);
    await again.close();
    expect(names(join(folder, "elsewhere"))).toEqual([]);
    expect(names(join(path, "quarantine"))).toHaveLength(2);
  });

  test("a worker's folder as a link", async () => {
    const folder = newFolder();
    const { store, path } = await newRun(folder);
    await store.enqueue({ id: "a", type: "t" });
    mkdirSync(join(folder, "elsewhere"));
    symlinkSync(join(folder, "elsewhere"), join(path, "claimed/w"));
    expect((await failure(store.claim({ worker: "w" }))).code).toBe("RUN_INVALID");
    expect((await failure(store.heartbeat("w"))).code).toBe("RUN_INVALID");
    expect(await store.reap({ staleAfterSeconds: 0 })).toMatchObject({ reaped: [] });
    expect(names(join(folder, "elsewhere"))).toEqual([]);
    await store.doctor({ fix: true });
    expect(await store.claim({ worker: "w" })).toHaveLength(1);
  });

  test("files of the run's own as links: nothing outside the run is written", async () => {
    const folder = newFolder();
    const { store, path } = await newRun(folder);
    const day = new Date().toISOString().slice(0, 10);
    mkdirSync(join(path, "claimed/w"));
    const links = {
      ledger: `ledger/${day}.jsonl`,
      lane: ".viv/lanes/normal.log",
      beat: "claimed/w/.heartbeat",
      dependents: ".viv/dependents/zz",
      attempts: ".viv/attempts/a.jsonl",
      cursor: ".viv/cursors/normal.all",
      mark: ".viv/adopted",
      status: "status.json",
      lock: ".status.lock",
      workers: ".viv/workers/.lock",
    };
    for (const [name, place] of Object.entries(links)) {
      rmSync(join(path, place), { force: true });
      symlinkSync(join(folder, `outside-${name}`), join(path, place));
    }
    const attempt = async (call: () => Promise<unknown>) => {
      try {
        await call();
      } catch {
        // Refused is fine; written through a link is not.
      }
    };
    await attempt(() => store.enqueue({ id: "a", type: "t", max_attempts: 3 }));
    await attempt(() => store.enqueue({ id: "b", type: "t", depends_on: ["zz"] }));
    await attempt(() => store.claim({ worker: "w" }));
    await attempt(() => store.heartbeat("w"));
    await attempt(() => store.register("w2"));
    await attempt(() => store.fail({ id: "a", worker: "w" }));
    await attempt(() => store.sweep());
    await attempt(() => store.writeStatus({ summary: "x" }));
    await attempt(() => store.close());
    expect(names(folder)).toEqual(["run"]);
  });
});

describe("run directories that cannot serve", () => {
  test("missing", async () => {
    const folder = newFolder();
    const error = await failure(openRun(join(folder, "nowhere")));
    expect(error.code).toBe("RUN_NOT_FOUND");
    expect(names(folder)).toEqual([]);
  });

  test("a folder that is no run", async () => {
    const folder = newFolder();
    expect((await failure(openRun(folder))).code).toBe("RUN_NOT_FOUND");
    expect(names(folder)).toEqual([]);
  });

  test("a file, or below one", async () => {
    const file = join(newFolder(), "file");
    writeFileSync(file, "");
    for (const create of [false, true]) {
      expect((await failure(openRun(file, { create }))).code).toBe("RUN_INVALID");
      const below = await failure(openRun(join(file, "run"), { create }));
      expect(["RUN_INVALID", "RUN_NOT_FOUND"]).toContain(below.code);
    }
  });

  test("a name that no file can have", async () => {
    for (const create of [false, true]) {
      await failure(openRun(join(newFolder(), "a\0b"), { create }));
      await failure(openRun(join(newFolder(), "x".repeat(300)), { create }));
    }
  });

  test("a file where a folder of the run should be", async () => {
    const { store, path } = await newRun();
    await store.close();
    rmSync(join(path, "done"), { recursive: true });
    writeFileSync(join(path, "done"), "");
    expect((await failure(openRun(path))).code).toBe("RUN_INVALID");
  });

  test("everything is for its owner alone", async () => {
    const before = process.umask(0);
    try {
      const { store, path } = await newRun();
      await store.enqueue({ id: "a", type: "t", max_attempts: 2 });
      await store.enqueue({ id: "b", type: "t", depends_on: ["a"], not_before: "+1h" });
      await store.register("w");
      await store.claim({ worker: "w" });
      await store.fail({ id: "a", worker: "w" });
      await store.close();
      expect(statSync(path).mode & 0o777).toBe(0o700);
      for (const name of Object.keys(snapshot(path))) {
        const mode = statSync(join(path, name)).mode & 0o777;
        expect(mode & 0o077, name).toBe(0);
      }
    } finally {
      process.umask(before);
    }
  });

  test("another user's", async ({ skip }) => {
    if (process.getuid?.() !== 0) skip("only root can become another user");
    if (!existsSync(join(DIST, "main.js"))) skip(`no build at ${DIST}`);
    const folder = newFolder();
    chmodSync(folder, 0o755);
    const { store, path } = await newRun(folder);
    await store.enqueue({ id: "a", type: "t" });
    await store.close();
    const script = fileURLToPath(new URL("../../../test/support/try-all.mjs", import.meta.url));
    const args = ["--reuid=65534", "--regid=65534", "--clear-groups", process.execPath, script];
    const before = snapshot(folder);
    const { stdout, stderr, status } = spawnSync("setpriv", [...args, path], {
      env: { ...process.env, VIV_DIST: DIST },
      encoding: "utf8",
    });
    expect(status, stderr).toBe(0);
    for (const [what, outcome] of Object.entries(JSON.parse(stdout) as Record<string, string>)) {
      expect(["READ_ONLY", "fine"], `${what}: ${outcome}`).toContain(outcome.split(" ")[0]);
    }
    expect(snapshot(folder)).toEqual(before);
  });
});

describe.skipIf(cannotMount)("mounts", () => {
  test("a run on two filesystems is refused", async () => {
    const { store, path } = await newRun();
    await store.close();
    mountTmpfs(join(path, "done"), "size=1m");
    const error = await failure(openRun(path));
    expect(error.code).toBe("RUN_INVALID");
    expect(error.message).toMatch(/filesystem|mount/);
  });

  test("a read-only run can be read, and every change is refused with a message", async () => {
    const folder = newFolder();
    mountTmpfs(folder, "size=4m");
    const { store, path } = await newRun(folder);
    for (const id of ["a", "b", "c", "r"]) {
      await store.enqueue({ id, type: "t", review: id === "r" });
    }
    await store.claim({ worker: "w", max: 2 });
    await store.complete({ id: "b", worker: "w" });
    await store.cancel("c");
    await store.close();
    remount(folder, "ro");
    for (const readOnly of [true, false]) {
      const ro = await openRun(path, { readOnly });
      expect(await ro.counts()).toMatchObject({ done: 1, claimed: 1, failed: 1, pending: 1 });
      expect(await ro.show("a")).toMatchObject({ state: "claimed" });
      expect(await ro.workers()).toHaveLength(1);
      expect((await ro.doctor()).findings).toEqual([]);
      expect(await ro.readStatus()).not.toBeNull();
      const changes: Record<string, () => Promise<unknown>> = {
        enqueue: () => ro.enqueue({ id: "n", type: "t" }),
        waiting: () => ro.enqueue({ id: "n", type: "t", depends_on: ["a"] }),
        enqueueMany: () => ro.enqueueMany([{ id: "n", type: "t" }]),
        claim: () => ro.claim({ worker: "w" }),
        claimAsAnother: () => ro.claim({ worker: "w2" }),
        complete: () => ro.complete({ id: "a", worker: "w" }),
        fail: () => ro.fail({ id: "a", worker: "w" }),
        release: () => ro.release({ id: "a", worker: "w" }),
        cancel: () => ro.cancel("a"),
        retry: () => ro.retry("c"),
        heartbeat: () => ro.heartbeat("w"),
        register: () => ro.register("w3"),
        reap: () => ro.reap({ staleAfterSeconds: 0 }),
        writeStatus: () => ro.writeStatus({ summary: "x" }),
      };
      for (const [name, change] of Object.entries(changes)) {
        expect((await failure(change())).code, name).toBe("READ_ONLY");
      }
      // These may find nothing to do; otherwise they are refused.
      for (const quiet of [
        () => ro.sweep(),
        () => ro.doctor({ fix: true }),
        () => ro.waitForWork({ timeoutMs: 20 }),
        () => ro.close(),
      ]) {
        await quiet().catch((error: unknown) => {
          expect(error).toMatchObject({ code: "READ_ONLY" });
        });
      }
    }
  });

  test.each(["safe", "fast"] as const)(
    "a disk that fills up while tasks are enqueued (%s): what was acknowledged is there",
    async (durability) => {
      const folder = newFolder();
      mountTmpfs(folder, "size=512k,nr_inodes=2000");
      const { store, path } = await newRun(folder);
      const acknowledged: string[] = [];
      let error: VivError | undefined;
      for (let n = 0; n < 2000 && !error; n++) {
        const spec = {
          id: `t${n}`,
          type: "t",
          payload: { text: "x".repeat(n % 900) },
          depends_on: n % 3 === 2 ? ["not-there"] : [],
        };
        try {
          await store.enqueue(spec, { durability });
          acknowledged.push(spec.id);
        } catch (caught) {
          if (!isVivError(caught)) throw caught;
          error = caught;
        }
      }
      expect(error?.code).toBe("DISK_FULL");
      expect(error?.message).toContain("free some space");
      const there = places(path);
      for (const id of acknowledged) expect(there.get(id), id).toHaveLength(1);
      expect(acknowledged.length).toBeGreaterThan(20);

      const bulk = await failure(
        store.enqueueMany(
          Array.from({ length: 300 }, (_, n) => ({ id: `b${n}`, type: "t" })),
          { durability },
        ),
      );
      expect(bulk.code).toBe("DISK_FULL");
      // With room again, the same call goes on where it stopped, and everything is as it should be.
      remount(folder, "size=32m,nr_inodes=20000");
      const refused = `t${acknowledged.length}`;
      await store.enqueue({ id: refused, type: "t" }, { durability, ifAbsent: true });
      await store.enqueueMany(
        Array.from({ length: 300 }, (_, n) => ({ id: `b${n}`, type: "t" })),
        { durability, ifAbsent: true },
      );
      await store.close();
      const next = await openRun(path);
      const { findings } = await next.doctor({ fix: true });
      const left = (await next.doctor()).findings.filter(({ code }) => code !== "torn_line");
      expect(left, JSON.stringify(findings)).toEqual([]);
      const now = places(path);
      for (let n = 0; n < 300; n++) expect(now.get(`b${n}`), `b${n}`).toHaveLength(1);
      for (const id of [...acknowledged, refused]) expect(now.get(id), id).toHaveLength(1);
      await next.close();
    },
  );

  test("a full disk while attempts end: each is either over or still held, and can be ended later", async () => {
    const folder = newFolder();
    mountTmpfs(folder, "size=1m,nr_inodes=2000");
    const { store, path } = await newRun(folder);
    await store.enqueueMany(
      Array.from({ length: 120 }, (_, n) => ({ id: `t${n}`, type: "t", max_attempts: 2 })),
    );
    await store.register("w");
    const claims = await store.claim({ worker: "w", max: 100 });
    expect(claims).toHaveLength(100);
    // Fill the disk, to the last byte.
    for (const size of [65_536, 4_096, 1]) {
      try {
        for (;;) appendFileSync(join(folder, "ballast"), "x".repeat(size));
      } catch (error) {
        expect(error).toMatchObject({ code: "ENOSPC" });
      }
    }
    const over = new Set<string>();
    for (const [n, { task: one, token }] of claims.entries()) {
      const ref = { id: one.task_id, worker: "w", token };
      try {
        await (n % 2 ? store.fail(ref, { backoffMs: HOUR }) : store.complete(ref));
        over.add(ref.id);
      } catch (error) {
        if (!isVivError(error)) throw error;
        expect(error.code).toBe("DISK_FULL");
        expect(places(path).get(ref.id)).toEqual([{ state: "claimed", worker: "w" }]);
      }
    }
    expect(over.size).toBeLessThan(100);
    // A claim that cannot be made takes nothing.
    const before = (await store.counts()).pending;
    const more = await store.claim({ worker: "w2", max: 3 }).catch((error: unknown) => {
      expect(error).toMatchObject({ code: "DISK_FULL" });
      return [];
    });
    expect((await store.counts()).pending).toBe(before - more.length);
    await new Promise((resolve) => setImmediate(resolve));

    rmSync(join(folder, "ballast"));
    for (const [n, { task: one, token }] of claims.entries()) {
      const ref = { id: one.task_id, worker: "w", token };
      if (!over.has(ref.id))
        await (n % 2 ? store.fail(ref, { backoffMs: HOUR }) : store.complete(ref));
    }
    expect(await store.counts()).toMatchObject({ done: 50, waiting: 50 });
    await store.close();
    const next = await openRun(path);
    await next.doctor({ fix: true });
    const left = (await next.doctor()).findings.filter(({ code }) => code !== "torn_line");
    expect(left).toEqual([]);
    for (const { task: one } of claims) {
      expect(await next.attemptsOf(one.task_id), one.task_id).toHaveLength(1);
    }
    await next.close();
  });
});
