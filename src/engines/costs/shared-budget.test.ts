import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { LedgerLine } from "../../queue/ledger.ts";
import type { Claim, Store } from "../../queue/store.ts";
import type { Shared } from "./reserve-policy.ts";
import { SharedBudget } from "./shared-budget.ts";

/** A ledger that all "processes" share: in memory, in the order in which lines were written. */
class Ledger {
  readonly lines: LedgerLine[] = [];
  readonly claimed = new Set<string>();

  write(line: Partial<LedgerLine>): void {
    this.lines.push({ at: "2026-11-15T10:00:00.000Z", ...line } as LedgerLine);
  }

  /** As one process sees it. */
  store(): Pick<Store, "followLedger" | "append" | "show"> {
    const { lines } = this;
    let read = 0;
    return {
      followLedger: () => ({
        async *news() {
          while (read < lines.length) {
            const line = lines[read++] as LedgerLine;
            yield { line, file: "2026-11-15.jsonl", offset: read };
          }
        },
        position: () => ({ "2026-11-15.jsonl": read }),
        onNews: () => () => {},
      }),
      append: async (line) => this.write(line as LedgerLine),
      show: async (id) =>
        ({ id, state: this.claimed.has(id) ? "claimed" : "done" }) as Awaited<
          ReturnType<Store["show"]>
        >,
    };
  }

  get spent(): number {
    return this.lines.reduce(
      (sum, { event, usd }) => sum + (event === "step" ? Number(usd) : 0),
      0,
    );
  }
}

let tokens = 0;
const now = () => Date.parse("2026-11-15T10:00:00Z");

function claimOf(ledger: Ledger, task: string, type: string): Claim {
  ledger.claimed.add(task);
  const claim = { worker: "w", token: String(++tokens), attempt: 1 };
  return { ...claim, task: { task_id: task, task_type: type } } as Claim;
}

interface Work {
  type: string;
  usd: number;
  steps: number;
}

/** One attempt, as a worker makes it. Resolves to whether it was done, cut short or not begun. */
async function attempt(
  ledger: Ledger,
  spending: SharedBudget,
  limits: Shared,
  id: string,
  work: Work,
) {
  const claim = claimOf(ledger, id, work.type);
  const of = { task: id, token: claim.token, type: work.type };
  const end = (outcome: "done" | "released") => {
    ledger.write({ event: "ended", outcome, to: "done", ...of });
    ledger.claimed.delete(id);
  };
  const refused = await spending.reserve(claim, limits);
  if (refused !== null) {
    end("released");
    return refused.isShared ? "later" : "never";
  }
  let isCut = false;
  for (let left = work.steps; left > 0 && !isCut; ) {
    // The model takes its time, while others spend.
    for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
    const step = { kind: "text", model: "m", tokens: { input: 1 }, usd: work.usd };
    ledger.write({ event: "step", ...of, ...step });
    const { held } = await spending.look(claim, limits);
    work.steps = --left; // its session goes on from here
    isCut = held !== null && left > 0; // after its last step it is done
  }
  await spending.release(claim);
  end(isCut ? "released" : "done");
  return isCut ? "cut" : "done";
}

async function drain(workers: number, limits: Shared, work: Work[]) {
  const ledger = new Ledger();
  const queue = work.map((one, i) => ({ id: `t${i}`, ...one }));
  const ends: string[] = [];
  await Promise.all(
    Array.from({ length: workers }, async () => {
      const spending = new SharedBudget(ledger.store(), now);
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        const end = await attempt(ledger, spending, limits, next.id, next);
        ends.push(end);
        if (end === "never") return;
        if (end === "done") continue;
        queue.push(next);
        await new Promise(setImmediate);
      }
    }),
  );
  return { ledger, ends };
}

describe("many workers and one budget", () => {
  test("never spend more than the budget, and all of it but for a step", async () => {
    const work = fc.record({
      workers: fc.integer({ min: 1, max: 12 }),
      cents: fc.integer({ min: 1, max: 60 }),
      sizes: fc.array(fc.integer({ min: 1, max: 15 }), { minLength: 1, maxLength: 40 }),
      scope: fc.constantFrom("run", "day"),
    });
    await fc.assert(
      fc.asyncProperty(work, async ({ workers, cents, sizes, scope }) => {
        const usd = cents / 100;
        const tasks = sizes.map((steps) => ({ type: "t", usd, steps }));
        const { ledger, ends } = await drain(workers, { [scope]: { usd: 1 } }, tasks);
        expect(ledger.spent).toBeLessThanOrEqual(1 + 1e-9);
        const whole = tasks.reduce((sum, one) => sum + one.usd * one.steps, 0);
        const isAllDone = ends.filter((end) => end === "done").length === tasks.length;
        if (!isAllDone && whole > 1) expect(ledger.spent).toBeGreaterThan(1 - usd - 1e-9);
        if (whole <= 1) expect(isAllDone).toBe(true);
      }),
      { numRuns: 200 },
    );
  });

  test("of several types exceed it by no more than a step of an unknown size", async () => {
    const one = fc.record({
      type: fc.constantFrom("cheap", "dear", "other"),
      steps: fc.integer({ min: 1, max: 8 }),
    });
    const prices: Record<string, number> = { cheap: 0.01, dear: 0.2, other: 0.05 };
    await fc.assert(
      fc.asyncProperty(
        fc.array(one, { maxLength: 40 }),
        fc.integer({ min: 1, max: 10 }),
        async (some, workers) => {
          const tasks = some.map((each) => ({ ...each, usd: prices[each.type] ?? 0 }));
          const { ledger } = await drain(workers, { run: { usd: 2 } }, tasks);
          // The first step of each type may be dearer than anything that was known.
          expect(ledger.spent).toBeLessThanOrEqual(2 + 0.2 + 0.05 + 1e-9);
        },
      ),
      { numRuns: 40 },
    );
  });

  test("a budget in tokens is shared as well", async () => {
    const tasks = Array.from({ length: 10 }, () => ({ type: "t", usd: 0, steps: 4 }));
    const { ledger } = await drain(5, { run: { tokens: 9 } }, tasks);
    expect(ledger.lines.filter(({ event }) => event === "step")).toHaveLength(9);
  });
});

describe("a reservation", () => {
  const limits = { run: { usd: 1 } };
  const reserved = (spending: SharedBudget) => spending.reserved.usd;

  test("of all that is left becomes smaller when a step is known, and others may begin", async () => {
    const ledger = new Ledger();
    const spending = new SharedBudget(ledger.store(), now);
    const first = claimOf(ledger, "a", "t");
    expect(await spending.reserve(first, limits)).toBeNull();
    expect(reserved(spending)).toBe(1);
    const other = new SharedBudget(ledger.store(), now);
    expect(await other.reserve(claimOf(ledger, "b", "t"), limits)).toMatchObject({
      isShared: true,
    });
    const of = { task: "a", token: first.token, type: "t" };
    const tokens = { input: 1 };
    ledger.write({ event: "step", kind: "text", model: "m", tokens, usd: 0.02, ...of });
    expect(await spending.look(first, limits)).toMatchObject({ held: null });
    await spending.refresh();
    expect(reserved(spending)).toBeCloseTo(0.18);
    expect(await other.reserve(claimOf(ledger, "c", "t"), limits)).toBeNull();
  });

  test("of an attempt that ended, was cancelled or moved away is dropped", async () => {
    for (const gone of ["ended", "cancelled", "moved"] as const) {
      const ledger = new Ledger();
      const dead = claimOf(ledger, "a", "t");
      expect(await new SharedBudget(ledger.store(), now).reserve(dead, limits)).toBeNull();
      if (gone === "moved") ledger.claimed.delete("a");
      else ledger.write({ event: gone, task: "a", token: dead.token });
      const spending = new SharedBudget(ledger.store(), now);
      expect(await spending.reserve(claimOf(ledger, "b", "t"), limits)).toBeNull();
    }
  });

  test("nothing is written where no budget is shared", async () => {
    const ledger = new Ledger();
    const spending = new SharedBudget(ledger.store(), now);
    const claim = claimOf(ledger, "a", "t");
    expect(await spending.reserve(claim, { attempt: { usd: 1 } })).toBeNull();
    await spending.release(claim);
    expect(ledger.lines).toEqual([]);
  });
});
