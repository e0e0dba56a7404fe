import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { isVivError, type VivError } from "../../src/base/errors.ts";
import { openRun } from "../../src/main.ts";
import type { Ended, Store } from "../../src/queue/store.ts";
import { ERRNOS, OneCallFails } from "../support/call-faults.ts";
import { newFolder } from "../support/folders.ts";
import { FakeHost } from "../support/machine.ts";
import { useQuickLocks } from "../support/quick-locks.ts";
import { countedCompletions, ledgerLines, places } from "../support/run-files.ts";

/**
 * Every transition, with each one of its system calls failing once. What it answers is what happened:
 * refused means that nothing moved and that asking again works; a success means that it moved, once. What
 * a success left undone is made up by reap, sweep and doctor.
 */

interface Scene {
  store: Store;
  path: string;
  host: FakeHost;
  ref: { id: string; worker: string; token: string };
}

interface Scenario {
  name: string;
  setUp(scene: Scene): Promise<unknown>;
  act(scene: Scene): Promise<unknown>;
  /** Where its task is after it, and before it. */
  moves?: { from: string; to: string };
  /** It makes so many tasks, which were not there before. */
  makes?: number;
}

const NOTHING = { id: "", worker: "", token: "" };

async function claimA(scene: Scene, worker = "w"): Promise<void> {
  const [claim] = await scene.store.claim({ worker });
  if (claim?.task.task_id !== "a") throw new Error("a was to be claimed");
  scene.ref = { id: "a", worker, token: claim.token };
}

const claimed =
  (spec: Record<string, unknown> = {}) =>
  async (scene: Scene) => {
    await scene.store.enqueue({ id: "a", type: "t", ...spec });
    await scene.store.enqueue({ id: "b", type: "t", depends_on: ["a"] });
    await claimA(scene);
  };

const inReview = async (scene: Scene) => {
  await claimed({ review: true })(scene);
  await scene.store.complete(scene.ref);
};

const SAME = { fingerprint: "f", note: "no", backoffMs: 0 };

/** A run for each call of the longest transition, on a busy machine. */
const PATIENCE_MS = 180_000;

const SCENARIOS: Scenario[] = [
  {
    name: "enqueue with an id",
    setUp: ({ store }) => store.enqueue({ id: "x", type: "t" }),
    act: ({ store }) => store.enqueue({ id: "a", type: "t" }),
    makes: 1,
  },
  {
    name: "enqueue without an id",
    setUp: ({ store }) => store.enqueue({ id: "x", type: "t" }),
    act: ({ store }) => store.enqueue({ type: "t" }),
    makes: 1,
  },
  {
    name: "enqueue of one that waits, and that others wait for",
    setUp: async ({ store }) => {
      await store.enqueue({ id: "x", type: "t" });
      await store.enqueue({ id: "y", type: "t", depends_on: ["a"] });
    },
    act: ({ store }) =>
      store.enqueue({ id: "a", type: "t", depends_on: ["x"], not_before: "+10m" }),
    makes: 1,
  },
  {
    name: "enqueueMany of one",
    setUp: ({ store }) => store.enqueue({ id: "x", type: "t" }),
    act: ({ store }) => store.enqueueMany([{ type: "t", depends_on: ["x"] }]),
    makes: 1,
  },
  {
    name: "complete",
    setUp: claimed(),
    act: ({ store, ref }) => store.complete(ref),
    moves: { from: "claimed", to: "done" },
  },
  {
    name: "complete by another process",
    setUp: async (scene) => {
      await claimed()(scene);
      await scene.store.close();
      scene.store = await openRun(scene.path, { machine: scene.host.process() });
    },
    act: ({ store, ref }) => store.complete(ref, { note: "well" }),
    moves: { from: "claimed", to: "done" },
  },
  {
    name: "complete in the background",
    setUp: claimed(),
    act: ({ store, ref }) => store.complete(ref, { inBackground: true }),
    moves: { from: "claimed", to: "done" },
  },
  {
    name: "complete of a second attempt, into review",
    setUp: async (scene) => {
      await claimed({ review: true })(scene);
      await scene.store.release(scene.ref);
      await claimA(scene);
    },
    act: ({ store, ref }) => store.complete(ref),
    moves: { from: "claimed", to: "review" },
  },
  {
    name: "fail, to be tried again",
    setUp: claimed({ max_attempts: 3 }),
    act: ({ store, ref }) => store.fail(ref, { note: "no" }),
    moves: { from: "claimed", to: "waiting" },
  },
  {
    name: "fail in the same way for the third time",
    setUp: async (scene) => {
      await scene.store.heartbeat("w2");
      await claimed({ max_attempts: 9 })(scene);
      for (let n = 0; n < 2; n++) {
        await scene.store.fail(scene.ref, SAME);
        scene.host.advance(100);
        await claimA(scene);
      }
    },
    act: ({ store, ref }) => store.fail(ref, SAME),
    moves: { from: "claimed", to: "pending" },
  },
  {
    name: "fail for good",
    setUp: claimed(),
    act: ({ store, ref }) => store.fail(ref),
    moves: { from: "claimed", to: "failed" },
  },
  {
    name: "release",
    setUp: claimed(),
    act: ({ store, ref }) => store.release(ref),
    moves: { from: "claimed", to: "pending" },
  },
  {
    name: "cancel of a pending one",
    setUp: ({ store }) => store.enqueue({ id: "a", type: "t" }),
    act: ({ store }) => store.cancel("a", { by: "me" }),
    moves: { from: "pending", to: "failed" },
  },
  {
    name: "cancel of one that a process works on",
    setUp: async (scene) => {
      await claimed()(scene);
      await scene.store.noteProcess(scene.ref, scene.host.tree());
    },
    act: ({ store }) => store.cancel("a", { by: "me" }),
    moves: { from: "claimed", to: "failed" },
  },
  {
    name: "retry",
    setUp: async (scene) => {
      await claimed()(scene);
      await scene.store.fail(scene.ref);
    },
    act: ({ store }) => store.retry("a", { by: "me" }),
    moves: { from: "failed", to: "pending" },
  },
  {
    name: "retry of one that must wait",
    setUp: async ({ store }) => {
      await store.enqueue({ id: "x", type: "t" });
      await store.enqueue({ id: "a", type: "t", depends_on: ["x"] });
      await store.cancel("a");
    },
    act: ({ store }) => store.retry("a", { by: "me" }),
    moves: { from: "failed", to: "waiting" },
  },
  ...(["done", "failed"] as const).map((end) => ({
    name: `enqueue again of one that is ${end}`,
    setUp: async (scene: Scene) => {
      await claimed()(scene);
      await scene.store[end === "done" ? "complete" : "fail"](scene.ref);
      await scene.store.artifacts.write("a.md", "the first result");
      scene.ref = NOTHING;
    },
    act: ({ store }: Scene) =>
      store.enqueue({ id: "a", type: "t", payload: { round: 2 } }, { asSwarmLib: true }),
    moves: { from: end, to: "pending" },
  })),
  {
    name: "approve",
    setUp: inReview,
    act: ({ store }) => store.approve("a", { by: "me" }),
    moves: { from: "review", to: "done" },
  },
  {
    name: "reject",
    setUp: inReview,
    act: ({ store }) => store.reject("a", { by: "me" }),
    moves: { from: "review", to: "pending" },
  },
];

const LATER = { EIO: "DISK_FAULT", ENOSPC: "DISK_FULL", EDQUOT: "DISK_FULL" } as const;
const CODES: Record<string, string> = { ...LATER, EMFILE: "EXHAUSTED", EROFS: "READ_ONLY" };

beforeAll(useQuickLocks);

afterEach(() => {
  vi.useRealTimers();
});

describe.each([
  ["EIO", () => "EIO"],
  ["another error each time", (at: number) => ERRNOS[at % ERRNOS.length] as string],
] as const)("%s", (_, errorAt) => {
  test.each(SCENARIOS)(
    "$name",
    async (scenario) => {
      for (let at = 1; ; at++) {
        const scene = await prepare(scenario);
        const before = places(scene.path);
        const error = errorAt(at);
        const fault = new OneCallFails(error, at);
        let outcome: unknown;
        try {
          outcome = await scenario.act(scene);
        } catch (thrown) {
          outcome = thrown;
        } finally {
          fault.heal();
        }
        try {
          await judge(scenario, scene, before, outcome, error);
        } catch (failure) {
          const story = `${error} at call ${at} of:\n${fault.log.join("\n")}\nanswered: ${outcome instanceof Error ? outcome.stack : JSON.stringify(outcome)}\n`;
          throw new Error(`${story}${(failure as Error).message}`, { cause: failure });
        } finally {
          vi.useRealTimers();
        }
        if (!fault.happened) return;
      }
    },
    PATIENCE_MS,
  );
});

describe("enqueueMany of several without ids", () => {
  test.each([
    [3, 1],
    [130, 61],
  ])("%s tasks: an error says how many are in, and no more come later", async (count, stride) => {
    const specs = () => Array.from({ length: count }, () => ({ type: "t" }));
    for (let at = 1; ; at += stride) {
      const path = join(newFolder(), "run");
      const host = new FakeHost();
      const store = await openRun(path, { create: true, machine: host.process() });
      const fault = new OneCallFails(ERRNOS[at % ERRNOS.length] as string, at);
      const outcome = await store.enqueueMany(specs()).catch((error) => error);
      fault.heal();
      const story = `call ${at}: ${fault.log[at - 1]}\n${outcome.stack ?? JSON.stringify(outcome)}`;
      const enqueued =
        outcome instanceof Error ? (outcome as VivError).details.index : outcome.enqueued;
      expect(places(path).size, story).toBe(enqueued);
      await sweepLater({ path, host, store, ref: NOTHING });
      expect(places(path).size, story).toBe(enqueued);
      if (outcome instanceof Error) {
        // Whoever goes on from there has each of them once.
        await store.enqueueMany(specs().slice(enqueued));
        expect(places(path).size, story).toBe(count);
      }
      await store.close();
      if (!fault.happened) return;
    }
  });
});

async function prepare(scenario: Scenario): Promise<Scene> {
  const path = join(newFolder(), "run");
  const host = new FakeHost();
  const store = await openRun(path, { create: true, machine: host.process() });
  const scene: Scene = { store, path, host, ref: NOTHING };
  await scenario.setUp(scene);
  await new Promise((resolve) => setImmediate(resolve)); // what is written "soon"
  return scene;
}

async function judge(
  scenario: Scenario,
  scene: Scene,
  before: ReturnType<typeof places>,
  outcome: unknown,
  error: string,
): Promise<void> {
  const { path, host } = scene;
  if (outcome instanceof Error) {
    if (!isVivError(outcome)) throw outcome;
    expect(outcome.code, outcome.message).toBe(CODES[error]);
    expect(places(path), "refused: nothing has moved").toEqual(before);
    await sweepLater(scene);
    expect([...places(path).keys()].sort(), "nor does anything come later").toEqual(
      [...before.keys()].sort(),
    );
    await scenario.act(scene);
  } else {
    const { warnings = [] } = outcome as Ended;
    for (const warning of warnings) expect(warning).toMatch(/^[a-z].*[^.]$/s);
  }
  check(scenario, scene, before);
  const lines = ledgerLines(path).lines.filter(({ token }) => token === scene.ref.token);
  const count = (event: string) => lines.filter((line) => line.event === event).length;
  const isEnd = scenario.moves?.from === "claimed";
  // A cancel that was refused has taken its line back.
  if (isEnd) expect(count("ended") - count("void"), "its end is recorded once").toBe(1);
  const history = await scene.store.attemptsOf("a");
  const tokens = history.map(({ token }) => token);
  expect(new Set(tokens).size, "each attempt counts once").toBe(tokens.length);
  expect(history.map(({ attempt }) => attempt)).toEqual(history.map((_, n) => n + 1));

  await scene.store.close();
  await sweepLater(scene);
  const store = await openRun(path, { machine: host.process() });
  await store.doctor({ fix: true });
  const { findings } = await store.doctor();
  expect(findings.filter(({ code }) => code !== "torn_line")).toEqual([]);
  for (const [id, times] of countedCompletions(path)) expect(times, id).toBe(1);
  await store.close();
}

/** Long enough for every grace to be over, on the run's clock and on the files' own. */
async function sweepLater({ path, host }: Scene): Promise<void> {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 60_000 });
  const store = await openRun(path, { machine: host.process() });
  await store.sweep();
  await store.close();
  vi.useRealTimers();
}

function check({ moves, makes = 0 }: Scenario, { path }: Scene, before: Map<string, unknown>) {
  const now = places(path);
  for (const [id, lies] of now) expect(lies, `${id} is in one place`).toHaveLength(1);
  expect(now.size, "so many tasks").toBe(before.size + makes);
  if (moves) expect(now.get("a")?.[0]?.state, "it has moved").toBe(moves.to);
}
