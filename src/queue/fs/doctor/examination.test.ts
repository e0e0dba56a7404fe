import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  copyFileSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { newFolder } from "../../../../test/support/folders.ts";
import { FakeHost } from "../../../../test/support/machine.ts";
import { contents, names, places, snapshot } from "../../../../test/support/run-files.ts";
import { sealDays } from "../../../ledger/seal.ts";
import { openRun } from "../../../main.ts";
import { FINDING_CODES, type FindingCode, type Store } from "../../store.ts";

const HOUR = 3_600_000;

class Scene {
  readonly path = join(newFolder(), "run");
  readonly host = new FakeHost();
  readonly machine = this.host.process();
  store!: Store;

  async open(): Promise<Store> {
    return openRun(this.path, { create: true, durability: "fast", machine: this.host.process() });
  }

  at(...parts: string[]): string {
    return join(this.path, ...parts);
  }

  /** A foreign file, old enough to be finished. */
  put(place: string, text: string, secondsAgo = 3600): void {
    writeFileSync(this.at(place), text);
    const then = Date.now() / 1000 - secondsAgo;
    utimesSync(this.at(place), then, then);
  }

  async enqueue(...ids: string[]): Promise<void> {
    for (const id of ids) await this.store.enqueue({ id, type: "t" });
  }

  async claim(worker = "w"): Promise<{ id: string; worker: string; token: string }> {
    const [claim] = await this.store.claim({ worker });
    if (!claim) throw new Error("nothing to claim");
    return { id: claim.task.task_id, worker, token: claim.token };
  }
}

interface Situation {
  name: string;
  code: FindingCode;
  layout?: "pit";
  path: string | RegExp;
  /** --fix cannot change it. */
  unfixable?: true;
  make(scene: Scene): Promise<void>;
  after?(scene: Scene): Promise<void>;
}

const task = (id: string, more: object = {}) =>
  JSON.stringify({ task_id: id, task_type: "t", ...more });

const SITUATIONS: Situation[] = [
  {
    name: "a task that is done and, once more, pending",
    code: "two_states",
    path: "pending/a.json",
    async make(scene) {
      await scene.enqueue("a");
      copyFileSync(scene.at("pending/a.json"), scene.at("../a.json"));
      await scene.store.complete(await scene.claim());
      renameSync(scene.at("../a.json"), scene.at("pending/a.json"));
    },
    async after(scene) {
      expect(places(scene.path).get("a")).toEqual([{ state: "done" }]);
      expect(names(scene.at("quarantine"))).toEqual(["a.json", "a.json.reason"]);
    },
  },
  {
    name: "a foreign task in three states, unknown to the index",
    code: "two_states",
    path: /^(failed|waiting)\/f\.json$/,
    async make(scene) {
      for (const state of ["pending", "waiting", "failed"]) {
        scene.put(`${state}/f.json`, task("f", { from: state }));
      }
    },
    async after(scene) {
      expect(places(scene.path).get("f")).toEqual([{ state: "pending" }]);
    },
  },
  {
    name: "a claimed task that is pending as well",
    code: "two_states",
    path: "pending/a.json",
    async make(scene) {
      await scene.enqueue("a");
      copyFileSync(scene.at("pending/a.json"), scene.at("../a.json"));
      await scene.claim();
      renameSync(scene.at("../a.json"), scene.at("pending/a.json"));
    },
    async after(scene) {
      expect(places(scene.path).get("a")).toEqual([{ state: "claimed", worker: "w" }]);
    },
  },
  ...Object.entries({
    "half a file": '{"task_id": "a", "task_ty',
    "an empty file": "",
    "a list": "[]",
    "a file under another's name": task("b"),
    "a task without a type": '{"task_id": "a"}',
    "a payload that is no object": task("a", { payload: [1] }),
    "dependencies that are none": task("a", { depends_on: ["../b"] }),
    "JSON that is nested too deeply": `{"task_id":"a","task_type":"t","payload":${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}}`,
  }).map(
    ([name, text]): Situation => ({
      name,
      code: "unreadable",
      path: "waiting/a.json",
      async make(scene) {
        scene.put("waiting/a.json", text);
      },
      async after(scene) {
        expect(readFileSync(scene.at("quarantine/a.json"), "utf8")).toBe(text);
        expect(await scene.store.show("a")).toMatchObject({ state: "quarantined" });
      },
    }),
  ),
  {
    name: "a folder with a task's name",
    code: "unreadable",
    path: "done/a.json",
    async make(scene) {
      mkdirSync(scene.at("done/a.json"));
      writeFileSync(scene.at("done/a.json/inside"), "kept");
    },
    async after(scene) {
      expect(readFileSync(scene.at("quarantine/a.json/inside"), "utf8")).toBe("kept");
    },
  },
  {
    name: "a symbolic link with a task's name",
    code: "unreadable",
    path: "pending/a.json",
    async make(scene) {
      writeFileSync(scene.at("../outside.json"), task("a"));
      symlinkSync(scene.at("../outside.json"), scene.at("pending/a.json"));
    },
    async after(scene) {
      expect(readFileSync(scene.at("../outside.json"), "utf8")).toBe(task("a"));
    },
  },
  {
    name: "a pipe with a task's name",
    code: "unreadable",
    path: "pending/a.json",
    async make(scene) {
      execFileSync("mkfifo", [scene.at("pending/a.json")]);
    },
  },
  {
    name: "a giant",
    code: "unreadable",
    path: "failed/a.json",
    async make(scene) {
      scene.put("failed/a.json", task("a"));
      truncateSync(scene.at("failed/a.json"), 50 * 1024 * 1024);
      utimesSync(scene.at("failed/a.json"), 1, 1);
    },
  },
  {
    name: "a status.json that is no JSON",
    code: "unreadable",
    path: "status.json",
    async make(scene) {
      await scene.enqueue("a");
      await scene.store.complete(await scene.claim());
      await scene.store.close();
      writeFileSync(scene.at("status.json"), '{"schema_ver');
    },
    async after(scene) {
      const status = await scene.store.readStatus();
      expect(status?.checkpoint.completed_tasks).toEqual(["a"]);
      expect(readFileSync(scene.at("quarantine/status.json"), "utf8")).toBe('{"schema_ver');
    },
  },
  {
    name: "a note among the tasks",
    code: "foreign_file",
    path: "pending/readme.txt",
    async make(scene) {
      scene.put("pending/readme.txt", "hello");
    },
    async after(scene) {
      expect(readFileSync(scene.at("quarantine/readme.txt"), "utf8")).toBe("hello");
    },
  },
  {
    name: "a file among the workers",
    code: "foreign_file",
    path: "claimed/notes",
    async make(scene) {
      scene.put("claimed/notes", "hello");
    },
  },
  {
    name: "a draft of a dead writer",
    code: "stale_temporary",
    path: ".viv/tmp/a~host.1.0.x",
    async make(scene) {
      writeFileSync(scene.at(".viv/tmp/a~host.1.0.x"), task("a"));
    },
  },
  {
    name: "a foreign writer's draft",
    code: "stale_temporary",
    path: "pending/.a.json.tmp",
    async make(scene) {
      scene.put("pending/.a.json.tmp", task("a"), 7200);
    },
  },
  {
    name: "an index of ids that is gone",
    code: "missing_index",
    path: ".viv/ids",
    async make(scene) {
      await scene.enqueue("a", "b");
      await scene.claim();
      rmSync(scene.at(".viv/ids/a.json"));
      rmSync(scene.at(".viv/ids/b.json"));
    },
    async after(scene) {
      await expect(scene.store.enqueue({ id: "b", type: "t" })).rejects.toMatchObject({
        code: "TASK_EXISTS",
      });
    },
  },
  {
    name: "a lane that is gone",
    code: "missing_index",
    path: ".viv/lanes",
    async make(scene) {
      await scene.enqueue("a", "b");
      await scene.store.close();
      rmSync(scene.at(".viv/lanes/normal.log"));
    },
    async after(scene) {
      expect(await scene.store.claim({ worker: "w", max: 5 })).toHaveLength(2);
    },
  },
  {
    name: "a lost note of a dependency",
    code: "missing_index",
    path: ".viv/dependents",
    async make(scene) {
      await scene.store.enqueue({ id: "b", type: "t", depends_on: ["a"] });
      rmSync(scene.at(".viv/dependents/a"));
    },
    async after(scene) {
      await scene.enqueue("a");
      await scene.store.complete(await scene.claim());
      expect((await scene.claim()).id).toBe("b");
    },
  },
  {
    name: "a lost note of a due time",
    code: "missing_index",
    path: ".viv/due",
    async make(scene) {
      await scene.store.enqueue({ id: "a", type: "t", not_before: "+30m" });
      // Another task's note for an earlier time must not hide that this one is missing.
      await scene.store.enqueue({ id: "b", type: "t", not_before: "+10m" });
      for (const minute of readdirSync(scene.at(".viv/due"))) {
        const entries = readdirSync(scene.at(".viv/due", minute)).filter((n) => n.endsWith(".a"));
        for (const name of entries) rmSync(scene.at(".viv/due", minute, name));
      }
    },
    async after(scene) {
      scene.host.advance(HOUR);
      expect(await scene.store.claim({ worker: "w", max: 5 })).toHaveLength(2);
    },
  },
  {
    name: "an attempt log that is gone",
    code: "missing_index",
    path: ".viv/attempts/a.jsonl",
    async make(scene) {
      await scene.store.enqueue({ id: "a", type: "t", max_attempts: 3 });
      await scene.store.fail(await scene.claim(), { note: "no" });
      rmSync(scene.at(".viv/attempts/a.jsonl"));
    },
    async after(scene) {
      expect(await scene.store.attemptsOf("a")).toMatchObject([
        { attempt: 1, outcome: "failed", note: "no" },
      ]);
    },
  },
  {
    name: "a task that was removed by hand",
    code: "vanished",
    path: ".viv/ids/a.json",
    async make(scene) {
      await scene.enqueue("a");
      rmSync(scene.at("pending/a.json"));
    },
    async after(scene) {
      expect(names(scene.at("quarantine"))).toContain("a.json");
      expect(await scene.store.enqueue({ id: "a", type: "t" })).toMatchObject({ created: true });
    },
  },
  {
    name: "a claim of a worker that went silent",
    code: "claim_without_worker",
    path: "claimed/w/a.json",
    async make(scene) {
      await scene.enqueue("a");
      await scene.claim();
      scene.host.advance(HOUR);
    },
    async after(scene) {
      expect(places(scene.path).get("a")).toEqual([{ state: "pending" }]);
    },
  },
  {
    name: "a claim of a process that is gone",
    code: "claim_without_worker",
    path: "claimed/w/a.json",
    async make(scene) {
      await scene.enqueue("a");
      await scene.store.register("w");
      await scene.claim();
      scene.machine.die();
      scene.store = await scene.open(); // the dead do not close
    },
    async after(scene) {
      expect(await scene.store.attemptsOf("a")).toMatchObject([{ outcome: "abandoned" }]);
    },
  },
  {
    name: "an attempt that ended, but was not moved",
    code: "unfinished_transition",
    path: "claimed/w/a.json",
    async make(scene) {
      await scene.enqueue("a");
      const { id, worker, token } = await scene.claim();
      await scene.store.close();
      const line = {
        at: new Date(scene.host.clock.now()).toISOString(),
        event: "ended",
        task: id,
        worker,
        token,
        attempt: 1,
        outcome: "done",
        from: "claimed",
        to: "done",
      };
      const [file = ""] = names(scene.at("ledger"));
      appendFileSync(scene.at("ledger", file), `${JSON.stringify(line)}\n`);
      scene.host.advance(HOUR);
    },
    async after(scene) {
      expect(places(scene.path).get("a")).toEqual([{ state: "done" }]);
      expect(await scene.store.attemptsOf("a")).toHaveLength(1);
    },
  },
  {
    name: "a task that was being enqueued when its process died",
    code: "unfinished_transition",
    path: ".viv/tmp/a~host.1.0.x",
    async make(scene) {
      writeFileSync(scene.at(".viv/tmp/a~host.1.0.x"), task("a"));
      linkSync(scene.at(".viv/tmp/a~host.1.0.x"), scene.at(".viv/ids/a.json"));
    },
    async after(scene) {
      expect((await scene.claim()).id).toBe("a");
    },
  },
  {
    name: "a status.json that has forgotten what is done",
    code: "status_drift",
    path: "status.json",
    async make(scene) {
      await scene.enqueue("a");
      await scene.store.complete(await scene.claim());
      await scene.store.close();
      const status = JSON.parse(readFileSync(scene.at("status.json"), "utf8"));
      status.checkpoint.completed_tasks = [];
      status.mine = { kept: 1.0 };
      writeFileSync(scene.at("status.json"), JSON.stringify(status));
    },
    async after(scene) {
      expect(await scene.store.readStatus()).toMatchObject({
        checkpoint: { completed_tasks: ["a"] },
        mine: { kept: 1 },
      });
    },
  },
  {
    name: "a status.json that lists what is not done",
    code: "status_drift",
    path: "status.json",
    async make(scene) {
      await scene.enqueue("a");
      await scene.store.close();
      const status = JSON.parse(readFileSync(scene.at("status.json"), "utf8"));
      status.checkpoint.completed_tasks = ["a", "foreign"];
      writeFileSync(scene.at("status.json"), JSON.stringify(status));
    },
    async after(scene) {
      const status = await scene.store.readStatus();
      expect(status?.checkpoint.completed_tasks).toEqual(["foreign"]);
    },
  },
  {
    name: "a task that nothing holds back",
    code: "stuck_waiting",
    path: "waiting/b.json",
    async make(scene) {
      await scene.enqueue("a");
      await scene.store.enqueue({ id: "b", type: "t", depends_on: ["a"] });
      renameSync(scene.at("pending/a.json"), scene.at("done/a.json"));
    },
    async after(scene) {
      expect((await scene.claim()).id).toBe("b");
    },
  },
  {
    name: "tasks that wait for each other",
    code: "dependency_cycle",
    path: /^waiting\/[ab]\.json$/,
    unfixable: true,
    async make(scene) {
      scene.put("waiting/a.json", task("a", { depends_on: ["b"] }));
      scene.put("waiting/b.json", task("b", { depends_on: ["a"] }));
    },
  },
  {
    name: "a heartbeat from the future",
    code: "future_heartbeat",
    path: "claimed/w/.heartbeat",
    async make(scene) {
      await scene.enqueue("a");
      await scene.claim();
      const later = Date.now() / 1000 + 86_400;
      utimesSync(scene.at("claimed/w/.heartbeat"), later, later);
    },
    async after(scene) {
      scene.host.advance(HOUR);
      expect((await scene.store.reap()).reaped).toHaveLength(1);
    },
  },
  {
    name: "a line that was torn",
    code: "torn_line",
    path: /^ledger\/.*\.jsonl$/,
    unfixable: true,
    async make(scene) {
      await scene.enqueue("a");
      const [file = ""] = names(scene.at("ledger"));
      appendFileSync(scene.at("ledger", file), '{"at":"2026-01-01T00:0\n');
      await scene.enqueue("b");
    },
  },
  {
    name: "a closed file of the ledger that was cut",
    code: "changed_record",
    path: "ledger/2020-01-01.jsonl",
    unfixable: true,
    async make(scene) {
      const path = scene.at("ledger", "2020-01-01.jsonl");
      writeFileSync(path, '{"at":"2020-01-01T00:00:00Z","event":"paused"}\n'.repeat(2));
      await sealDays(scene.at("ledger"), {
        now: () => Date.parse("2020-01-03"),
        sleep: async () => true,
      });
      truncateSync(path, 47);
    },
  },
  {
    name: "a pit with two foods of one number",
    code: "same_number",
    layout: "pit",
    path: /food-7-a, food-7-b/,
    unfixable: true,
    async make(scene) {
      await scene.enqueue("food-7-a");
      await scene.enqueue("food-7-b");
    },
  },
  {
    name: "a pit with a result for unknown food",
    code: "orphan_result",
    layout: "pit",
    path: /^done\/food-9-x\.result\.md$/,
    async make(scene) {
      writeFileSync(scene.at("done", "food-9-x.result.md"), "done, trust me\n");
    },
  },
  {
    name: "a pit whose viv up was killed, with a snake that goes on",
    code: "left_over_worker",
    layout: "pit",
    path: ".viv/up/snake-1.json",
    unfixable: true,
    async make(scene) {
      const self = scene.machine.self();
      mkdirSync(scene.at(".viv/up"));
      writeFileSync(
        scene.at(".viv/up", "service.json"),
        JSON.stringify({ ...self, started: "0", pid: 999_999 }),
      );
      writeFileSync(scene.at(".viv/up", "snake-1.json"), JSON.stringify(self));
    },
  },
];

afterEach(() => {
  vi.useRealTimers();
});

async function prepare(situation: Situation): Promise<Scene> {
  const scene = new Scene();
  const { path, machine } = scene;
  const { layout = "run" } = situation;
  scene.store = await openRun(path, { create: true, durability: "fast", machine, layout });
  await situation.make(scene);
  await scene.store.close();
  // Drafts are old enough to be abandoned: their age is in real time.
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 60_000 });
  scene.store = await scene.open();
  return scene;
}

describe("doctor", () => {
  test("there is a situation for every code", () => {
    const codes = new Set(SITUATIONS.map(({ code }) => code));
    expect([...codes].sort()).toEqual([...FINDING_CODES].sort());
  });

  describe.each(SITUATIONS)("$code: $name", (situation) => {
    test("is reported, and nothing is changed", async () => {
      const scene = await prepare(situation);
      await new Promise((resolve) => setImmediate(resolve)); // then the line of a claim is written
      const before = snapshot(scene.path);
      const { findings } = await scene.store.doctor();
      expect(snapshot(scene.path)).toEqual(before);
      const found = findings.filter(({ code }) => code === situation.code);
      expect(found.length, JSON.stringify(findings)).toBeGreaterThan(0);
      for (const finding of found) {
        expect(finding.fixed).toBe(false);
        expect(finding.message).not.toBe("");
        expect(finding.repair).not.toBe("");
        if (typeof situation.path === "string") expect(finding.path).toBe(situation.path);
        else expect(finding.path).toMatch(situation.path);
      }
      // The same again: looking is no change.
      expect((await scene.store.doctor()).findings).toEqual(findings);
      await scene.store.close();
    });

    test("is repaired by --fix, and no content is lost", async () => {
      const scene = await prepare(situation);
      const before = contents(scene.path);
      const { findings } = await scene.store.doctor({ fix: true });
      const found = findings.filter(({ code }) => code === situation.code);
      expect(found.length, JSON.stringify(findings)).toBeGreaterThan(0);
      for (const { fixed } of found) expect(fixed).toBe(!situation.unfixable);

      const left = contents(scene.path);
      for (const text of before) {
        const at = left.indexOf(text);
        expect(at, `still there: ${text.slice(0, 200)}`).toBeGreaterThanOrEqual(0);
        left.splice(at, 1);
      }
      for (const name of names(scene.at("quarantine"))) {
        if (name.endsWith(".reason")) continue;
        const note = readFileSync(scene.at("quarantine", `${name}.reason`), "utf8");
        expect(JSON.parse(note)).toMatchObject({ reason: expect.stringMatching(/./) });
      }
      const again = (await scene.store.doctor()).findings;
      if (!situation.unfixable) expect(again).toEqual([]);
      else for (const { code } of again) expect(code).toBe(situation.code);
      await situation.after?.(scene);
      await scene.store.close();
    });
  });

  test("a run at work has no findings, while others change it", async () => {
    const scene = new Scene();
    scene.store = await scene.open();
    await scene.store.enqueueMany(
      Array.from({ length: 300 }, (_, n) => ({
        id: `t${n}`,
        type: "t",
        depends_on: n % 5 === 4 ? [`t${n - 1}`] : [],
      })),
    );
    const doctor = await scene.open();
    const drain = async () => {
      for (;;) {
        const claims = await scene.store.claim({ worker: "w", max: 3 });
        if (claims.length === 0) return;
        for (const { task: one, token } of claims) {
          await scene.store.complete({ id: one.task_id, worker: "w", token });
          await new Promise((resolve) => setImmediate(resolve));
        }
      }
    };
    let over = false;
    const drained = drain().finally(() => {
      over = true;
    });
    while (!over) {
      expect((await doctor.doctor()).findings).toEqual([]);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await drained;
    await scene.store.close();
    expect((await doctor.doctor({ fix: true })).findings).toEqual([]);
    await doctor.close();
  });

  test("a young file may still be being written: it is left alone", async () => {
    const scene = new Scene();
    scene.store = await scene.open();
    writeFileSync(scene.at("pending/young.json"), '{"task_id": "young", ');
    writeFileSync(scene.at(".viv/tmp/draft~host.1.0.x"), "{");
    writeFileSync(scene.at("pending/.young.tmp"), "{");
    const before = snapshot(scene.path);
    expect((await scene.store.doctor({ fix: true })).findings).toEqual([]);
    const after = snapshot(scene.path);
    for (const path of Object.keys(before)) {
      if (!path.startsWith("status.json") && !path.startsWith(".viv/projection")) {
        expect(after[path], path).toBe(before[path]);
      }
    }
    // Finished, it is a task like any other.
    writeFileSync(scene.at("pending/young.json"), task("young"));
    expect(await scene.store.claim({ worker: "w" })).toHaveLength(1);
    await scene.store.close();
  });
});
