import { mkdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { isVivError } from "../../src/base/errors.ts";
import { openRun } from "../../src/main.ts";
import type { DoctorReport, Finding, Store } from "../../src/queue/store.ts";
import { type Fault, Faults } from "../support/faults.ts";
import { newFolder } from "../support/folders.ts";
import { FakeHost } from "../support/machine.ts";
import { useQuickLocks } from "../support/quick-locks.ts";
import { contents, countedCompletions, ledgerLines, names, places } from "../support/run-files.ts";

/**
 * Every transition, cut off at every one of its changes to the file system: by death, by death in
 * the middle of a write, and by a full disk. Whatever is left must be something that reap, sweep
 * and doctor put right: nothing lost, nothing twice, and everything can still be worked off.
 */

interface Scene {
  store: Store;
  path: string;
  host: FakeHost;
  /** What the act needs from the set-up. */
  refs: { id: string; worker: string; token: string }[];
  /** Tasks that went back after they were done. */
  reworked: string[];
  /** Process trees of handlers: they must be gone before their tasks are given out again. */
  trees: number[];
}

interface Scenario {
  name: string;
  setUp(scene: Scene): Promise<void>;
  act(scene: Scene): Promise<unknown>;
  /** Ids that the act creates: they need not exist after a crash, all others must. */
  creates?: string[];
  /** The act enqueues `a` again, with the payload `{ round: 2 }`. */
  isAgain?: boolean;
  /** The act sends `a` back, which was done once. */
  isReworked?: boolean;
}

const HOUR = 3_600_000;

const enqueue = (scene: Scene, ...ids: string[]) =>
  Promise.all(ids.map((id) => scene.store.enqueue({ id, type: "t" })));

async function claim(scene: Scene, worker = "w", max = 1): Promise<void> {
  for (const { task, token } of await scene.store.claim({ worker, max })) {
    scene.refs.push({ id: task.task_id, worker, token });
  }
}

const first = (scene: Scene) => {
  const [ref] = scene.refs;
  if (!ref) throw new Error("the set-up claimed nothing");
  return ref;
};

const claimed = async (scene: Scene) => {
  await enqueue(scene, "a", "b");
  await claim(scene);
};

const SAME = { fingerprint: "f", note: "no", backoffMs: 0 };

/** Has failed twice in the same way, and is claimed for the third time; another worker is there. */
const twiceTheSame = async (scene: Scene) => {
  await scene.store.heartbeat("w2");
  await scene.store.enqueue({ id: "a", type: "t", max_attempts: 9 });
  for (let n = 0; n < 2; n++) {
    await claim(scene);
    await scene.store.fail(first(scene), SAME);
    scene.refs.length = 0;
    scene.host.advance(100);
  }
  await claim(scene);
};

const withTree = async (scene: Scene) => {
  await claimed(scene);
  const tree = scene.host.tree();
  scene.trees.push(tree.pid);
  await scene.store.noteProcess(first(scene), tree);
};

const SCENARIOS: Scenario[] = [
  {
    name: "enqueue",
    setUp: async (scene) => void (await enqueue(scene, "x")),
    act: ({ store }) => store.enqueue({ id: "a", type: "t", payload: { n: 1 } }),
    creates: ["a"],
  },
  {
    name: "enqueue of one that waits for another and for a time",
    setUp: async (scene) => void (await enqueue(scene, "x")),
    act: ({ store }) =>
      store.enqueue({ id: "a", type: "t", depends_on: ["x", "y"], not_before: "+10m" }),
    creates: ["a"],
  },
  ...(["done", "failed"] as const).map((end) => ({
    name: `enqueue again of one that is ${end}`,
    setUp: async (scene: Scene) => {
      await scene.store.enqueue({ id: "a", type: "t", payload: { round: 1 } });
      await claim(scene);
      await scene.store[end === "done" ? "complete" : "fail"](first(scene));
      const depends_on = end === "done" ? ["a"] : [];
      await scene.store.enqueue({ id: "b", type: "t", depends_on });
      await scene.store.artifacts.write("a.md", "the first result");
      scene.refs.length = 0;
    },
    act: ({ store }: Scene) =>
      store.enqueue({ id: "a", type: "t", payload: { round: 2 } }, { asSwarmLib: true }),
    isAgain: true,
  })),
  {
    name: "enqueueMany",
    setUp: async (scene) => void (await enqueue(scene, "x")),
    act: ({ store }) =>
      store.enqueueMany([
        { id: "a", type: "t" },
        { id: "b", type: "t", depends_on: ["x"] },
        { id: "c", type: "t", priority: "high" },
      ]),
    creates: ["a", "b", "c"],
  },
  {
    name: "claim",
    setUp: async (scene) => void (await enqueue(scene, "a", "b")),
    act: ({ store }) => store.claim({ worker: "w" }),
  },
  {
    name: "claim of two, by a worker that has registered",
    setUp: async (scene) => {
      await enqueue(scene, "a", "b", "c");
      await scene.store.register("w");
    },
    act: ({ store }) => store.claim({ worker: "w", max: 2 }),
  },
  {
    name: "claim that finds a foreign task and a broken one",
    setUp: async ({ path }) => {
      const foreign = join(path, "pending/f.json");
      writeFileSync(foreign, JSON.stringify({ task_id: "f", task_type: "t" }));
      writeFileSync(join(path, "pending/broken.json"), '{"task_id": "bro');
      utimesSync(join(path, "pending/broken.json"), 1, 1);
    },
    act: ({ store }) => store.claim({ worker: "w" }),
  },
  {
    name: "register",
    setUp: async (scene) => void (await enqueue(scene, "a")),
    act: ({ store }) => store.register("w"),
  },
  {
    name: "complete",
    setUp: claimed,
    act: (scene) => scene.store.complete(first(scene)),
  },
  {
    name: "complete of one that others wait for",
    setUp: async (scene) => {
      await enqueue(scene, "a");
      await scene.store.enqueue({ id: "b", type: "t", depends_on: ["a"] });
      await scene.store.enqueue({ id: "c", type: "t", depends_on: ["a"], not_before: "+10m" });
      await claim(scene);
    },
    act: (scene) => scene.store.complete(first(scene), { note: "well" }),
  },
  {
    name: "complete of a second attempt, into review",
    setUp: async (scene) => {
      await scene.store.enqueue({ id: "a", type: "t", review: true });
      await claim(scene);
      await scene.store.release(first(scene));
      scene.refs.length = 0;
      await claim(scene);
    },
    act: (scene) => scene.store.complete(first(scene)),
  },
  {
    name: "fail, to be tried again",
    setUp: async (scene) => {
      await scene.store.enqueue({ id: "a", type: "t", max_attempts: 3 });
      await claim(scene);
    },
    act: (scene) => scene.store.fail(first(scene), { note: "no" }),
  },
  {
    name: "fail in the same way for the third time",
    setUp: twiceTheSame,
    act: (scene) => scene.store.fail(first(scene), SAME),
  },
  {
    name: "claim that gives up what nobody else is left to try",
    setUp: async (scene) => {
      await twiceTheSame(scene);
      await scene.store.fail(first(scene), SAME);
      scene.host.advance(HOUR);
    },
    act: ({ store }) => store.claim({ worker: "w" }),
  },
  {
    name: "note of a process",
    setUp: claimed,
    act: async (scene) => {
      const tree = scene.host.tree();
      await scene.store.noteProcess(first(scene), tree);
      scene.trees.push(tree.pid);
    },
  },
  {
    name: "cancel of one that a process works on",
    setUp: withTree,
    act: ({ store }) => store.cancel("a", { by: "me" }),
  },
  {
    name: "reap of one that a process works on",
    setUp: async (scene) => {
      await withTree(scene);
      scene.host.advance(HOUR);
    },
    act: ({ store }) => store.reap(),
  },
  {
    name: "fail for good",
    setUp: claimed,
    act: (scene) => scene.store.fail(first(scene)),
  },
  {
    name: "hand in",
    setUp: claimed,
    act: (scene) => scene.store.complete(first(scene), { handIn: true }),
  },
  {
    name: "pause",
    setUp: claimed,
    act: ({ store }) => store.pause({ by: "me", note: "lunch" }),
  },
  {
    name: "resume",
    setUp: async (scene) => {
      await claimed(scene);
      await scene.store.pause();
    },
    act: ({ store }) => store.resume(),
  },
  {
    name: "release",
    setUp: claimed,
    act: (scene) => scene.store.release(first(scene)),
  },
  {
    name: "cancel of a pending one",
    setUp: async (scene) => void (await enqueue(scene, "a", "b")),
    act: ({ store }) => store.cancel("a", { by: "me" }),
  },
  {
    name: "cancel of a claimed one",
    setUp: claimed,
    act: ({ store }) => store.cancel("a", { by: "me" }),
  },
  {
    name: "retry of one that must wait",
    setUp: async (scene) => {
      await enqueue(scene, "x");
      await scene.store.enqueue({ id: "a", type: "t", depends_on: ["x"] });
      await scene.store.cancel("a");
    },
    act: ({ store }) => store.retry("a", { by: "me" }),
  },
  {
    name: "retry",
    setUp: async (scene) => {
      await claimed(scene);
      await scene.store.fail(first(scene));
    },
    act: ({ store }) => store.retry("a", { by: "me" }),
  },
  {
    name: "rework",
    setUp: async (scene) => {
      await claimed(scene);
      await scene.store.complete(first(scene));
      await scene.store.flushStatus();
      await scene.store.enqueue({ id: "c", type: "t", depends_on: ["a"] });
      scene.refs.length = 0;
    },
    act: ({ store }) => store.rework("a", { by: "merge", why: "conflict", note: "in x" }),
    isReworked: true,
  },
  ...(["approve", "reject"] as const).map((decision) => ({
    name: decision,
    setUp: async (scene: Scene) => {
      await scene.store.enqueue({ id: "a", type: "t", review: true });
      await claim(scene);
      await scene.store.complete(first(scene));
      await scene.store.enqueue({ id: "b", type: "t", depends_on: ["a"] });
    },
    act: ({ store }: Scene) => store[decision]("a", { by: "me", note: "so" }),
  })),
  {
    name: "reap",
    setUp: async (scene) => {
      await enqueue(scene, "a", "b", "c");
      await claim(scene, "w", 2);
      scene.host.advance(HOUR);
    },
    act: ({ store }) => store.reap(),
  },
  {
    name: "reap that rolls forward",
    setUp: async (scene) => {
      await claimed(scene);
      // Dies right after the line in the ledger, before the task is moved.
      const faults = new Faults("die", 2);
      await scene.store.complete(first(scene)).catch(() => {});
      faults.heal();
      expect(places(scene.path).get("a")).toEqual([{ state: "claimed", worker: "w" }]);
      scene.host.advance(HOUR);
    },
    act: ({ store }) => store.reap(),
  },
  {
    name: "sweep that promotes",
    setUp: async ({ store, host }) => {
      await store.enqueue({ id: "a", type: "t", not_before: "+10m" });
      await store.enqueue({ id: "b", type: "t", not_before: "+20m" });
      host.advance(HOUR);
    },
    act: ({ store }) => store.sweep(),
  },
  {
    name: "close, which brings status.json up to date",
    setUp: async (scene) => {
      await claimed(scene);
      await scene.store.complete(first(scene));
    },
    act: ({ store }) => store.close(),
  },
  {
    name: "doctor --fix of a mess",
    setUp: async (scene) => {
      const { path } = scene;
      await enqueue(scene, "a", "b", "c", "d");
      await claim(scene);
      await scene.store.complete(first(scene));
      const text = readFileSync(join(path, "pending/b.json"));
      writeFileSync(join(path, "failed/b.json"), text);
      writeFileSync(join(path, "pending/readme.txt"), "hello");
      writeFileSync(join(path, "pending/half.json"), '{"task_id": "ha');
      utimesSync(join(path, "pending/half.json"), 1, 1);
      mkdirSync(join(path, "waiting/folder.json"));
      writeFileSync(join(path, ".viv/lanes/normal.log"), "");
    },
    act: ({ store }) => store.doctor({ fix: true }),
  },
];

const FAULTS: Record<Fault, string> = {
  die: "death",
  tear: "death in the middle of a write",
  enospc: "a full disk",
};

beforeAll(useQuickLocks);

afterEach(() => {
  vi.useRealTimers();
});

describe.each(Object.keys(FAULTS) as Fault[])("%s", (fault) => {
  test.each(SCENARIOS)("$name", async (scenario) => {
    for (let at = 1; ; at++) {
      const scene = await prepare(scenario);
      const before = contents(scene.path);
      const known = new Set(places(scene.path).keys());
      const faults = new Faults(fault, at);
      let outcome: unknown;
      try {
        outcome = await scenario.act(scene);
      } catch (error) {
        outcome = error;
      } finally {
        faults.heal();
      }
      at = Math.max(at, faults.struckAt); // nothing in between would have made a difference
      const story = `${FAULTS[fault]} at change ${at} of:\n${faults.log.join("\n")}\n`;
      try {
        if (fault === "enospc") await afterFullDisk(scenario, scene, faults, outcome);
        const isRefused = outcome instanceof Error;
        await recover(scenario, scene, { before, known, isRefused });
      } catch (error) {
        throw new Error(`${story}${(error as Error).message}`, { cause: error });
      } finally {
        vi.useRealTimers();
      }
      if (!faults.happened) return;
    }
  });
});

async function prepare(scenario: Scenario): Promise<Scene> {
  const path = join(newFolder(), "run");
  const host = new FakeHost();
  const machine = host.process();
  const store = await openRun(path, { create: true, machine, durability: "fast" });
  const scene: Scene = { store, path, host, refs: [], trees: [], reworked: [] };
  await scenario.setUp(scene);
  // What is written "soon" belongs to the set-up.
  await new Promise((resolve) => setImmediate(resolve));
  return scene;
}

/** The caller is told clearly, has lost nothing, and can do it again when there is room. */
async function afterFullDisk(
  scenario: Scenario,
  scene: Scene,
  faults: Faults,
  outcome: unknown,
): Promise<void> {
  if (!(outcome instanceof Error)) return;
  if (!faults.happened) throw outcome;
  if (!isVivError(outcome)) throw outcome;
  expect(outcome.code, outcome.message).toBe("DISK_FULL");
  if (scenario.name.startsWith("claim")) {
    const held = [...places(scene.path).values()].flat().filter(({ state }) => state === "claimed");
    expect(held, "a claim that was refused holds nothing").toEqual([]);
  }
  try {
    await scenario.act(scene);
  } catch (error) {
    // It had happened after all: then the second time is refused, and says so.
    const told = ["TASK_EXISTS", "WRONG_STATE", "WORKER_TAKEN", "CLAIM_LOST"];
    if (!isVivError(error) || !told.includes(error.code)) throw error;
    if (error.code === "TASK_EXISTS") expect(error.details.state).not.toBe("gone");
    // But an attempt that has ended is not reported as one that has not: "run it again" works.
    expect(error.code, error.message).not.toBe("CLAIM_LOST");
  }
}

async function recover(
  scenario: Scenario,
  scene: Scene,
  was: { before: string[]; known: Set<string>; isRefused: boolean },
): Promise<void> {
  const { path, host } = scene;
  // Long enough for every grace to be over, on the run's clock and on the files' own.
  host.advance(HOUR);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + HOUR });
  const ended = ledgerLines(path).lines;
  const store = await openRun(path, { machine: host.process(), durability: "fast" });
  await store.reap();
  for (const { id, token } of scene.refs) {
    // An end that was recorded is an end: the work is not run again.
    const line = ended.find((one) => one.token === token && one.event === "ended");
    const [lies] = places(path).get(id) ?? [];
    if (line?.outcome === "done") expect(["done", "review", "pending"]).toContain(lies?.state);
    if (line?.outcome === "done" && line.to === "done") expect(lies?.state).toBe("done");
  }
  await store.sweep();
  // Whoever was cut off while enqueueing does it again.
  if (scenario.creates) {
    await store.enqueueMany(
      scenario.creates.map((id) => ({ id, type: "t" })),
      { ifAbsent: true },
    );
  }
  const { findings } = await store.doctor({ fix: true });
  expect(isHealthy(await store.doctor()), JSON.stringify(findings)).toEqual([]);

  const now = places(path);
  for (const id of [...was.known, ...(scenario.creates ?? [])]) {
    if (id === "half" || id === "folder" || id === "broken") continue; // no task, in quarantine
    expect(now.get(id) ?? [], `${id} is in exactly one state`).toHaveLength(1);
  }
  const left = contents(path);
  for (const text of was.before) {
    const at = left.indexOf(text);
    expect(at, `the content ${text} is still there`).toBeGreaterThanOrEqual(0);
    left.splice(at, 1);
  }
  if (scenario.isAgain) {
    const view = await store.show("a");
    const isNew = view?.state === "pending" || view?.state === "waiting";
    expect(view?.task?.payload, "nothing is done or failed that was not tried").toEqual({
      round: isNew ? 2 : 1,
    });
    expect(isNew || was.isRefused, "an acknowledged round is there").toBe(true);
  }
  if (scenario.isReworked) {
    const [lies] = now.get("a") ?? [];
    if (lies?.state !== "done") scene.reworked.push("a");
    expect(lies?.state === "pending" || was.isRefused, "an acknowledged rework is there").toBe(
      true,
    );
    const { attempt } = (await store.attemptsOf("a")).at(-1) ?? {};
    expect(attempt ?? 1).toBe(1);
  }
  for (const pid of scene.trees) expect(host.isAlive(pid), `process ${pid} is gone`).toBe(false);
  const isNote = (name: string) => !name.startsWith("~"); // a file between two notes may stay
  expect(names(join(path, ".viv/processes")).filter(isNote), "no note is left").toEqual([]);
  await workOff(store, scene);
}

/** A torn line in the ledger stays where it is: readers pass over it. */
function isHealthy({ findings }: DoctorReport): Finding[] {
  return findings.filter(({ code }) => code !== "torn_line");
}

/** All that is not failed gets done, each once. */
async function workOff(store: Store, { path, host, reworked }: Scene): Promise<void> {
  await store.resume();
  await store.enqueueMany(
    [
      { id: "x", type: "t" },
      { id: "y", type: "t" },
    ],
    { ifAbsent: true },
  );
  for (let round = 0; round < 50; round++) {
    host.advance(HOUR);
    const claims = await store.claim({ worker: "z", max: 10 });
    for (const { task, token } of claims) {
      const { to } = await store.complete({ id: task.task_id, worker: "z", token });
      if (to === "review") await store.approve(task.task_id);
    }
    if (claims.length > 0) continue;
    const { review, ...counts } = await store.counts();
    if (review === 0) {
      expect(counts).toMatchObject({ waiting: 0, pending: 0, claimed: 0 });
      break;
    }
    for await (const { id } of store.list({ states: ["review"] })) await store.approve(id);
  }
  await store.close();
  const doctor = await openRun(path, { machine: host.process() });
  expect(isHealthy(await doctor.doctor())).toEqual([]);
  await doctor.close();
  const { lines, torn } = ledgerLines(path);
  // What came after a torn line stands on a line of its own.
  for (const text of torn) expect(text.lastIndexOf('{"at"'), text).toBe(0);
  for (const [id, times] of countedCompletions(path)) {
    const approved = lines.filter((l) => l.task === id && l.event === "approved").length;
    const rounds = join(path, `artifacts/${id}.rounds`);
    const before = names(rounds).filter((n) => names(join(rounds, n)).includes("done.json"));
    before.push(...reworked.filter((one) => one === id));
    expect(approved > 0 ? approved : times, `${id} was done once`).toBe(1 + before.length);
  }
  for (const [id, [lies]] of places(path)) {
    if (lies?.state !== "done") continue;
    const done = lines.filter((line) => line.task === id && line.outcome === "done");
    expect(done.length, `the ledger says who did ${id}`).toBeGreaterThan(0);
  }
}
