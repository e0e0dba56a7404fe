import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { holds } from "../../../test/support/property.ts";
import type { Io } from "../../operation/io.ts";
import { termFor } from "../../operation/term.ts";
import { SLOTS } from "./busy-times.ts";
import { documentOf, PAGE, SCREEN } from "./report-document.ts";
import { htmlReport } from "./report-html.ts";
import { markdownReport } from "./report-markdown.ts";
import { NEEDS, type Report } from "./report-shape.ts";
import { terminalReport } from "./report-terminal.ts";

const COUNTS = {
  waiting: 0,
  pending: 0,
  claimed: 0,
  review: 0,
  done: 0,
  failed: 0,
  cancelled: 0,
  quarantined: 0,
};

const QUIET: Report = {
  ...{ run_id: "nightly", run_dir: "/work/nightly", run_words: "" },
  ...{ since: "2026-11-15T20:00:00.000Z", until: "2026-11-16T08:00:00.000Z" },
  ...{ counts: COUNTS, needs_you: [], cancelled: 0, outcomes: {}, notes: [] },
  done: { count: 0, proven: 0, unproven: [], by_hand: 0 },
  landed: { count: 0, targets: [], lost: [], waiting: 0 },
  cost: {
    ...{ usd: 0, unpriced_tokens: 0, tokens: 0, attempts: 0, unreadable: 0, usd_per_landed: null },
    ...{ budgets: [], reserved_usd: 0, crew_today_usd: null },
  },
  ...{ worked: [], slowest: [], dearest: [], retried: [], killed: [] },
};

const BUSY: Report = {
  ...QUIET,
  needs_you: [
    {
      kind: "review",
      subject: "t.4",
      text: "proven; Login",
      command: "viv approve t.4",
      count: 1,
      tasks: ["t.4"],
      blocks: 0,
      since: null,
    },
    {
      kind: "review",
      subject: "t.9",
      text: "not proven: nothing proves it",
      command: "viv show t.9",
      count: 1,
      tasks: ["t.9"],
      blocks: 0,
      since: null,
    },
    {
      kind: "failed",
      subject: "",
      text: "2,991 × exit 1: npm ERR!",
      command: "viv why t.1",
      count: 2991,
      tasks: ["t.1"],
      blocks: 0,
      since: null,
    },
  ],
  done: { count: 11, proven: 9, unproven: ["t.3", "t.8"], by_hand: 1 },
  landed: {
    count: 7,
    targets: [{ repository: "/app", target: "main", count: 7 }],
    lost: ["t.2"],
    waiting: 2,
  },
  outcomes: { done: 11, failed: 2993, timed_out: 1 },
  cost: {
    ...{
      usd: 1.65,
      unpriced_tokens: 0,
      tokens: 9,
      attempts: 12,
      unreadable: 0,
      usd_per_landed: 0.2357,
    },
    budgets: [{ of: "day", unit: "usd", spent: 1.65, limit: 20 }],
    ...{ reserved_usd: 0, crew_today_usd: 0.5 },
  },
  worked: [
    {
      ...{
        name: "w1",
        kind: "worker",
        from: "2026-11-15T20:04:00.000Z",
        to: "2026-11-16T05:31:00.000Z",
      },
      ...{
        tasks: 12,
        busy_ms: 22_320_000,
        slots: Array.from({ length: SLOTS }, (_, i) => i / SLOTS),
      },
    },
  ],
  slowest: [{ id: "t.7", type: "fix", state: "done", title: "Slow", ms: 4_800_000 }],
  killed: [
    {
      ...{
        target: "w3",
        at: "2026-11-16T03:12:00.000Z",
        why: "it was asked 3 times",
        tasks: ["t.5"],
        blocks: 0,
        since: null,
      },
      ...{ warrant: "w-1", receipt: "/w/dog.json", command: "viv epitaph w-1" },
    },
  ],
};

function screen(report: Report, columns: number): string {
  const stream = { isTTY: true, columns, write: () => {} };
  return terminalReport(report, termFor({ env: { NO_COLOR: "1" } } as unknown as Io, stream));
}

describe("a report on a terminal", () => {
  it("has what needs a person first, then done, cost and work", () => {
    expect(screen(BUSY, 80).split("\n")).toEqual([
      "nightly  /work/nightly",
      "12h since 2026-11-15 20:00 UTC",
      "waiting 0  pending 0  claimed 0  review 0  done 0  failed 0",
      "",
      "Needs you",
      "  review  t.4  proven; Login                  viv approve t.4",
      "  review  t.9  not proven: nothing proves it  viv show t.9",
      "  failed       2,991 × exit 1: npm ERR!       viv why t.1",
      "",
      "Done      11 done, 9 proven, 1 by hand; not proven: t.3, t.8",
      "Landed    7 landed: 7 in main; 2 branches have not: viv merge --all",
      "          no longer in the target: t.2",
      "Attempts  3,005 attempts ended: 2,993 failed, 11 done, 1 timed out",
      "Cost      $1.65 of $20.00 today, $1.65 in this period, $0.24 per landed task",
      "          the crew: $0.50 today",
      "Slowest   t.7 1h 20m",
      "",
      "Who worked when (UTC; a mark for each 30m)",
      "  w1  20:04–05:31  12 tasks  6h 12m  ·▁▁▂▂▂▃▃▃▄▄▄▅▅▅▆▆▆▇▇▇███",
      "",
      "Killed",
      "  03:12  w3  it was asked 3 times; had t.5  viv epitaph w-1",
    ]);
  });

  it("says that nothing needs you, that nothing was done and that no model worked", () => {
    expect(screen(QUIET, 80)).toBe(
      [
        ...["nightly  /work/nightly", "12h since 2026-11-15 20:00 UTC"],
        ...["waiting 0  pending 0  claimed 0  review 0  done 0  failed 0", ""],
        ...["Nothing needs you", "", "Done      nothing was done"],
        "Cost      no model has worked in this period",
      ].join("\n"),
    );
  });

  it("does not take unknown prices for nothing", () => {
    const cost = { ...QUIET.cost, attempts: 1, unpriced_tokens: 7500, tokens: 7500 };
    const text = screen({ ...QUIET, cost }, 80);
    expect(text).toContain("Cost      unknown in this period\n");
    expect(text).toContain("7,500 tokens without a price: their cost is not known");
    const landed = { ...BUSY.landed };
    const both = screen({ ...QUIET, landed, cost: { ...cost, usd: 2, usd_per_landed: 1 } }, 80);
    expect(both).toContain("$2.00+ in this period, $1.00+ per landed task");
    // What landed without a model has no price.
    const none = screen({ ...QUIET, landed, cost: { ...QUIET.cost, usd_per_landed: 0 } }, 80);
    expect(none).toMatch(/^Cost +no model has worked in this period$/m);
  });
});

const needOf = (kind: (typeof NEEDS)[number], subject: string, more = "") => ({
  ...{
    kind,
    subject,
    text: "a sentence",
    command: `viv why ${subject}${more}`,
    count: 1,
    tasks: [],
    blocks: 0,
    since: null,
  },
});

describe("where there is little room", () => {
  it("a kind with many entries keeps as many as fit, and the rest is one line", () => {
    const reviews = Array.from({ length: 20 }, (_, i) => needOf("review", `t.${i}`));
    const needs = documentOf(
      { ...QUIET, needs_you: [...reviews, needOf("account", "main")], run_words: " --run r" },
      SCREEN,
    ).needs;
    expect(needs.map(({ label, subject, command }) => `${label} ${subject} ${command}`)).toEqual([
      ...Array.from({ length: 10 }, (_, i) => `review t.${i} viv why t.${i}`),
      "review  viv ls --state review --run r",
      "account main viv why main",
    ]);
  });

  it("names and commands are whole, whatever their length", () => {
    const long = "refactor.the-payment-service-of-the-shop.2026-11-16";
    const run = " --run /a/long/path/to/a/run/somewhere/else";
    const report = {
      ...BUSY,
      needs_you: [needOf("review", long, run), needOf("failed", "t.1"), needOf("account", "m")],
      worked: [{ ...(BUSY.worked[0] as Report["worked"][number]), name: long }],
    };
    for (const columns of [120, 80, 60, 40]) {
      const lines = screen(report, columns).split("\n");
      for (const text of [long, `viv why ${long}${run}`, "viv why t.1", "viv epitaph w-1"]) {
        expect(
          lines.some((line) => line.includes(text)),
          `${text} at ${columns}`,
        ).toBe(true);
      }
    }
  });
});

/** Words as other people and programs write them; short, so that widths can be checked. */
const words = fc.oneof(
  fc.constantFrom(
    "<b>bold</b>",
    "<script>alert(1)</script>",
    '" onload="x',
    "a|b `c` *d* _e_ [f](g)",
  ),
  fc.constantFrom("写文档", "Überschrift", "\u001b[31mred", "two\nlines", "&amp;", "x".repeat(300)),
  fc.string({ maxLength: 30 }),
);
const name = fc.constantFrom("t.1", "t.22", "w-3", "moss", "main.2");
const share = fc.double({ min: 0, max: 1, noNaN: true });

const report: fc.Arbitrary<Report> = fc
  .record({
    needs: fc.array(
      fc.record({
        kind: fc.constantFrom(...NEEDS),
        subject: name,
        text: words,
        count: fc.nat(3000),
        blocks: fc.nat(30),
        since: fc.constant(null),
      }),
      { maxLength: 60 },
    ),
    workers: fc.array(
      fc.record({
        name,
        tasks: fc.nat(5000),
        slots: fc.array(share, { minLength: SLOTS, maxLength: SLOTS }),
      }),
      { maxLength: 12 },
    ),
    kills: fc.array(fc.record({ target: name, why: words, tasks: fc.array(name) }), {
      maxLength: 9,
    }),
    done: fc.nat(20_000),
    unproven: fc.array(name, { maxLength: 100 }),
    title: words,
    notes: fc.array(words, { maxLength: 1 }),
  })
  .map(({ needs, workers, kills, done, unproven, title, notes }) => ({
    ...BUSY,
    ...{ run_id: title, notes },
    needs_you: needs.map((one) => ({ ...one, command: `viv why ${one.subject}`, tasks: [] })),
    done: { count: done, proven: Math.max(0, done - unproven.length), unproven, by_hand: 0 },
    worked: workers.map((one) => ({ ...(BUSY.worked[0] as Report["worked"][number]), ...one })),
    killed: kills.map((one) => ({ ...(BUSY.killed[0] as Report["killed"][number]), ...one })),
  }));

describe("any report", () => {
  it("fits on one screen, and cuts no command", () => {
    holds(
      fc.property(report, fc.constantFrom(80, 60), (one, columns) => {
        const plainOne = { ...one, run_id: "nightly", notes: [] };
        const lines = screen(plainOne, columns).split("\n");
        expect(lines.length).toBeLessThanOrEqual(columns === 80 ? 40 : 48);
        for (const { command } of documentOf(plainOne, SCREEN).needs) {
          expect(lines.some((line) => line.includes(command ?? ""))).toBe(true);
        }
        for (const line of lines) expect([...line].length, line).toBeLessThanOrEqual(columns);
      }),
    );
  });

  it("names every kind that needs a person, however many there are of another", () => {
    holds(
      fc.property(report, (one) => {
        for (const room of [SCREEN, PAGE]) {
          const labels = new Set(
            documentOf(one, room).needs.map(({ label }) => label.replace(/ \+.*/, "")),
          );
          expect(labels).toEqual(new Set(one.needs_you.map(({ kind }) => kind)));
        }
      }),
    );
  });

  it("is a page whose tags are all ours, each closed, without script and without addresses", () => {
    holds(
      fc.property(report, (one) => {
        const page = htmlReport(one).replace(/<style>.*?<\/style>/s, "");
        const open: string[] = [];
        for (const [, slash, tag = ""] of page.matchAll(/<(\/?)([a-z!][a-z0-9]*)[^<>]*>/gi)) {
          expect(TAGS).toContain(tag.toLowerCase());
          if (["!doctype", "meta", "br"].includes(tag.toLowerCase())) continue;
          if (slash) expect(open.pop()).toBe(tag);
          else open.push(tag);
        }
        expect(open).toEqual([]);
        expect(page.replace(/<[^<>]*>/g, "")).not.toMatch(/[<>"]/);
        expect(page).not.toMatch(/ on\w+="|src=|href=|url\(/i);
      }),
      { numRuns: 40 },
    );
  });

  it("is Markdown in which words of others are words", () => {
    holds(
      fc.property(report, (one) => {
        const text = markdownReport(one).replace(/(`+)(?!`)[\s\S]*?[^`]\1(?!`)/g, "");
        expect(text).not.toMatch(/<[a-z/!]/i);
        expect(text).not.toMatch(/(?<!\\)\]\(/);
        const rows = text.split("\n").filter((line) => line.startsWith("|"));
        for (const row of rows) expect(row.match(/(?<!\\)\|/g)?.length).toBe(6);
      }),
    );
  });
});

const TAGS = [
  ...["!doctype", "html", "head", "meta", "title", "body", "div", "h1", "h2", "p", "br", "b"],
  ...["span", "table", "tr", "td", "code"],
];
