import { existsSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { newFolder } from "../../../test/support/folders.ts";
import { FakeHost } from "../../../test/support/machine.ts";
import { countedCompletions, ledgerLines, places } from "../../../test/support/run-files.ts";
import { isVivError } from "../../base/errors.ts";
import { openRun } from "../../main.ts";
import { withFileLock } from "../../platform/files/file-lock.ts";
import type { Claim, Store } from "../store.ts";
import { LaneWriter } from "./lanes/lanes.ts";

/**
 * Two processes, with one of them stopped between two steps of a transition while the other acts.
 * The fake clock is the seam: transitions read it between their steps, and the other process acts
 * during that read. Store methods do their work before they first wait, so calling
 * one there runs it to its end.
 */

const HOUR = 3_600_000;

async function scene() {
  const path = join(newFolder(), "run");
  const host = new FakeHost();
  const machines = new Map<Store, { die(): void }>();
  const open = async () => {
    const machine = host.process();
    const store = await openRun(path, { create: true, durability: "fast", machine });
    machines.set(store, machine);
    return store;
  };
  return { path, host, open, kill: (store: Store) => machines.get(store)?.die() };
}

/** Runs `act` at the n-th look at the clock from now on, once. */
function atLook(host: FakeHost, n: number, act: () => void): () => boolean {
  let left = n;
  let done = false;
  host.onLook = () => {
    if (--left > 0 || done) return;
    done = true;
    host.onLook = undefined;
    act();
  };
  return () => done;
}

function refOf(claim: Claim | undefined) {
  if (!claim) throw new Error("nothing was claimed");
  return { id: claim.task.task_id, worker: claim.worker, token: claim.token };
}

async function codeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return "fine";
  } catch (error) {
    if (isVivError(error)) return error.code;
    throw error;
  }
}

describe("a worker and the reaper", () => {
  test.each([1, 2, 3, 4])(
    "the worker finishes and dies while the reaper looks (look %i): its completion counts",
    async (look) => {
      const { path, host, open, kill } = await scene();
      const worker = await open();
      const reaper = await open();
      await worker.enqueue({ id: "a", type: "t" });
      await worker.register("w");
      const claim = refOf((await worker.claim({ worker: "w" }))[0]);
      host.advance(HOUR);
      atLook(host, look, () => {
        void worker.complete(claim);
        kill(worker);
      });
      await reaper.reap();
      host.onLook = undefined;
      const [lies] = places(path).get("a") ?? [];
      // Either it was done before it was taken back, or after: then it is refused, and void.
      if (lies?.state === "done") {
        expect(countedCompletions(path)).toEqual(new Map([["a", 1]]));
        expect(await reaper.attemptsOf("a")).toMatchObject([{ outcome: "done" }]);
      } else {
        expect(lies).toEqual({ state: "pending" });
        expect(countedCompletions(path)).toEqual(new Map());
      }
    },
  );

  test("two reapers roll one recorded end forward: it counts, once", async () => {
    const { path, host, open } = await scene();
    const worker = await open();
    const one = await open();
    const two = await open();
    await worker.enqueue({ id: "a", type: "t" });
    const claim = refOf((await worker.claim({ worker: "w" }))[0]);
    endedButNotMoved(path, claim);
    host.advance(HOUR);
    atLook(host, 1, () => void two.reap());
    await one.reap();
    expect(places(path).get("a")).toEqual([{ state: "done" }]);
    expect(countedCompletions(path)).toEqual(new Map([["a", 1]]));
    expect(await one.attemptsOf("a")).toMatchObject([{ attempt: 1, outcome: "done" }]);
  });

  test("a slow reaper does not take the claim of the dead one's successor", async () => {
    const { path, host, open, kill } = await scene();
    const first = await open();
    const successor = await open();
    const slow = await open();
    const quick = await open();
    await first.enqueue({ id: "a", type: "t" });
    await first.register("w");
    await first.claim({ worker: "w" });
    kill(first);
    let claim: Claim | undefined;
    // Between its look at the claims and its move, another reaper was quicker, and the name and
    // the task have been taken again.
    const happened = atLook(host, 1, () => {
      void quick.reap();
      void successor.register("w");
      void successor.claim({ worker: "w" }).then(([one]) => {
        claim = one;
      });
    });
    await slow.reap();
    await Promise.resolve();
    if (!happened()) return;
    expect(await codeOf(successor.complete(refOf(claim)))).toBe("fine");
    expect(places(path).get("a")).toEqual([{ state: "done" }]);
  });

  // A claim's own line in the ledger may be on disk by then, or not yet.
  test.each([true, false])(
    "stopped between look and move, its name and task taken meanwhile: refused, and the successor keeps its claim (line written: %s)",
    async (written) => {
      const { path, host, open } = await scene();
      const sleeper = await open();
      const successor = await open();
      await sleeper.enqueue({ id: "a", type: "t" });
      const old = refOf((await sleeper.claim({ worker: "w" }))[0]);
      if (written) await new Promise((resolve) => setImmediate(resolve));
      let current: Claim | undefined;
      const happened = atLook(host, 1, () => {
        // As long as it takes for a process to be taken for dead.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600);
        host.advance(HOUR);
        void successor.reap();
        void successor.claim({ worker: "w" }).then(([one]) => {
          current = one;
        });
        void successor.append({ event: "reserved" }); // writes the claim's own line as well
      });
      const result = await codeOf(sleeper.complete(old));
      expect(happened()).toBe(true);
      expect(result).toBe("CLAIM_LOST");
      expect(places(path).get("a")).toEqual([{ state: "claimed", worker: "w" }]);
      expect(await codeOf(successor.complete(refOf(current)))).toBe("fine");
      expect(countedCompletions(path)).toEqual(new Map([["a", 1]]));
      expect(await successor.attemptsOf("a")).toMatchObject([
        { attempt: 1, outcome: "abandoned" },
        { attempt: 2, outcome: "done" },
      ]);
    },
  );

  test("cancelled between look and move: one of the two happens", async () => {
    const { path, host, open } = await scene();
    const worker = await open();
    const person = await open();
    await worker.enqueue({ id: "a", type: "t" });
    const claim = refOf((await worker.claim({ worker: "w" }))[0]);
    atLook(host, 1, () => void person.cancel("a"));
    expect(await codeOf(worker.complete(claim))).toBe("CLAIM_LOST");
    expect(places(path).get("a")).toEqual([{ state: "failed" }]);
    expect(countedCompletions(path)).toEqual(new Map());
    expect(await person.attemptsOf("a")).toMatchObject([{ outcome: "cancelled" }]);
  });
});

describe("recovery of ends that were recorded", () => {
  test("a clock that was set back over days does not hide the record", async () => {
    const { path, host, open } = await scene();
    const worker = await open();
    await worker.enqueue({ id: "a", type: "t" });
    const claim = refOf((await worker.claim({ worker: "w" }))[0]);
    host.jumpWall(-5 * 86_400_000);
    endedButNotMoved(path, claim, new Date(host.clock.now()).toISOString());
    host.advance(HOUR);
    const reaper = await open();
    expect((await reaper.reap()).reaped).toMatchObject([{ to: "done", reason: "finished" }]);
    expect(places(path).get("a")).toEqual([{ state: "done" }]);
  });

  test("a line with another claim's token is history, not state", async () => {
    const { path, host, open } = await scene();
    const worker = await open();
    await worker.enqueue({ id: "a", type: "t" });
    const old = refOf((await worker.claim({ worker: "w" }))[0]);
    await worker.release(old);
    endedButNotMoved(path, old);
    await worker.claim({ worker: "w" });
    host.advance(HOUR);
    const reaper = await open();
    expect((await reaper.reap()).reaped).toMatchObject([{ to: "pending", reason: "stale" }]);
  });
});

describe("doctor and live workers", () => {
  test("a repair of the index does not cost a worker its claim", async () => {
    const { path, open } = await scene();
    const worker = await open();
    const doctor = await open();
    await worker.enqueue({ id: "a", type: "t" });
    renameSync(join(path, ".viv/ids/a.json"), join(path, "..", "a.json"));
    const claim = refOf((await worker.claim({ worker: "w" }))[0]);
    const { findings } = await doctor.doctor({ fix: true });
    expect(findings).toMatchObject([{ code: "missing_index", fixed: true }]);
    expect(await codeOf(worker.complete(claim))).toBe("fine");
  });
});

describe("adopting", () => {
  const adopted = (path: string) =>
    ledgerLines(path).lines.filter(({ event }) => event === "adopted");

  test.each(["enqueue", "release"])("not between the two steps of our own %s", async (verb) => {
    const { path, open } = await scene();
    const one = await open();
    const two = await open();
    if (verb === "release") {
      await one.enqueue({ id: "a", type: "t" });
      await two.claim({ worker: "w" });
    }
    const registration = await two.register("x");
    const { append } = LaneWriter.prototype;
    let finish = () => {};
    const paused = vi.spyOn(LaneWriter.prototype, "append");
    paused.mockImplementation(function (this: LaneWriter, ...line) {
      finish = () => append.apply(this, line);
    });
    try {
      if (verb === "release") await one.release({ id: "a", worker: "w" });
      else await one.enqueue({ id: "a", type: "t" });
      expect(await two.claim({ worker: "x" })).toEqual([]);
      expect(await two.sweep()).toMatchObject({ adopted: 0 });
    } finally {
      paused.mockRestore();
    }
    finish();
    expect((await two.claim({ worker: "x" })).map(({ task }) => task.task_id)).toEqual(["a"]);
    expect(adopted(path)).toEqual([]);
    await registration.release();
  });

  test("a second later, when the enqueuer has died between them", async () => {
    const { path, open } = await scene();
    const one = await open();
    const two = await open();
    const dies = vi.spyOn(LaneWriter.prototype, "append").mockImplementation(() => {});
    try {
      await one.enqueue({ id: "a", type: "t" });
    } finally {
      dies.mockRestore();
    }
    const registration = await two.register("x");
    expect(await two.claim({ worker: "x" })).toEqual([]);
    const later = vi.spyOn(Date, "now").mockReturnValue(Date.now() + 1_100);
    try {
      expect((await two.claim({ worker: "x" })).map(({ task }) => task.task_id)).toEqual(["a"]);
    } finally {
      later.mockRestore();
    }
    expect(adopted(path)).toHaveLength(1);
    await registration.release();
  });

  test("at once by a one-shot claim, which does not look again", async () => {
    const { open } = await scene();
    const one = await open();
    const dies = vi.spyOn(LaneWriter.prototype, "append").mockImplementation(() => {});
    try {
      await one.enqueue({ id: "a", type: "t" });
    } finally {
      dies.mockRestore();
    }
    const two = await open();
    expect((await two.claim({ worker: "w" })).map(({ task }) => task.task_id)).toEqual(["a"]);
  });

  test("a foreign task that is claimed while it is being looked at", async () => {
    const { path, host, open } = await scene();
    const one = await open();
    const two = await open();
    for (const id of ["a", "b"]) {
      writeFileSync(
        join(path, "pending", `${id}.json`),
        JSON.stringify({ task_id: id, task_type: "t" }),
      );
    }
    let stolen: Claim[] = [];
    atLook(host, 3, () => {
      void two.claim({ worker: "w2", max: 2 }).then((claims) => {
        stolen = claims;
      });
    });
    const claims = await one.claim({ worker: "w1", max: 2 });
    const ids = [...claims, ...stolen].map(({ task }) => task.task_id);
    expect(ids.sort()).toEqual(["a", "b"]);
  });
});

describe("order across processes", () => {
  test("an acknowledged high one is next, however soon the claim comes", async () => {
    const { open } = await scene();
    const store = await open();
    await store.enqueue({ id: "n1", type: "t" });
    await store.enqueue({ id: "n2", type: "t" });
    // All of this happens within one and the same millisecond.
    const now = performance.now();
    const watch = vi.spyOn(performance, "now").mockReturnValue(now);
    try {
      expect((await store.claim({ worker: "w" })).map((c) => c.task.task_id)).toEqual(["n1"]);
      await store.enqueue({ id: "h", type: "t", priority: "high" });
      expect((await store.claim({ worker: "w" })).map((c) => c.task.task_id)).toEqual(["h"]);
    } finally {
      watch.mockRestore();
    }
  });
});

/** A worker that dies between the two steps of ending its attempt. */
function endedButNotMoved(
  path: string,
  claim: { id: string; worker: string; token: string },
  at = new Date().toISOString(),
): void {
  const line = {
    at,
    event: "ended",
    task: claim.id,
    worker: claim.worker,
    token: claim.token,
    attempt: 1,
    outcome: "done",
    from: "claimed",
    to: "done",
  };
  const file = join(path, "ledger", `${at.slice(0, 10)}.jsonl`);
  const before = existsSync(file);
  writeFileSync(file, `${JSON.stringify(line)}\n`, { flag: "a" });
  expect(before || ledgerLines(path).lines.length > 0).toBe(true);
}

test("a reaper that had to wait leaves the new holder of a dead worker's name alone", async () => {
  const { path, open, kill } = await scene();
  const dead = await open();
  await dead.register("w");
  kill(dead);
  const store = await open();
  await store.enqueue({ id: "a", type: "t" });
  const calls: Promise<unknown>[] = [];
  await withFileLock(join(path, ".viv/workers/.lock"), () => {
    calls.push(store.claim({ worker: "w" }), store.reap());
  });
  await Promise.all(calls);
  expect(places(path).get("a")).toEqual([{ state: "claimed", worker: "w" }]);
  expect(existsSync(join(path, "claimed/w/.heartbeat"))).toBe(true);
});
