import { describe, expect, it } from "vitest";
import { newRun } from "../../test/support/new-run.ts";
import { Budget } from "../engines/costs/budget.ts";
import type { LedgerLine } from "../queue/ledger.ts";
import type { Store } from "../queue/store.ts";
import { budgetNews, newsFromLedger } from "./from-ledger.ts";

const AT = "2026-11-16T12:00:00.000Z";

async function newsOf(store: Store): Promise<string[]> {
  const lines: LedgerLine[] = [];
  for await (const line of store.ledger()) lines.push(line);
  return newsFromLedger(lines).map(
    ({ event, also, text }) => `${[event, ...(also ?? [])]} | ${text}`,
  );
}

async function claim(store: Store, worker = "w") {
  const [one] = await store.claim({ worker });
  if (one === undefined) throw new Error("nothing to claim");
  return { id: one.id, worker, token: one.token };
}

describe("news in a ledger", () => {
  it("is a review, an end, a failure for good; not a try that failed, nor a task cancelled", async () => {
    const { store } = await newRun();
    await store.enqueue({ id: "a", type: "t", review: true });
    await store.complete(await claim(store));
    await store.approve("a");
    await store.enqueue({ id: "b", type: "t", max_attempts: 2 });
    await store.fail(await claim(store), { note: "no\u0007 luck", backoffMs: 0 });
    await store.sweep();
    await store.fail(await claim(store), { note: "no luck" });
    await store.enqueue({ id: "c", type: "t" });
    await store.cancel("c");
    expect(await newsOf(store)).toEqual([
      "review,needs_you | a waits for your review",
      "done | a was approved",
      "failed,needs_you | b failed at attempt 2: no luck",
    ]);
    await store.close();
  });

  it("is a choke, and one that no other worker can take is a failure, too", async () => {
    const { store } = await newRun();
    const other = await store.register("v", {});
    await store.enqueue({ id: "a", type: "t", max_attempts: 20 });
    const choke = async (worker: string) => {
      for (let i = 0; i < 3; i++) {
        await store.fail(await claim(store, worker), {
          fingerprint: "f",
          note: "same",
          backoffMs: 0,
        });
        await store.sweep();
      }
    };
    const one = await store.register("w", {});
    await choke("w");
    expect(await newsOf(store)).toEqual([
      "choked | a choked: three times the same failure with w (same); given to another worker",
    ]);
    await choke("v");
    expect((await newsOf(store))[1]).toMatch(
      /^failed,choked,needs_you \| a failed at attempt 6: choked: .* no other worker is left/,
    );
    await other.release();
    await one.release();
    await store.close();
  });

  it("is no end that had no effect", () => {
    const ended = { at: AT, event: "ended", task: "a", token: "1", to: "failed" } as const;
    const voided = { at: AT, event: "void", task: "a", token: "1" } as const;
    expect(newsFromLedger([ended])).toHaveLength(1);
    expect(newsFromLedger([ended, voided])).toEqual([]);
  });

  it("is what became of a merge, once for a commit", () => {
    const line = (event: string, more = {}) =>
      ({ at: AT, event, task: "t.4", ...more }) as unknown as LedgerLine;
    const texts = newsFromLedger([
      line("landed", { commit: "0123456789abcdef", target: "main" }),
      line("conflict", { target: "main", note: "conflict with main in a" }),
      line("merge_red", { note: "red after its merge into main: exit 1" }),
      line("needs_you", { note: "conflict with main in a; it went back 2 times", commit: "c0" }),
      line("held", { note: "the tree of main is not clean" }),
      line("pr_opened", { url: "https://h/1" }),
    ]).map(({ fact, text }) => [fact, text]);
    expect(texts).toEqual([
      ["landed t.4 0123456789abcdef", "t.4 landed in main as 0123456789"],
      [`conflict t.4 ${AT}`, "t.4: conflict with main in a"],
      [`merge_red t.4 ${AT}`, "t.4: red after its merge into main: exit 1"],
      ["needs_you t.4 c0", "t.4 needs you: conflict with main in a; it went back 2 times"],
      [`held t.4 ${AT}`, "t.4 cannot land now: the tree of main is not clean"],
      ["pr_opened t.4 https://h/1", "t.4 has a pull request: https://h/1"],
    ]);
  });
});

it("is a schedule that could not fire, for those who ask what needs them", () => {
  const line = { at: AT, event: "schedule_failed", room: "fleet", schedule: "n", note: "no file" };
  expect(newsFromLedger([line as unknown as LedgerLine])).toMatchObject([
    { subject: "n", text: "schedule n could not fire: no file", also: ["needs_you"] },
  ]);
});

describe("a budget", () => {
  it("is news at 80 % and at its end, in the words of the budget itself", () => {
    const limits = { day: { usd: 20 }, run: { tokens: 1000 }, attempt: { usd: 100 } };
    const budget = new Budget(limits, {}, "2026-11-16");
    const verdicts = [
      ...budget.spend({ usd: 17, tokens: 100 }),
      ...budget.spend({ usd: 3, tokens: 900 }),
      ...budget.spend({ usd: 70, tokens: 0 }),
    ];
    const news = verdicts.flatMap(({ text }) => budgetNews(text, AT) ?? []);
    expect(verdicts.length).toBeGreaterThan(news.length); // the attempt's own is none
    expect(news.map(({ fact }) => fact)).toEqual([
      "budget_80 day $20.00 2026-11-16",
      "budget_used run 1,000 tokens 2026-11-16",
      "budget_used day $20.00 2026-11-16",
    ]);
  });

  it("is the same fact in each attempt that meets it", () => {
    const step = (text: string) =>
      ({ at: AT, event: "step", kind: "notice", task: "a", text }) as unknown as LedgerLine;
    const facts = newsFromLedger([
      step("82 % of the budget of this day are used: $16.40 of $20.00"),
      step("85 % of the budget of this day are used: $17.00 of $20.00"),
      step("something else"),
    ]).map(({ fact }) => fact);
    expect(facts).toEqual(Array(2).fill("budget_80 day $20.00 2026-11-16"));
  });
});
