import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { isVivError } from "../../src/base/errors.ts";
import { openRun } from "../../src/main.ts";
import { pitOf } from "../../src/pit/pit-store.ts";
import type { Store } from "../../src/queue/store.ts";
import { ERRNOS, OneCallFails } from "../support/call-faults.ts";
import { type Fault, Faults } from "../support/faults.ts";
import { newFolder } from "../support/folders.ts";
import { FakeHost } from "../support/machine.ts";
import { useQuickLocks } from "../support/quick-locks.ts";
import { countedCompletions } from "../support/run-files.ts";

/**
 * What a pit does besides: results before the claim goes, choke notes, the keeper, proofs of what
 * was done by hand. Cut off at every change to the file system, by death or a full disk: no food is
 * lost, none is done twice, none is in done/ without its result, and the keeper hears of it once.
 */

interface Scene {
  store: Store;
  path: string;
  host: FakeHost;
  refs: { id: string; worker: string; token: string }[];
}

interface Scenario {
  name: string;
  setUp(scene: Scene): Promise<void>;
  act(scene: Scene): Promise<unknown>;
  /** Food that is stuck in the end, and that the keeper must have been told of. */
  stuck?: string;
  /** Food that was done once before. */
  isReworked?: boolean;
  /** Food that somebody moved to done/ by hand needs no result there. */
  isMoved?: boolean;
  /** Every how manyeth change is tried, where there are many of one kind. */
  stride?: number;
}

const F = "food-0001-x";
const HOUR = 3_600_000;
/** A pit for each call of the longest act, on a busy machine. */
const PATIENCE_MS = 180_000;
const SAME = { fingerprint: "f", note: "no teeth", backoffMs: 0 };

const toss = (scene: Scene, more: Record<string, unknown> = {}) =>
  scene.store.enqueue({ type: "food", payload: { task: "x" }, ...more });

async function claim(scene: Scene, worker = "w"): Promise<void> {
  scene.refs.length = 0;
  for (const { task, token } of await scene.store.claim({ worker })) {
    scene.refs.push({ id: task.task_id, worker, token });
  }
}

const first = ({ refs: [ref] }: Scene) => {
  if (!ref) throw new Error("the set-up claimed nothing");
  return ref;
};

const claimed = async (scene: Scene) => {
  await toss(scene);
  await claim(scene);
  writeFileSync(join(scene.path, `record/artifacts/${F}.md`), "what it said\n");
};

const twiceTheSame = async (scene: Scene) => {
  await toss(scene);
  for (let n = 0; n < 2; n++) {
    await claim(scene);
    await scene.store.fail(first(scene), SAME);
    scene.host.advance(100);
  }
  await claim(scene);
};

/** Another snake has choked on it before: after this one there is none to leave it to. */
const lastOfTwo = async (scene: Scene) => {
  await scene.store.heartbeat("w");
  await toss(scene);
  for (let n = 0; n < 5; n++) {
    await claim(scene, n < 3 ? "w2" : "w");
    await scene.store.fail(first(scene), SAME);
    scene.host.advance(100);
  }
  scene.host.advance(HOUR);
  await claim(scene);
};

/** A result by hand, old enough to be looked at. */
function result(scene: Scene, id = F): void {
  const path = join(scene.path, `done/${id}.result.md`);
  writeFileSync(path, "by hand: END\n");
  utimesSync(path, 1, 1);
}

const byHand = async (scene: Scene, place: "gone" | "claimed" | "food" | "done") => {
  await toss(scene);
  const food = join(scene.path, `food/${F}.md`);
  result(scene);
  if (place === "gone") rmSync(food);
  if (place === "claimed") renameSync(food, join(scene.path, `claimed/hand.${F}.md`));
  if (place === "done") renameSync(food, join(scene.path, `done/${F}.md`));
};

async function prove({ store }: Scene): Promise<void> {
  await store.register("sweep-1");
  const proof = await pitOf(store)?.takeForProof(F, "sweep-1");
  if (!proof) throw new Error("nothing to prove");
  await store.complete({ id: F, worker: "sweep-1", token: proof.token });
}

const SCENARIOS: Scenario[] = [
  { name: "toss of a piece", setUp: claimed, act: (scene) => toss(scene, { parent: F }) },
  { name: "complete", setUp: claimed, act: (scene) => scene.store.complete(first(scene)) },
  {
    name: "approve",
    setUp: async (scene) => {
      await toss(scene, { review: true });
      await claim(scene);
      await scene.store.complete(first(scene));
    },
    act: ({ store }) => store.approve(F, { by: "me" }),
  },
  {
    name: "rework",
    setUp: async (scene) => {
      await claimed(scene);
      await scene.store.complete(first(scene));
      await scene.store.flushStatus();
    },
    act: ({ store }) => store.rework(F, { by: "merge" }),
    isReworked: true,
  },
  {
    name: "choke, with another snake alive",
    setUp: async (scene) => {
      await scene.store.heartbeat("w2");
      await twiceTheSame(scene);
    },
    act: (scene) => scene.store.fail(first(scene), SAME),
  },
  {
    name: "choke of the last snake",
    setUp: lastOfTwo,
    act: (scene) => scene.store.fail(first(scene), SAME),
    stuck: F,
  },
  {
    name: "choke of a lone snake",
    setUp: twiceTheSame,
    act: (scene) => scene.store.fail(first(scene), SAME),
  },
  {
    name: "claim that gives up what nobody else is left to try",
    setUp: async (scene) => {
      await lastOfTwo(scene);
      await scene.store.heartbeat("w3");
      await scene.store.fail(first(scene), SAME);
      scene.host.advance(HOUR);
    },
    act: ({ store }) => store.claim({ worker: "w" }),
    stuck: F,
  },
  {
    name: "fail for good",
    setUp: claimed,
    act: (scene) => scene.store.fail(first(scene), { final: true, note: "no" }),
    stuck: F,
  },
  ...(["gone", "claimed", "food"] as const).map((place) => ({
    name: `proof of a result by hand, its food ${place}`,
    setUp: (scene: Scene) => byHand(scene, place),
    act: prove,
  })),
  {
    name: "proof of food moved to done/",
    isMoved: true,
    setUp: (scene) => byHand(scene, "done"),
    act: async (scene) => {
      vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + HOUR });
      await prove(scene);
    },
  },
  {
    name: "a result by hand that is not borne out",
    setUp: (scene) => byHand(scene, "gone"),
    act: async ({ store }) => {
      await store.register("sweep-1");
      const proof = await pitOf(store)?.takeForProof(F, "sweep-1");
      if (!proof) throw new Error("nothing to prove");
      await pitOf(store)?.markUnproven(F);
      await store.fail({ id: F, worker: "sweep-1", token: proof.token }, { outcome: "unproven" });
    },
  },
  {
    name: "sweep that finds food and a claim by hand",
    setUp: async ({ path }) => {
      writeFileSync(join(path, `food/food-0002-y.md`), "- task: y\n- part-of: food-0003-z\n");
      writeFileSync(join(path, `claimed/hand.${F}.md`), "- task: x\n");
    },
    act: ({ store }) => store.sweep(),
  },
  {
    name: "doctor --fix after rm -rf .viv",
    stride: 5,
    setUp: async (scene) => {
      await claimed(scene);
      await scene.store.complete(first(scene));
      await toss(scene, { parent: F });
      rmSync(join(scene.path, ".viv"), { recursive: true });
      scene.store = await openRun(scene.path, { machine: scene.host.process() });
    },
    act: ({ store }) => store.doctor({ fix: true }),
  },
];

beforeAll(useQuickLocks);

afterEach(() => {
  vi.useRealTimers();
});

/** Half a write matters where a text is published; the rest is what every store does. */
const FAULTS: { fault: Fault; among: RegExp }[] = [
  { fault: "die", among: /./ },
  { fault: "tear", among: /^(complete|choke of)/ },
  { fault: "enospc", among: /^(complete|choke of|a result by hand)/ },
];

describe.each(FAULTS)("$fault", ({ fault, among }) => {
  test.each(SCENARIOS.filter(({ name }) => among.test(name)))(
    "$name",
    { timeout: PATIENCE_MS },
    async (scenario) => {
      for (let at = 1; ; at += scenario.stride ?? 1) {
        const scene = await prepare(scenario);
        const before = foods(scene.path);
        const faults = new Faults(fault, at);
        let outcome: unknown;
        try {
          outcome = await scenario.act(scene);
        } catch (error) {
          outcome = error;
        } finally {
          faults.heal();
          vi.useRealTimers();
        }
        at = Math.max(at, faults.struckAt); // nothing in between would have made a difference
        const story = `${fault} at change ${at} of:\n${faults.log.join("\n")}\n${outcome instanceof Error ? outcome.stack : ""}\n`;
        try {
          if (!faults.happened && outcome instanceof Error) throw outcome;
          check(scenario, scene, before);
          await recover(scenario, scene, before);
        } catch (error) {
          throw new Error(`${story}${(error as Error).message}`, { cause: error });
        } finally {
          vi.useRealTimers();
        }
        if (!faults.happened) return;
      }
    },
  );
});

/** What it answers is what happened: see refused-or-done.test.ts. */
describe("one call fails", () => {
  const AMONG = /^(toss|complete|approve|choke|fail)/;
  test.each(SCENARIOS.filter(({ name }) => AMONG.test(name)))(
    "$name",
    { timeout: PATIENCE_MS },
    async (scenario) => {
      for (let at = 1; ; at++) {
        const scene = await prepare(scenario, "safe");
        const before = foods(scene.path);
        const fault = new OneCallFails(ERRNOS[at % ERRNOS.length] as string, at);
        const outcome: unknown = await scenario.act(scene).catch((error) => error);
        fault.heal();
        const told = outcome instanceof Error ? outcome.stack : JSON.stringify(outcome);
        const story = `call ${at} of:\n${fault.log.join("\n")}\n${told}\n`;
        try {
          if (outcome instanceof Error) {
            expect(isVivError(outcome), "an error that says what to do").toBe(true);
            expect(foods(scene.path), "refused: nothing has moved").toEqual(before);
            await scenario.act(scene);
          }
          expect(foods(scene.path), "it has moved").not.toEqual(before);
          const ends = ledger(scene.path).filter(
            ({ event, token }) => event === "ended" && token === scene.refs[0]?.token,
          );
          expect(ends.length, "its end is recorded once").toBeLessThanOrEqual(1);
          check(scenario, scene, before);
          await recover(scenario, scene, before);
        } catch (error) {
          throw new Error(`${story}${(error as Error).message}`, { cause: error });
        } finally {
          vi.useRealTimers();
        }
        if (!fault.happened) return;
      }
    },
  );
});

test("a claim by hand whose end is recorded is not proven once more", async () => {
  const scene = await prepare({
    name: "",
    setUp: (one) => byHand(one, "claimed"),
    act: async () => {},
  });
  const { path, store, host } = scene;
  const ref = { id: F, worker: "hand" };
  const faults = new Faults("die", 2);
  await store.complete(ref).catch(() => {});
  faults.heal();
  expect(foods(path).get(F)).toEqual([`claimed/hand.${F}.md`]);
  const sweeper = await openRun(path, { machine: host.process() });
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + HOUR });
  await sweeper.register("sweep-1");
  expect(await pitOf(sweeper)?.takeForProof(F, "sweep-1")).toBe(null);
  expect(foods(path).get(F)).toEqual([`done/${F}.md`]);
  expect(countedCompletions(join(path, "record"))).toEqual(new Map([[F, 1]]));
});

async function prepare(scenario: Scenario, durability: "fast" | "safe" = "fast"): Promise<Scene> {
  const path = join(newFolder(), "pit");
  const host = new FakeHost();
  const store = await openRun(path, {
    ...{ create: true, layout: "pit", durability, machine: host.process() },
  });
  const scene: Scene = { store, path, host, refs: [] };
  await scenario.setUp(scene);
  await new Promise((resolve) => setImmediate(resolve)); // what is written "soon"
  return scene;
}

const FOLDERS = ["food", "claimed", "done", "resting/later", "resting/review", "resting/stuck"];

function names(path: string, folder: string): string[] {
  const full = join(path, folder);
  return existsSync(full) ? readdirSync(full).filter((name) => !name.startsWith(".")) : [];
}

/** Where each food lies, by its name. */
function foods(path: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const folder of FOLDERS) {
    for (const name of names(path, folder)) {
      if (/\.(result|unproven-\d+)\.md$/.test(name)) continue;
      const id = name.replace(/\.md$/, "").replace(folder === "claimed" ? /^[^.]*\./ : /^/, "");
      found.set(id, [...(found.get(id) ?? []), `${folder}/${name}`]);
    }
  }
  return found;
}

/** What must hold at every moment, whatever was cut off. */
function check(scenario: Scenario, { path }: Scene, before: Map<string, string[]>): void {
  const now = foods(path);
  for (const [id, places] of now) expect(places, id).toHaveLength(1);
  for (const id of before.keys()) {
    expect(now.has(id) || existsSync(join(path, `.viv/ids/${id}.md`)), `${id} is lost`).toBe(true);
  }
  for (const name of names(path, "done")) {
    const id = name.replace(/\.md$/, "");
    if (!now.get(id)?.[0]?.startsWith("done/") || scenario.isMoved) continue;
    const text = readFileSync(join(path, `done/${id}.result.md`), "utf8");
    expect(text).toMatch(/^(# .*: done\n[\s\S]*(what it said|none was asked for)|by hand: END)\n$/);
  }
  // A result that no proof has refuted keeps its name.
  if (/^proof of/.test(scenario.name)) {
    expect(names(path, "done").filter((name) => name.includes(".unproven-"))).toEqual([]);
  }
  // What went back because of a choke has its note.
  const choked = ledger(path).some(({ note }) => String(note).startsWith("choked"));
  const notes = names(path, "scraps").filter((name) => name.startsWith(`choke-${F}`));
  if (choked) expect(notes.length).toBeGreaterThan(0);
  for (const name of notes) {
    expect(readFileSync(join(path, "scraps", name), "utf8")).toMatch(/does not take it again/);
  }
}

function ledger(path: string): Record<string, unknown>[] {
  return names(path, "record/ledger")
    .flatMap((name) => readFileSync(join(path, "record/ledger", name), "utf8").split("\n"))
    .flatMap((line) => {
      try {
        return [JSON.parse(line) as Record<string, unknown>];
      } catch {
        return []; // torn
      }
    });
}

async function recover(
  scenario: Scenario,
  scene: Scene,
  before: Map<string, string[]>,
): Promise<void> {
  const { path, host } = scene;
  host.advance(HOUR);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + HOUR });
  const store = await openRun(path, { machine: host.process(), durability: "fast" });
  await store.reap();
  await store.sweep();
  // Whatever is left to do is done, by a sweep or by a snake.
  await store.register("sweep-2");
  for (const { id, ready } of (await pitOf(store)?.handResults()) ?? []) {
    const proof = ready ? await pitOf(store)?.takeForProof(id, "sweep-2") : null;
    if (proof) await store.complete({ id, worker: "sweep-2", token: proof.token });
  }
  const { findings } = await store.doctor({ fix: true });
  expect(await unhealthy(store), `after ${JSON.stringify(findings)}`).toEqual([]);
  check(scenario, scene, before);
  if (scenario.stuck) {
    // Cut off before its end was recorded, it is tried once more.
    for (const { task, token } of await store.claim({ worker: "w", types: ["food"] })) {
      const ref = { id: task.task_id, worker: "w", token };
      await store.fail(ref, { ...SAME, final: scenario.name === "fail for good" });
    }
    host.advance(HOUR);
    await store.claim({ worker: "w", types: ["food"] });
    await store.reap();
    await store.sweep();
    expect(foods(path).get(scenario.stuck)).toEqual([`resting/stuck/${F}.md`]);
    expect(names(path, "food")).toEqual([`keeper-${F}.md`]);
  } else {
    for (;;) {
      host.advance(HOUR);
      await store.reap();
      const claims = await store.claim({ worker: "w9" });
      if (claims.length === 0) break;
      for (const { task, token } of claims) {
        await store.complete({ id: task.task_id, worker: "w9", token });
      }
    }
  }
  check(scenario, scene, before);
  for (const [id, count] of countedCompletions(join(path, "record"))) {
    const most = scenario.isReworked ? 2 : 1;
    expect(count, `${id} counted as done`).toBeLessThanOrEqual(most);
  }
  expect(await unhealthy(store)).toEqual([]);
  await store.close();
}

/** A torn line stays: readers pass over it. */
async function unhealthy(store: Store) {
  return (await store.doctor()).findings.filter(({ code }) => code !== "torn_line");
}
