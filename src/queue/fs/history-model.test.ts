import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { FakeHost } from "../../../test/support/machine.ts";
import { ledgerLines, places } from "../../../test/support/run-files.ts";
import { isVivError } from "../../base/errors.ts";
import { openRun } from "../../main.ts";
import type { TaskState } from "../states.ts";
import type { Ended, Store } from "../store.ts";
import type { Priority } from "../task.ts";

/**
 * Random histories: three workers and a few people act on one run, time passes, processes die, and
 * after every step the folders must say what a model made of plain maps says.
 */
const STALE_MS = 300_000;
const IDS = ["a", "b", "c", "d", "e", "f"];
const WORKERS = ["w0", "w1", "w2"];

interface ModelTask {
  state: TaskState;
  priority: Priority;
  deps: string[];
  review: boolean;
  maxAttempts: number;
  /** Not before this time: its own, and the rest after the last attempt. */
  notBefore: number;
  rests: number;
  attempts: number;
  failures: number;
  abandonedInARow: number;
  /** Failures of one kind in a row, and the workers that choked on it since its last retry. */
  sameInARow: number;
  choked: Set<string>;
  worker?: string;
  token?: string;
}

interface Model {
  now: number;
  tasks: Map<string, ModelTask>;
  beats: Map<string, number>;
  /** Coverage of the histories: chokes that sent a task to another worker, or nowhere. */
  seen: { handedOver: number; failed: number; givenUp: number };
  /** Every claim there ever was: most of them are stale when they are tried again. */
  claims: ModelClaim[];
}

interface ModelClaim {
  id: string;
  worker: string;
  token: string;
  /** How its holder ended it, and where that sent the task. */
  ended?: { outcome: string; to: TaskState };
}

class Real {
  readonly stores = new Map<string, Store>();
  readonly host = new FakeHost();
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  async store(worker: string): Promise<Store> {
    let store = this.stores.get(worker);
    if (!store) {
      const machine = this.host.process();
      store = await openRun(this.path, { create: true, durability: "fast", machine });
      this.stores.set(worker, store);
    }
    return store;
  }
}

const RANK: Record<Priority, number> = { high: 0, normal: 1, low: 2 };

function isReady(model: Model, task: ModelTask): boolean {
  return (
    task.deps.every((dep) => model.tasks.get(dep)?.state === "done") &&
    Math.max(task.notBefore, task.rests) <= model.now
  );
}

function promoteAll(model: Model): void {
  for (const task of model.tasks.values()) {
    if (task.state === "waiting" && isReady(model, task)) task.state = "pending";
  }
}

function becomeDone(model: Model, id: string, task: ModelTask): void {
  task.state = "done";
  for (const other of model.tasks.values()) {
    if (other.state === "waiting" && other.deps.includes(id) && isReady(model, other)) {
      other.state = "pending";
    }
  }
}

/** The other workers for a task that this one has choked on. */
function isAnybodyLeft(model: Model, task: ModelTask): boolean {
  return [...model.beats].some(
    ([name, beat]) => model.now - beat < STALE_MS && !task.choked.has(name),
  );
}

function unclaim(task: ModelTask): void {
  delete task.worker;
  delete task.token;
}

/** Would `id` with these dependencies wait for itself? */
function closesCycle(model: Model, id: string, deps: string[]): boolean {
  const seen = new Set<string>();
  const stack = [...deps];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    if (next === id) return true;
    if (seen.has(next)) continue;
    seen.add(next);
    const task = model.tasks.get(next);
    if (task && (task.state === "waiting" || task.state === "pending")) stack.push(...task.deps);
  }
  return false;
}

async function outcomeOf<T>(call: Promise<T>): Promise<T | string> {
  try {
    return await call;
  } catch (error) {
    if (isVivError(error)) return error.code;
    throw error;
  }
}

/** A step, and the check after it that the folders agree with the model. */
abstract class Step implements fc.AsyncCommand<Model, Real> {
  check(_: Readonly<Model>): boolean {
    return true;
  }

  async run(model: Model, real: Real): Promise<void> {
    await this.act(model, real);
    const expected = Object.fromEntries(
      [...model.tasks].map(([id, { state, worker }]) => [id, [{ state, worker }]]),
    );
    expect(Object.fromEntries(places(real.path)), this.toString()).toEqual(expected);
  }

  abstract act(model: Model, real: Real): Promise<void>;
  abstract toString(): string;
}

interface NewTask {
  id: string;
  deps: string[];
  priority: Priority;
  review: boolean;
  maxAttempts: number;
  delay: number;
}

class Enqueue extends Step {
  readonly worker: string;
  readonly task: NewTask;

  constructor(worker: string, task: NewTask) {
    super();
    this.worker = worker;
    this.task = task;
  }

  async act(model: Model, real: Real): Promise<void> {
    const { id, deps, priority, review, maxAttempts, delay } = this.task;
    const store = await real.store(this.worker);
    const notBefore = model.now + delay;
    const spec = {
      id,
      type: "t",
      depends_on: deps,
      priority,
      review,
      max_attempts: maxAttempts,
      ...(delay > 0 ? { not_before: new Date(notBefore).toISOString() } : {}),
    };
    const result = await outcomeOf(store.enqueue(spec));
    // A task that waits for itself is refused even if its id is taken as well.
    const cycle = deps.includes(id) || (!model.tasks.has(id) && closesCycle(model, id, deps));
    if (cycle) expect(result).toBe("DEPENDENCY_CYCLE");
    else if (model.tasks.has(id)) expect(["TASK_EXISTS", "DEPENDENCY_CYCLE"]).toContain(result);
    else {
      const task: ModelTask = {
        state: "waiting",
        priority,
        deps,
        review,
        maxAttempts,
        notBefore: delay > 0 ? notBefore : 0,
        rests: 0,
        attempts: 0,
        failures: 0,
        abandonedInARow: 0,
        sameInARow: 0,
        choked: new Set(),
      };
      if (isReady(model, task)) task.state = "pending";
      model.tasks.set(id, task);
      expect(result).toEqual({ id, state: task.state, created: true });
    }
  }

  toString = () => `${this.worker}.enqueue(${JSON.stringify(this.task)})`;
}

class Claim extends Step {
  readonly worker: string;
  readonly max: number;

  constructor(worker: string, max: number) {
    super();
    this.worker = worker;
    this.max = max;
  }

  async act(model: Model, real: Real): Promise<void> {
    const store = await real.store(this.worker);
    promoteAll(model);
    const claims = await store.claim({ worker: this.worker, max: this.max });
    this.giveUp(model, real);
    const pending = () =>
      [...model.tasks.values()].filter(
        ({ state, choked }) => state === "pending" && !choked.has(this.worker),
      );
    expect(claims).toHaveLength(Math.min(this.max, pending().length));
    for (const { task, token, attempt } of claims) {
      const id = task.task_id;
      const claimed = model.tasks.get(id);
      if (claimed?.state !== "pending") throw new Error(`${id} was claimed, but not pending`);
      expect(claimed.choked).not.toContain(this.worker);
      expect(RANK[claimed.priority]).toBe(Math.min(...pending().map((one) => RANK[one.priority])));
      expect(attempt).toBe(++claimed.attempts);
      Object.assign(claimed, { state: "claimed", worker: this.worker, token });
      model.claims.push({ id, worker: this.worker, token });
    }
    if (claims.length > 0) model.beats.set(this.worker, model.now);
  }

  /** A task without another worker fails when its worker meets it, which need not be now. */
  giveUp(model: Model, real: Real): void {
    const lie = places(real.path);
    for (const [one, task] of model.tasks) {
      if (task.state !== "pending" || !task.choked.has(this.worker)) continue;
      if (isAnybodyLeft(model, task) || lie.get(one)?.[0]?.state !== "failed") continue;
      task.state = "failed";
      model.seen.givenUp++;
    }
  }

  toString = () => `${this.worker}.claim(${this.max})`;
}

type Ending = "complete" | "fail" | "same" | "timed_out" | "rate_limited" | "final" | "release";

class Finish extends Step {
  readonly by: string;
  readonly which: number;
  readonly ending: Ending;

  constructor(by: string, which: number, ending: Ending) {
    super();
    this.by = by;
    this.which = which;
    this.ending = ending;
  }

  override check(model: Readonly<Model>): boolean {
    return model.claims.length > 0;
  }

  /** Mostly the claims that are held now, sometimes any that ever was. */
  pick(model: Model): ModelClaim {
    const held = model.claims.filter(({ id, token }) => model.tasks.get(id)?.token === token);
    const from = held.length > 0 && this.which % 4 !== 0 ? held : model.claims;
    return from[this.which % from.length] as ModelClaim;
  }

  async act(model: Model, real: Real): Promise<void> {
    const ref = this.pick(model);
    const store = await real.store(this.by);
    const task = model.tasks.get(ref.id);
    const { id, worker, token } = ref;
    const result = await outcomeOf(this.end(store, { id, worker, token }));
    if (task?.state !== "claimed" || task.token !== ref.token) {
      if (this.isRepeated(model, ref)) expect(result).toMatchObject({ to: ref.ended?.to });
      else expect(result).toBe("CLAIM_LOST");
      return;
    }
    if (typeof result === "string") throw new Error(`${ref.id} was refused: ${result}`);
    unclaim(task);
    task.abandonedInARow = 0;
    task.rests = 0;
    expect(result).toMatchObject({ id: ref.id, from: "claimed", attempt: task.attempts });
    if (this.ending === "complete") {
      if (task.review) task.state = "review";
      else becomeDone(model, ref.id, task);
    } else if (this.ending === "release") task.state = "pending";
    else {
      if (this.ending !== "rate_limited") {
        task.failures++;
        task.sameInARow = this.ending === "same" ? task.sameInARow + 1 : 0;
      }
      const over = this.ending !== "rate_limited" && task.failures >= task.maxAttempts;
      task.state = over || this.ending === "final" ? "failed" : "waiting";
      if (task.state === "waiting" && task.sameInARow === 3 && this.ending === "same") {
        task.choked.add(ref.worker);
        task.sameInARow = 0;
        task.state = isAnybodyLeft(model, task) ? "pending" : "failed";
        model.seen[task.state === "pending" ? "handedOver" : "failed"]++;
      }
      if (task.state === "waiting") task.rests = Date.parse(result.retryAt ?? "");
    }
    expect(result.to).toBe(task.state);
    ref.ended = { outcome: this.outcome, to: task.state };
  }

  get outcome(): string {
    if (this.ending === "complete") return "done";
    if (this.ending === "release") return "released";
    return this.ending === "timed_out" || this.ending === "rate_limited" ? this.ending : "failed";
  }

  /** The same end again: made once, and reported again while the task lies there. */
  isRepeated(model: Model, { id, token, ended }: ModelClaim): boolean {
    if (ended?.outcome !== this.outcome) return false;
    if (model.claims.findLast((one) => one.id === id)?.token !== token) return false;
    const state = model.tasks.get(id)?.state;
    return state === ended.to || (ended.outcome === "done" && state === "done");
  }

  end(store: Store, ref: ModelClaim): Promise<Ended> {
    switch (this.ending) {
      case "complete":
        return store.complete(ref);
      case "release":
        return store.release(ref);
      case "final":
        return store.fail(ref, { final: true });
      case "fail":
        return store.fail(ref);
      case "same":
        return store.fail(ref, { fingerprint: "f" });
      default:
        return store.fail(ref, { outcome: this.ending });
    }
  }

  toString = () => `${this.by}.${this.ending}(#${this.which})`;
}

type Decision = "cancel" | "retry" | "approve" | "reject" | "rework" | "resolve";
const FROM: Record<Decision, TaskState[]> = {
  cancel: ["waiting", "pending", "claimed", "review"],
  retry: ["failed"],
  approve: ["review"],
  reject: ["review"],
  rework: ["done"],
  resolve: ["failed"],
};

class Decide extends Step {
  readonly by: string;
  readonly decision: Decision;
  readonly id: string;

  constructor(by: string, decision: Decision, id: string) {
    super();
    this.by = by;
    this.decision = decision;
    this.id = id;
  }

  async act(model: Model, real: Real): Promise<void> {
    const store = await real.store(this.by);
    const result = await outcomeOf(store[this.decision](this.id));
    const task = model.tasks.get(this.id);
    if (!task) expect(result).toBe("TASK_NOT_FOUND");
    else if (!FROM[this.decision].includes(task.state)) expect(result).toBe("WRONG_STATE");
    else if (/^re(try|work)$/.test(this.decision) && closesCycle(model, this.id, task.deps)) {
      expect(result).toBe("DEPENDENCY_CYCLE");
    } else {
      expect(result).toMatchObject({ id: this.id, from: task.state });
      unclaim(task);
      task.abandonedInARow = 0;
      if (/^(approve|resolve)$/.test(this.decision)) becomeDone(model, this.id, task);
      else if (this.decision === "cancel") task.state = "failed";
      else {
        task.failures = 0;
        task.sameInARow = 0;
        task.choked.clear();
        task.rests = 0;
        task.state = this.decision === "reject" || isReady(model, task) ? "pending" : "waiting";
      }
    }
  }

  toString = () => `${this.by}.${this.decision}(${this.id})`;
}

/** One worker fails in the same way, whatever it gets, until it has choked on something. */
class Choke extends Step {
  readonly worker: string;
  readonly times: number;

  constructor(worker: string, times: number) {
    super();
    this.worker = worker;
    this.times = times;
  }

  async act(model: Model, real: Real): Promise<void> {
    for (let n = 0; n < this.times; n++) {
      await new Advance(20_000).act(model, real);
      await new Claim(this.worker, 2).act(model, real);
      for (const [at, { id: one, worker: by, token }] of model.claims.entries()) {
        const isHeld = by === this.worker && model.tasks.get(one)?.token === token;
        if (isHeld) await new FinishOne(this.worker, at).act(model, real);
      }
    }
  }

  toString = () => `${this.worker}.choke(${this.times})`;
}

/** Fails that very claim. */
class FinishOne extends Finish {
  constructor(by: string, which: number) {
    super(by, which, "same");
  }

  override pick(model: Model): Model["claims"][0] {
    return model.claims[this.which] as Model["claims"][0];
  }
}

class Reap extends Step {
  readonly by: string;

  constructor(by: string) {
    super();
    this.by = by;
  }

  async act(model: Model, real: Real): Promise<void> {
    const store = await real.store(this.by);
    const { reaped } = await store.reap();
    const lost: string[] = [];
    for (const [id, task] of model.tasks) {
      const beat = model.beats.get(task.worker ?? "") ?? 0;
      if (task.state !== "claimed" || model.now - beat < STALE_MS) continue;
      lost.push(id);
      unclaim(task);
      task.rests = 0;
      task.state = ++task.abandonedInARow >= 10 ? "failed" : "pending";
    }
    expect(reaped.map(({ id }) => id).sort()).toEqual(lost.sort());
  }

  toString = () => `${this.by}.reap()`;
}

class Pass extends Step {
  readonly what: "sweep" | "heartbeat" | "die" | "doctor" | "close";
  readonly worker: string;

  constructor(what: Pass["what"], worker: string) {
    super();
    this.what = what;
    this.worker = worker;
  }

  async act(model: Model, real: Real): Promise<void> {
    const store = await real.store(this.worker);
    if (this.what === "sweep") {
      await store.sweep();
      promoteAll(model);
    } else if (this.what === "heartbeat") {
      await store.heartbeat(this.worker);
      model.beats.set(this.worker, model.now);
    } else if (this.what === "doctor") {
      const { findings } = await store.doctor();
      // A task may have become due without a look, and a claim stale: doctor reports both.
      const known = ["stuck_waiting", "claim_without_worker"];
      expect(findings.filter(({ code }) => !known.includes(code))).toEqual([]);
    } else {
      if (this.what === "close") await store.close();
      real.stores.delete(this.worker);
    }
  }

  toString = () => `${this.worker}.${this.what}()`;
}

class Advance extends Step {
  readonly ms: number;

  constructor(ms: number) {
    super();
    this.ms = ms;
  }

  async act(model: Model, real: Real): Promise<void> {
    model.now += this.ms;
    real.host.advance(this.ms);
  }

  toString = () => `advance(${this.ms})`;
}

const worker = fc.constantFrom(...WORKERS);
const id = fc.constantFrom(...IDS);
const newTask = fc.record({
  id,
  deps: fc.uniqueArray(id, { maxLength: 2 }),
  priority: fc.constantFrom("high" as const, "normal" as const, "low" as const),
  review: fc.boolean(),
  maxAttempts: fc.constantFrom(1, 2, 3, 20),
  delay: fc.constantFrom(0, 0, 0, 60_000, 600_000),
});
const endings = [
  "complete",
  "complete",
  "fail",
  "same",
  "timed_out",
  "rate_limited",
  "final",
  "release",
];
const which = fc.nat(1000);
const steps = [
  fc.tuple(worker, newTask).map(([w, t]) => new Enqueue(w, t)),
  fc.tuple(worker, newTask).map(([w, t]) => new Enqueue(w, { ...t, deps: [], delay: 0 })),
  fc.tuple(worker, fc.integer({ min: 1, max: 3 })).map(([w, max]) => new Claim(w, max)),
  fc.tuple(worker, fc.integer({ min: 1, max: 3 })).map(([w, max]) => new Claim(w, max)),
  fc
    .tuple(worker, which, fc.constantFrom(...(endings as Ending[])))
    .map(([w, n, ending]) => new Finish(w, n, ending)),
  fc
    .tuple(worker, which, fc.constantFrom(...(endings as Ending[])))
    .map(([w, n, ending]) => new Finish(w, n, ending)),
  fc
    .tuple(worker, fc.constantFrom(...(Object.keys(FROM) as Decision[])), id)
    .map(([w, decision, one]) => new Decide(w, decision, one)),
  fc.tuple(worker, fc.integer({ min: 1, max: 4 })).map(([w, times]) => new Choke(w, times)),
  worker.map((w) => new Reap(w)),
  fc
    .tuple(fc.constantFrom("sweep", "heartbeat", "die", "doctor", "close"), worker)
    .map(([what, w]) => new Pass(what as Pass["what"], w)),
  fc.constantFrom(1_000, 20_000, 100_000, 400_000, 1_000_000).map((ms) => new Advance(ms)),
];

test("random histories of three workers agree with a model of plain maps", async () => {
  const seen = { handedOver: 0, failed: 0, givenUp: 0 };
  await fc.assert(
    fc.asyncProperty(fc.commands(steps, { maxCommands: 60, size: "max" }), async (commands) => {
      const folder = await mkdtemp(join(tmpdir(), "viv-model-"));
      const real = new Real(join(folder, "run"));
      try {
        const now = real.host.clock.now();
        const model: Model = { now, tasks: new Map(), beats: new Map(), claims: [], seen };
        await real.store("w0");
        await fc.asyncModelRun(() => ({ model, real }), commands);
        await settle(model, real);
      } finally {
        for (const store of real.stores.values()) await store.close();
        rmSync(folder, { recursive: true, force: true });
      }
    }),
    { numRuns: 100 },
  );
  expect(Math.min(seen.handedOver, seen.failed), JSON.stringify(seen)).toBeGreaterThan(0);
});

/** At the end: nothing counts twice (a rework takes its end back), and the doctor has no findings. */
async function settle(model: Model, real: Real): Promise<void> {
  const store = await real.store("w0");
  const finished = new Map<string, number>();
  for (const line of ledgerLines(real.path).lines) {
    const change = Number(line.to === "done") - Number(line.from === "done");
    finished.set(line.task ?? "", (finished.get(line.task ?? "") ?? 0) + change);
  }
  for (const [one, { state }] of model.tasks) {
    expect(finished.get(one) ?? 0, one).toBe(state === "done" ? 1 : 0);
  }
  await store.reap();
  await store.sweep();
  await store.close();
  real.stores.delete("w0");
  expect((await (await real.store("w0")).doctor()).findings).toEqual([]);
}
