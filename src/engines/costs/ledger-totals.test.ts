import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { holds } from "../../../test/support/property.ts";
import type { LedgerLine } from "../../queue/ledger.ts";
import { DIMENSIONS, dollarsOf, LedgerTotals, type Spending } from "./ledger-totals.ts";
import type { DollarSource } from "./prices.ts";
import { type stepLine, totalTokens, type usageLine } from "./usage.ts";

type OnLine = { at: string; agent: string };
type StepLine = ReturnType<typeof stepLine> & OnLine;
type UsageLine = ReturnType<typeof usageLine> & OnLine;

const AT = "2026-11-15T10:00:00.000Z";
const line = (event: LedgerLine["event"], more: Partial<LedgerLine> = {}): LedgerLine => ({
  at: AT,
  event,
  task: "t.1",
  worker: "w1",
  token: "1",
  attempt: 1,
  ...more,
});
const tokens = (input: number, output = 0) => ({ input, output, cache_read: 0, cache_write: 0 });
const step = (more: Partial<StepLine> = {}): LedgerLine =>
  line("step", { kind: "text", model: "opus", tokens: tokens(100), usd: 0.5, ...more });
const usage = (models: UsageLine["models"], more: Partial<UsageLine> = {}): LedgerLine =>
  line("usage", { type: "job", engine: "claude", models, ...more });
const opus = (usd: number | null, input = 1000, source: DollarSource = "reported") => ({
  model: "opus",
  ...tokens(input),
  usd,
  source: usd === null ? null : source,
});
const done = (more: Partial<LedgerLine> = {}) =>
  line("ended", { outcome: "done", from: "claimed", to: "done", ...more });

function tallied(...lines: LedgerLine[]): LedgerTotals {
  const tally = new LedgerTotals(DIMENSIONS);
  for (const one of lines) tally.add(one);
  return tally;
}
const brief = (sum: Spending | undefined) =>
  sum && [dollarsOf(sum), totalTokens(sum.tokens), sum.attempts, sum.proven];

describe("an attempt", () => {
  test("counts with its steps while it runs, and after a crash", () => {
    const tally = tallied(step(), step({ tokens: tokens(1, 2), usd: 0.25 }));
    expect(brief(tally.total())).toEqual([0.75, 103, 1, 0]);
    tally.add(line("ended", { outcome: "abandoned", to: "pending" }));
    expect(brief(tally.total())).toEqual([0.75, 103, 1, 0]);
  });

  test("counts with the larger of its own account and its steps, in any order", () => {
    const nine = step({ usd: 9, tokens: tokens(5000) });
    for (const none of [usage([opus(0)]), usage([opus(0, 5000)]), usage([]), usage([opus(null)])]) {
      for (const lines of [
        [nine, none],
        [none, nine],
      ]) {
        const tally = tallied(...lines, done());
        expect(brief(tally.total())).toEqual([9, 5000, 1, 1]);
        expect(brief(tally.rows("model").get("opus"))).toEqual([9, 5000, 1, 1]);
      }
    }
    // Dollars and tokens each: the account may lack the one, and the steps the other.
    expect(brief(tallied(nine, usage([opus(11, 10)])).total())).toEqual([11, 5000, 1, 0]);
    expect(brief(tallied(nine, usage([opus(2, 9000)])).total())).toEqual([9, 9000, 1, 0]);
    // A total that is reported twice counts once.
    expect(brief(tallied(usage([opus(2)]), usage([opus(1)])).total())).toEqual([2, 1000, 1, 0]);
  });

  test("counts with its own total when that is more, before or after its steps", () => {
    const tally = tallied(step(), usage([opus(2)]), step());
    expect(brief(tally.total())).toEqual([2, 1000, 1, 0]);
    tally.add(done());
    expect(brief(tally.total())).toEqual([2, 1000, 1, 1]);
  });

  test("that was taken for dead may still report its usage", () => {
    const abandoned = line("ended", { outcome: "abandoned", to: "pending" });
    expect(brief(tallied(step(), abandoned, usage([opus(2)])).total())).toEqual([2, 1000, 1, 0]);
  });

  test("is another with another token", () => {
    const tally = tallied(usage([opus(2)]), step({ token: "2", usd: 1 }));
    expect(brief(tally.total())).toEqual([3, 1100, 2, 0]);
    expect(brief(tally.rows("task").get("t.1"))).toEqual([3, 1100, 2, 0]);
  });

  test("with an incomplete total counts with its steps beyond that", () => {
    const lost = usage([opus(0.1, 50), { ...opus(1, 9), model: "haiku" }], { unreadable: true });
    expect(brief(tallied(step(), lost).total())).toEqual([1.5, 109, 1, 0]);
    expect(brief(tallied(step(), usage([], { unreadable: true })).total())).toEqual([
      0.5, 100, 1, 0,
    ]);
  });

  test("without any usage yet is an attempt all the same", () => {
    const tally = tallied(line("step", { kind: "text", text: "hm" }));
    expect(brief(tally.total())).toEqual([0, 0, 1, 0]);
    expect([...tally.rows("model").keys()]).toEqual([null]);
  });
});

describe("dollars", () => {
  test("are reported or imputed; usage without a price counts in tokens", () => {
    const tally = tallied(
      usage([
        opus(2),
        { ...opus(1, 10, "imputed"), model: "gpt" },
        { ...opus(null, 7), model: "x" },
      ]),
    );
    expect(tally.total()).toMatchObject({ reported: 2, imputed: 1, unpriced: 7 });
    expect(tally.rows("model").get("x")).toMatchObject({ reported: 0, imputed: 0, unpriced: 7 });
  });

  test("of a step are imputed unless it has a source", () => {
    expect(tallied(step()).total()).toMatchObject({ reported: 0, imputed: 0.5 });
    expect(tallied(step({ source: "reported" })).total()).toMatchObject({ reported: 0.5 });
    const { usd: _, ...unpriced } = step();
    expect(tallied(unpriced as LedgerLine).total()).toMatchObject({ imputed: 0, unpriced: 100 });
  });
});

describe("a landed task", () => {
  const landings = (...lines: LedgerLine[]) => {
    const tally = new LedgerTotals(["type", "model", "day"], { landed: true });
    for (const one of [usage([opus(1)]), done(), ...lines]) tally.add(one);
    return tally;
  };
  const landed = line("landed", { at: "2026-11-16T10:00:00.000Z", token: undefined });

  test("counts once, with the keys of the attempt that proved it, on the day it landed", () => {
    expect(landings().total().landed).toBe(0);
    const tally = landings(landed, landed);
    expect(tally.total().landed).toBe(1);
    expect(tally.rows("type").get("job")?.landed).toBe(1);
    expect(tally.rows("model").get("opus")?.landed).toBe(1);
    expect(tally.rows("day").get("2026-11-15")?.landed).toBe(0);
    expect(tally.rows("day").get("2026-11-16")?.landed).toBe(1);
  });

  test("one that went back is proven by its last attempt only", () => {
    const again = { token: "2", attempt: 2 };
    const sent = landings(line("reworked", { from: "done", to: "pending" }));
    expect(sent.total().proven).toBe(0);
    for (const one of [usage([opus(2)], again), done(again), landed]) sent.add(one);
    expect(sent.total()).toMatchObject({ proven: 1, landed: 1, reported: 3 });
  });
});

describe("a proven task", () => {
  const spent = usage([opus(2)], { agent: "ann" });

  test("ends in done, or is approved", () => {
    expect(tallied(spent, done()).total().proven).toBe(1);
    const review = done({ to: "review" });
    expect(tallied(spent, review).total().proven).toBe(0);
    expect(tallied(spent, review, line("approved", { to: "done" })).total().proven).toBe(1);
  });

  test("is none that failed, was rejected, or was moved without its claim", () => {
    const review = done({ to: "review" });
    const approved = line("approved");
    for (const lines of [
      [line("ended", { outcome: "unproven", to: "failed" })],
      [review, line("rejected"), approved],
      [review, line("cancelled"), approved],
      [done(), line("void", { outcome: "done" })],
      [review, line("void", { outcome: "done" }), approved],
    ]) {
      expect(tallied(spent, ...lines).total().proven).toBe(0);
    }
    const other = line("void", { outcome: "abandoned" });
    expect(tallied(spent, done(), other).total().proven).toBe(1);
    const abandoned = line("ended", { outcome: "abandoned", to: "pending" });
    expect(tallied(spent, abandoned, other, done()).total().proven).toBe(1);
  });

  test("is the credit of the attempt that proved it", () => {
    const first = { token: "0", worker: "w0" };
    const tally = tallied(
      usage([{ ...opus(1), model: "haiku" }], first),
      line("ended", { ...first, outcome: "unproven", to: "waiting" }),
      spent,
      done({ to: "review" }),
      line("approved", { at: "2026-11-16T00:00:01.000Z" }),
    );
    const proven = (by: (typeof DIMENSIONS)[number]) =>
      Object.fromEntries([...tally.rows(by)].map(([key, row]) => [key, row.proven]));
    expect(proven("model")).toEqual({ haiku: 0, opus: 1 });
    expect(proven("worker")).toEqual({ w0: 0, w1: 1 });
    expect(proven("agent")).toEqual({ null: 0, ann: 1 });
    expect(proven("task")).toEqual({ "t.1": 1 });
    expect(proven("type")).toEqual({ job: 1 });
    expect(proven("day")).toEqual({ "2026-11-15": 0, "2026-11-16": 1 });
  });

  test("on which no model worked is none of our business", () => {
    expect(brief(tallied(done()).total())).toEqual([0, 0, 0, 0]);
  });
});

describe("the spending of others", () => {
  test("is everything but this attempt's", () => {
    const tally = tallied(
      usage([opus(1)], { at: "2026-11-14T10:00:00.000Z" }),
      usage([opus(2)], { task: "t.2", token: "2" }),
      step({ token: "3" }),
      step({ task: "t.3", token: "3", usd: 0.25 }),
    );
    const own = { task: "t.1", token: "3" };
    expect(tally.withoutAttempt(own, "2026-11-15")).toEqual({
      task: { usd: 1, tokens: 1000 },
      run: { usd: 3.25, tokens: 2100 },
      day: { usd: 2.25, tokens: 1100 },
    });
  });

  test("on a day that is still to come counts today as well", () => {
    const tally = tallied(
      usage([opus(1)], { at: "2026-11-14T10:00:00.000Z" }),
      usage([opus(2)], { token: "2", at: "2026-11-17T10:00:00.000Z" }),
      usage([opus(4)], { token: "3" }),
    );
    const on = (day: string) => tally.withoutAttempt({ task: "", token: "" }, day).day.usd;
    expect(["2026-11-14", "2026-11-15", "2026-11-17", "2026-11-18"].map(on)).toEqual([7, 6, 2, 0]);
  });

  test("with a wrong date counts on the day when it was read", () => {
    const tally = new LedgerTotals(["day"]);
    const written = { from: "2026-11-15", to: "2026-11-15" };
    tally.add(usage([opus(1)], { at: "2020-01-01T00:00:00.000Z" }), written);
    tally.add(usage([opus(2)], { token: "2", at: "2036-01-01T00:00:00.000Z" }), written);
    const on = (day: string) => tally.withoutAttempt({ task: "", token: "" }, day).day.usd;
    expect(["2026-11-15", "2026-11-16"].map(on)).toEqual([3, 0]);
  });
});

describe("lines that make no sense", () => {
  test.each<Partial<LedgerLine>>([
    { models: "opus" },
    { models: [null, 7, "x", []] },
    { models: [{ model: 5, input: "9", usd: Number.NaN }] },
    { models: [{ model: "m", input: -9, output: null, usd: -1 }] },
    { models: undefined },
  ])("%j", (more) => {
    expect(brief(tallied(line("usage", more)).total())).toEqual([0, 0, 1, 0]);
  });

  test("a line without a task is passed over", () => {
    const { task: _, ...bare } = step();
    expect(brief(tallied(bare as LedgerLine).total())).toEqual([0, 0, 0, 0]);
  });
});

/** The rules, with everything kept. */
function naive(lines: readonly LedgerLine[]): number[] {
  const attempts = new Map<string, { steps: number; total: number | null; to: string }>();
  for (const one of lines) {
    const key = `${one.task} ${one.token}`;
    const it = attempts.get(key) ?? { steps: 0, total: null, to: "" };
    if (one.event === "step") it.steps += one.usd as number;
    else if (one.event === "usage") it.total = (one.models as { usd: number }[])[0]?.usd ?? 0;
    else if (one.event === "ended") it.to = `${one.outcome} ${one.to}`;
    else continue;
    attempts.set(key, it);
  }
  const spent = [...attempts.values()].filter(({ steps, total }) => steps > 0 || total !== null);
  const usd = spent.reduce((sum, { steps, total }) => sum + Math.max(total ?? 0, steps), 0);
  return [usd, spent.length, spent.filter(({ to }) => to === "done done").length];
}

describe("a long ledger", () => {
  const history = fc.array(
    fc.record({
      name: fc.constantFrom("step", "step", "usage", "crash"),
      attempt: fc.nat(6),
      cents: fc.integer({ min: 1, max: 500 }),
      proves: fc.boolean(),
    }),
    { maxLength: 40 },
  );

  /** What a worker writes, attempt by attempt, as many at once as there are. */
  const linesOf = (events: typeof history extends fc.Arbitrary<infer T> ? T : never) => {
    const over = new Set<number>();
    return events.flatMap(({ name, attempt, cents, proves }): LedgerLine[] => {
      const of = { task: `t.${attempt % 3}`, token: String(attempt), worker: `w${attempt % 2}` };
      if (over.has(attempt)) return [];
      if (name === "step") return [step({ ...of, usd: cents / 100 })];
      over.add(attempt);
      const end =
        proves && name === "usage" ? done(of) : done({ ...of, outcome: "failed", to: "failed" });
      return name === "usage" ? [usage([opus(cents / 100)], of), end] : [end];
    });
  };

  test("sums follow the rules, and rows add up to the total", () => {
    holds(
      fc.property(history, (events) => {
        const lines = linesOf(events);
        const tally = tallied(...lines);
        const total = tally.total();
        const [usd = 0, attempts, proven] = naive(lines);
        expect(dollarsOf(total)).toBeCloseTo(usd, 6);
        expect([total.attempts, total.proven]).toEqual([attempts, proven]);
        for (const by of DIMENSIONS) {
          const rows = [...tally.rows(by).values()];
          expect(rows.reduce((sum, row) => sum + dollarsOf(row), 0)).toBeCloseTo(usd, 6);
          expect(rows.reduce((sum, row) => sum + row.proven, 0)).toBe(proven);
        }
      }),
    );
  });

  test("asking in between changes nothing", () => {
    holds(
      fc.property(history, (events) => {
        const lines = linesOf(events);
        const asked = new LedgerTotals(DIMENSIONS);
        for (const one of lines) {
          asked.add(one);
          asked.total();
          asked.rows("model");
        }
        expect(asked.total()).toEqual(tallied(...lines).total());
      }),
    );
  });

  test("old attempts are forgotten, their spending and open reviews are not", () => {
    const many = 3000;
    const tally = new LedgerTotals(["type", "worker"]);
    tally.add(usage([opus(5)], { task: "slow", token: "s" }));
    tally.add(done({ task: "slow", token: "s", to: "review" }));
    tally.add(step({ task: "long", token: "l" }));
    for (let i = 0; i < many; i++) {
      const of = { task: `t.${i}`, token: String(i) };
      tally.add(step(of));
      tally.add(usage([opus(1)], of));
      tally.add(done(of));
    }
    tally.add(line("approved", { task: "slow" }));
    tally.add(usage([opus(7)], { task: "long", token: "l" }));
    expect(brief(tally.total())).toEqual([many + 12, (many + 2) * 1000, many + 2, many + 1]);
    expect(brief(tally.rows("type").get("job"))).toEqual(brief(tally.total()));
    expect(tally.rows("task").size).toBe(0);
    const others = tally.withoutAttempt({ task: "long", token: "l" }, "2026-11-15");
    expect(others.run).toEqual({ usd: many + 5, tokens: (many + 1) * 1000 });
  });
});
