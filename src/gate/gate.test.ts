import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FakeHost } from "../../test/support/machine.ts";
import { PRIORITIES } from "../base/priority.ts";
import { gateInMemory, type Release } from "./gate.ts";

function gateFor(max: number | null) {
  const host = new FakeHost();
  const gate = gateInMemory({ max, clock: host.clock });
  const order: string[] = [];
  const ask = (name: string, more: { priority?: "high" | "low"; signal?: AbortSignal } = {}) =>
    gate.acquire({ name, ...more }).then((release) => {
      order.push(name);
      return release;
    });
  return { host, gate, order, ask };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("a gate in memory", () => {
  test("lets in up to the maximum, and the others in turn", async () => {
    const { gate, order, ask } = gateFor(2);
    const [a, b] = await Promise.all([ask("a"), ask("b")]);
    void ask("c");
    void ask("d");
    await settled();
    expect(order).toEqual(["a", "b"]);
    b();
    b();
    await settled();
    expect(order).toEqual(["a", "b", "c"]);
    expect(gate.view().holders.map(({ name }) => name)).toEqual(["a", "c"]);
    a();
    await settled();
    expect(order).toEqual(["a", "b", "c", "d"]);
  });

  test("a request at the moment of a release does not get the slot", async () => {
    const { order, ask } = gateFor(1);
    const release = await ask("first");
    void ask("waits");
    release();
    void ask("newcomer", { priority: "high" });
    await settled();
    expect(order).toEqual(["first", "waits"]);
  });

  test("an aborted waiter leaves the line, also as the first in it", async () => {
    const { gate, order, ask } = gateFor(1);
    const release = await ask("a");
    const stop = new AbortController();
    const given = expect(ask("b", { signal: stop.signal })).rejects.toThrow("enough");
    void ask("c");
    stop.abort(new Error("enough"));
    await given;
    expect(gate.view().queue.map(({ name }) => name)).toEqual(["c"]);
    release();
    await settled();
    expect(order).toEqual(["a", "c"]);
    await expect(ask("d", { signal: stop.signal })).rejects.toThrow("enough");
    expect(gate.view()).toMatchObject({ holders: [{ name: "c" }], queue: [] });
  });

  test("a holder that is aborted keeps its slot until it gives it back", async () => {
    const { gate, ask } = gateFor(1);
    const release = await ask("a");
    const stop = new AbortController();
    const second = ask("b", { signal: stop.signal });
    release();
    stop.abort();
    (await second)();
    expect(gate.view().holders).toEqual([]);
  });

  test("the maximum changes while it runs; a lower one stops no holder", async () => {
    const { gate, order, ask } = gateFor(1);
    const first = await ask("a");
    for (const name of ["b", "c", "d", "e"]) void ask(name);
    gate.setMax(3);
    await settled();
    expect(order).toEqual(["a", "b", "c"]);
    gate.setMax(1);
    expect(gate.view().holders).toHaveLength(3);
    first();
    await settled();
    expect(order).toEqual(["a", "b", "c"]);
    gate.setMax(null);
    await settled();
    expect(order).toEqual(["a", "b", "c", "d", "e"]);
  });

  test("shows holders and waiters, for how long, and notifies of changes", async () => {
    const { host, gate, ask } = gateFor(1);
    let changes = 0;
    const stop = gate.onChange(() => changes++);
    const release = await ask("a");
    const since = new Date(host.clock.now()).toISOString();
    void ask("b", { priority: "low" });
    host.advance(60_000);
    void ask("c", { priority: "high" });
    const high = { name: "c", priority: "high", waiting_ms: 0 };
    expect(gate.view()).toMatchObject({
      max: 1,
      holders: [{ name: "a", since }],
      queue: [high, { name: "b", priority: "low", since, waiting_ms: 60_000 }],
    });
    host.advance(10 * 60_000);
    expect(gate.view().queue.map(({ name }) => name)).toEqual(["b", "c"]);
    host.jumpWall(-86_400_000);
    expect(gate.view().queue.map(({ waiting_ms }) => waiting_ms)).toEqual([660_000, 600_000]);
    expect(changes).toBe(3);
    release();
    expect(changes).toBe(4);
    stop();
    gate.setMax(5);
    expect(changes).toBe(4);
  });

  test("10,000 hand-offs in the order in which they came", async () => {
    const { ask, order } = gateFor(3);
    const expected = Array.from({ length: 10_000 }, (_, n) => `${n}`);
    await Promise.all(
      expected.map(async (name) => {
        const release = await ask(name);
        await null;
        release();
      }),
    );
    expect(order).toEqual(expected);
  });

  test("for any sequence: never too many holders, no waiter forgotten, equals in order", async () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant("ask" as const), priority: fc.constantFrom(...PRIORITIES) }),
      fc.record({ kind: fc.constant("release" as const), which: fc.nat(5) }),
      fc.record({ kind: fc.constant("abort" as const), which: fc.nat(5) }),
      fc.record({ kind: fc.constant("max" as const), max: fc.integer({ min: 1, max: 4 }) }),
      fc.record({ kind: fc.constant("time" as const), ms: fc.nat(400_000) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const host = new FakeHost();
        const gate = gateInMemory({ max: 2, clock: host.clock });
        const entered: { n: number; priority: string }[] = [];
        const inside: Release[] = [];
        const stops = new Map<number, AbortController>();
        let asked = 0;
        let left = 0;
        let max = 2;
        for (const one of steps) {
          const before = gate.view().holders.length;
          if (one.kind === "ask") {
            const n = asked++;
            const stop = new AbortController();
            stops.set(n, stop);
            const { priority } = one;
            void gate.acquire({ name: `${n}`, priority, signal: stop.signal }).then(
              (release) => {
                stops.delete(n);
                entered.push({ n, priority });
                inside.push(release);
              },
              () => left++,
            );
          } else if (one.kind === "release")
            inside.splice(one.which % (inside.length || 1), 1)[0]?.();
          else if (one.kind === "abort") {
            const [n, stop] = [...stops][one.which % (stops.size || 1)] ?? [];
            stop?.abort();
            stops.delete(n ?? -1);
          } else if (one.kind === "max") {
            max = one.max;
            gate.setMax(max);
          } else host.advance(one.ms);
          await settled();
          const { holders, queue } = gate.view();
          expect(holders.length).toBeLessThanOrEqual(Math.max(max, before));
          expect(holders.length).toBe(inside.length);
          // With a free slot the line is empty.
          if (queue.length > 0) expect(holders.length).toBeGreaterThanOrEqual(max);
          expect(entered.length + left + queue.length).toBe(asked);
        }
        for (const priority of PRIORITIES) {
          const own = entered.filter((one) => one.priority === priority).map(({ n }) => n);
          expect(own).toEqual([...own].sort((a, b) => a - b));
        }
      }),
      { numRuns: 50 },
    );
  });
});
