import { describe, expect, it } from "vitest";
import { ledgerShow } from "../../src/overview/ledger/operations.ts";
import { rateBars } from "../../web/src/views/wire/rate.ts";
import { fits, historyQuery, parseWords, wireLine } from "../../web/src/views/wire/wire-line.ts";

const at = "2026-11-18T07:42:18.621Z";
const ended = { at, event: "ended", task: "fix.1", worker: "ada", type: "fix" };
const unproven = { ...ended, outcome: "unproven", from: "claimed", to: "waiting", note: "exit 1" };

describe("a line of the wire", () => {
  it("is called by its outcome, and has the move and the note", () => {
    const line = wireLine(unproven, "1");
    expect(line).toMatchObject({ word: "unproven", tone: "failed", subject: "fix.1", who: "ada" });
    expect(line).toMatchObject({ move: "claimed → waiting", text: "exit 1", isTask: true });
    const review = wireLine({ ...ended, outcome: "done", from: "claimed", to: "review" }, "2");
    expect(review).toMatchObject({ word: "review", tone: "review" });
  });

  it("says the step, the usage and its cost", () => {
    const step = { at, event: "step", task: "a", tool: "Edit", target: "b.ts", usd: 0.01 };
    expect(wireLine(step, "1")).toMatchObject({ text: "Edit b.ts", cost: "$0.010", isQuiet: true });
    const models = [{ model: "opus", input: 1000, cache_read: 87_000, output: 10_000 }];
    const usage = wireLine({ at, event: "usage", task: "a", models }, "2");
    expect(usage.text).toBe("opus  88k in, 10k out");
  });

  it("names the part of viv up that started or ended", () => {
    const started = { at, room: "fleet", event: "part_started", agent: "up", part: "audit-1" };
    expect(wireLine(started, "1")).toMatchObject({ subject: "audit-1", who: "up" });
  });

  it("shows what a hostile line says, and breaks at nothing", () => {
    const hostile = { at: 7, event: ["x"], task: { a: 1 }, note: "\u001b[31m<b>\u202e", usd: "1" };
    const line = wireLine(hostile as never, "1");
    expect(line.text).toBe("␛[31m<b>‹202E›");
    expect(line).toMatchObject({ word: "?", isTask: false, cost: "" });
  });

  it("is filtered by words of the address", () => {
    const line = wireLine(unproven, "1");
    const isIn = (words: string) => fits(line, parseWords(words));
    expect(
      ["task:fix.1", "who:ada,bob", "event:unproven", "event:ended", "EXIT"].map(isIn),
    ).toEqual(new Array(5).fill(true));
    expect(["task:fix", "who:bob", "event:done", "type:port", "exit 2"].map(isIn)).toEqual(
      new Array(5).fill(false),
    );
    expect(historyQuery(parseWords("event:unproven,landed who:ada late"))).toEqual({
      ...{ events: "ended,landed", agents: "ada" },
    });
    const all = historyQuery(parseWords("room:crew event:x who:a task:t type:u"));
    expect(Object.keys(ledgerShow.input.shape)).toEqual(expect.arrayContaining(Object.keys(all)));
  });
});

it("counts events per minute, as far back as lines are known", () => {
  const minute = Math.floor(Date.parse(at) / 60_000);
  const lines = [wireLine(unproven, "1"), wireLine({ ...ended, outcome: "done" }, "2")];
  const { counts, most, bad } = rateBars(lines, minute + 1);
  expect([counts.length, counts.at(-2), most]).toEqual([20, 2, 2]);
  expect(bad).not.toBe("");
});
