import { expect, test } from "vitest";
import { NewsReader, pickNews } from "../../web/src/live/news.ts";
import {
  amount,
  clockMillis,
  count,
  counted,
  dollars,
  duration,
  moment,
  shellWord,
  took,
} from "../../web/src/parts/format.ts";
import { plain, titleOf } from "../../web/src/parts/plain.ts";
import {
  hasWord,
  toggleWord,
  valuesOf,
  withValues,
} from "../../web/src/views/board/filter-words.ts";

/** What the page writes: numbers, times, words of a filter. */

test("a duration has two units at most, one on cards", () => {
  const s = 1000;
  expect([48, 724, 18_720, 183_600].map((n) => duration(n * s))).toEqual([
    "48s",
    "12m 04s",
    "5h 12m",
    "2d 03h",
  ]);
  expect([48, 724, 18_720, 183_600].map((n) => duration(n * s, true))).toEqual([
    "48s",
    "12m",
    "5h",
    "2d",
  ]);
  expect(duration(-5)).toBe("0s");
  expect([took(240), took(3_140), took(38_200)]).toEqual(["240 ms", "3.1s", "38s"]);
});

test("dollars, counts and tokens have one form", () => {
  expect([dollars(41.857), dollars(0.1486, 3), dollars(-2), dollars(12_345.5)]).toEqual([
    "$41.86",
    "$0.149",
    "−$2.00",
    "$12,345.50",
  ]);
  expect([count(61_204), counted(1, "task"), counted(2, "task")]).toEqual([
    "61,204",
    "1 task",
    "2 tasks",
  ]);
  expect([amount(999), amount(148_200), amount(999_900), amount(48_200_000)]).toEqual([
    "999",
    "148k",
    "1.0M",
    "48M",
  ]);
});

test("a time of another day says the day", () => {
  const now = new Date(2026, 10, 18, 9, 0);
  expect(moment(new Date(2026, 10, 18, 7, 42), now)).toBe("07:42");
  expect(moment(new Date(2026, 10, 15, 22, 5), now)).toBe("Sun 15, 22:05");
  expect(clockMillis(new Date(2026, 10, 18, 7, 42, 18, 21))).toBe("07:42:18.021");
});

test("a word of a shell is quoted where it must be", () => {
  expect([shellWord("fix.204"), shellWord("it's"), shellWord("a b"), shellWord("$(x)")]).toEqual([
    "fix.204",
    "'it'\\''s'",
    "'a b'",
    "'$(x)'",
  ]);
});

test("overrides of direction and control characters are shown, not obeyed", () => {
  expect(plain("a\u202eb\u001b[31m\u0007\n")).toBe("a‹202E›b␛[31m‹0007›\n");
  expect(titleOf({ title: "  one\ntwo" })).toBe("one");
  expect(titleOf({ title: "", goal: "g" })).toBe("g");
  expect([titleOf(null), titleOf({ title: 3 })]).toEqual(["", ""]);
});

test("chips add and take away values of one word, and leave other words", () => {
  expect(toggleWord("money", "type", "fix")).toBe("type:fix money");
  expect(toggleWord("type:fix money", "type", "port")).toBe("type:fix,port money");
  expect(toggleWord("type:fix,port money", "type", "fix")).toBe("type:port money");
  expect(toggleWord("type:fix", "type", "fix")).toBe("");
  expect(hasWord("-type:fix", "type", "fix")).toBe(false);
  expect(valuesOf("worker:ada,bob is:choked", "worker")).toEqual(["ada", "bob"]);
  expect(withValues("worker:ada is:choked", "worker", [])).toBe("is:choked");
});

test("news: a kill, a recovery and a verdict are told; proven tasks do not push them out", () => {
  const reader = new NewsReader();
  const at = "2026-11-18T07:00:00Z";
  const line = (event: string, more: object) => ({ event, room: "queue", at, ...more });
  const lines = [
    line("ended", { task: "a", worker: "w1", outcome: "abandoned", to: "pending" }),
    line("claimed", { task: "a", worker: "w2" }),
    line("ended", { task: "a", worker: "w2", outcome: "done", proof: "passed", to: "done" }),
    line("landed", { task: "a", target: "main" }),
    { event: "executed", room: "warden", at, target: "agent-3" },
    ...["b", "c", "d"].map((task) => line("ended", { task, outcome: "done", proof: "passed" })),
  ];
  const news = lines.flatMap((one, at) => reader.read(one, String(at)) ?? []).reverse();
  expect(pickNews(news, 6).map(({ task, text }) => `${task} ${text}`)).toEqual([
    "d proven",
    "c proven",
    "null agent-3 did not answer, and was ended",
    "a landed in main",
    "a recovered by w2, and proven",
    "a went back: w1 is gone",
  ]);
  // A calm night has few kinds.
  expect(pickNews(news, 7).map(({ task }) => task)).toEqual(["d", "c", "b", null, "a", "a", "a"]);
  const review = line("ended", { task: "e", outcome: "done", proof: "passed", to: "review" });
  expect(reader.read(review, "9")).toMatchObject({
    ...{ tone: "review", text: "went to review, proven" },
  });
});
