import { describe, expect, test } from "vitest";
import { type Crime, type Entry, judge, type Operation, type World } from "./referee.mjs";

/** Each crime in a tiny world of its own, and beside it what looks like it and is none. */

function world(more: Partial<Omit<World, "places">> & { places?: Record<string, string> } = {}) {
  const { places = {}, ...rest } = more;
  const list = Object.entries(places).map(([id, states]) => [
    id,
    states.split(" ").map((text) => {
      const [state = "", worker] = text.split("/");
      return worker ? { state, worker } : { state };
    }),
  ]) as [string, { state: string; worker?: string }[]][];
  const done = list.filter(([, all]) => all.some(({ state }) => state === "done"));
  return {
    places: new Map(list),
    marks: new Map(),
    tasks: new Map(),
    ledger: [],
    completed: done.map(([id]) => id),
    journal: [],
    operations: [],
    acknowledged: [],
    strikes: [],
    staleSeconds: 8,
    ...rest,
  } satisfies World;
}

const told = (crimes: Crime[]) => crimes.map(({ kind, id }) => `${kind}: ${id}`);

let counter = 0;
function operation(verb: string, more: Partial<Operation> = {}): Operation {
  counter++;
  return { n: counter, verb, begin: counter, end: counter + 0.5, status: 0, ...more };
}

const begin = (token: string, at: number, more: Partial<Entry> = {}): Entry => ({
  what: "begin",
  id: "t",
  token,
  at,
  pid: Number(token),
  attempt: 1,
  previous: null,
  kind: "work",
  worker: "w1",
  ...more,
});
const end = (token: string, at: number, exit = 0): Entry => ({
  what: "end",
  id: "t",
  token,
  at,
  pid: Number(token),
  exit,
});
const ended = (token: string, outcome: string, to: string) => ({
  event: "ended",
  task: "t",
  worker: "w1",
  token,
  outcome,
  to,
});

test("a world in which all went well has no crimes", () => {
  const quiet = world({
    places: { t: "done", u: "failed", v: "waiting" },
    tasks: new Map([["v", { depends_on: ["u"] }]]),
    ledger: [ended("1", "done", "done")],
    journal: [begin("1", 5), end("1", 6)],
    operations: [operation("enqueue", { enqueued: ["t"] })],
    acknowledged: [{ worker: "w1", id: "t", attempt: 1, outcome: "done", to: "done", at: 7 }],
  });
  expect(judge(quiet)).toEqual([]);
});

describe("lost", () => {
  test("an acknowledged task that is nowhere", () => {
    const operations = [operation("enqueue", { enqueued: ["t", "u"] })];
    expect(told(judge(world({ operations, places: { u: "failed" } })))).toEqual(["lost: t"]);
  });

  test("not one that was refused", () => {
    const operations = [operation("enqueue", { status: 5, code: "DISK_FULL", mark: "a/1" })];
    expect(judge(world({ operations }))).toEqual([]);
  });
});

test("two places", () => {
  expect(told(judge(world({ places: { t: "failed claimed/w1" } })))).toEqual(["two places: t"]);
});

describe("counted twice", () => {
  const twice = [ended("1", "done", "done"), ended("2", "done", "done")];

  test("two claims that ended as done, also with a cancel and a retry in between", () => {
    const decided = [
      { event: "ended", task: "t", token: "1", outcome: "cancelled", to: "failed" },
      { event: "retried", task: "t" },
    ];
    const places = { t: "done" };
    expect(told(judge(world({ places, ledger: twice })))).toEqual(["counted twice: t"]);
    const ledger = [twice[0] ?? {}, ...decided, twice[1] ?? {}];
    expect(told(judge(world({ places, ledger })))).toEqual(["counted twice: t"]);
  });

  test("not when the first was voided, came too late, or was sent back from review", () => {
    const places = { t: "done" };
    const voided = { event: "void", task: "t", token: "1", outcome: "done" };
    const [first = {}, second = {}] = twice;
    expect(judge(world({ places, ledger: [first, voided, second] }))).toEqual([]);
    const abandoned = ended("1", "abandoned", "pending");
    expect(judge(world({ places, ledger: [abandoned, second, first] }))).toEqual([]);
    const rejected = [
      ended("1", "done", "review"),
      { event: "rejected", task: "t", to: "pending" },
      ended("2", "done", "review"),
      { event: "approved", task: "t", to: "done" },
    ];
    expect(judge(world({ places, ledger: rejected }))).toEqual([]);
  });

  test("done again after it was approved", () => {
    const ledger = [
      ended("1", "done", "review"),
      { event: "approved", task: "t", to: "done" },
      ended("2", "done", "review"),
    ];
    expect(told(judge(world({ places: { t: "done" }, ledger })))).toEqual(["counted twice: t"]);
  });

  test("a list that has it twice, or not, or something else", () => {
    const places = { t: "done", u: "done", v: "failed" };
    expect(told(judge(world({ places, completed: ["t", "t", "v"] })))).toEqual([
      "counted twice: t",
      "counted twice: v",
      "counted twice: u",
    ]);
  });

  test("a handler that begins after the end was acknowledged", () => {
    const operations = [operation("complete", { id: "t", token: "1", to: "done", end: 10 })];
    const journal = [begin("1", 5), end("1", 6), begin("2", 12), end("2", 13)];
    const places = { t: "done" };
    expect(told(judge(world({ places, operations, journal })))).toContain("counted twice: t");
    const acknowledged = [
      { worker: "w1", id: "t", attempt: 1, outcome: "done", to: "done", at: 10 },
    ];
    expect(told(judge(world({ places, acknowledged, journal })))).toContain("counted twice: t");
  });

  test("an acknowledged end that did not stay; a review may have been rejected", () => {
    const complete = (to: string) => [operation("complete", { id: "t", token: "1", to })];
    const places = { t: "failed" };
    expect(told(judge(world({ places, operations: complete("done") })))).toEqual([
      "counted twice: t",
    ]);
    expect(judge(world({ places, operations: complete("review") }))).toEqual([]);
  });
});

describe("overlapping", () => {
  const places = { t: "done" };
  const overlaps = (journal: Entry[], operations: Operation[] = []) =>
    told(judge(world({ places, journal, operations }))).filter((text) => /overlap/.test(text));

  test("the first ends after the second began", () => {
    const journal = [begin("1", 1), begin("2", 2), end("1", 3), end("2", 4)];
    expect(overlaps(journal)).toEqual(["overlapping: t"]);
  });

  test("the second finds the first alive, and the first never ends", () => {
    const journal = [begin("1", 1), begin("2", 2, { previous: "1" }), end("2", 4)];
    expect(overlaps(journal)).toEqual(["overlapping: t"]);
  });

  test("not when the first was dead by then", () => {
    expect(overlaps([begin("1", 1), begin("2", 2), end("2", 4)])).toEqual([]);
    expect(overlaps([begin("1", 1), end("1", 2), begin("2", 3), end("2", 4)])).toEqual([]);
  });

  test("a lease may run out or be cancelled; before that it is an overlap", () => {
    const from = (at: number) => [
      begin("1", 1, { kind: "lease" }),
      begin("2", at),
      end("1", at + 1),
      end("2", at + 1),
    ];
    expect(overlaps(from(4))).toEqual(["overlapping: t"]);
    expect(overlaps(from(12))).toEqual([]);
    expect(overlaps(from(4), [operation("cancel", { id: "t" })])).toEqual([]);
  });
});

describe("refused after the commit", () => {
  test("an enqueue: without an id by its mark, with one by a look", () => {
    const no = { status: 5, code: "DISK_FULL" };
    const nameless = [operation("enqueue", { ...no, mark: "a/1" })];
    const marks = new Map([["a/1", ["t"]]]);
    const places = { t: "failed" };
    expect(told(judge(world({ places, marks, operations: nameless })))).toEqual(["refused: t"]);
    const named = (after: { state: string } | null) => [
      operation("enqueue", { ...no, id: "t", after }),
    ];
    expect(told(judge(world({ places, operations: named({ state: "pending" }) })))).toEqual([
      "refused: t",
    ]);
    expect(judge(world({ places, operations: named(null) }))).toEqual([]);
  });

  test("a killed client has no answer", () => {
    const operations = [operation("enqueue", { status: null, mark: "a/1" })];
    const marks = new Map([["a/1", ["t"]]]);
    expect(judge(world({ places: { t: "failed" }, operations, marks }))).toEqual([]);
  });

  test("not what an earlier, killed try has enqueued, nor what the answer says may still come", () => {
    const refused = {
      status: 5,
      code: "DISK_FULL",
      id: "t",
      who: "a",
      after: { state: "pending" },
    };
    const places = { t: "pending" };
    const killed = operation("enqueue", { id: "t", who: "a", status: null });
    const again = operation("enqueue", refused);
    expect(told(judge(world({ places, operations: [again] })))).toContain("refused: t");
    expect(told(judge(world({ places, operations: [killed, again] })))).not.toContain("refused: t");
    const honest = operation("enqueue", { ...refused, message: "A sweep may still enqueue it" });
    expect(told(judge(world({ places, operations: [honest] })))).not.toContain("refused: t");
  });

  const complete = (code: string, after: { state: string }) => [
    operation("complete", { id: "t", token: "1", status: 5, code, after }),
  ];

  test("a complete: it moved, and was told otherwise; CLAIM_LOST too", () => {
    const ledger = [ended("1", "done", "done")];
    for (const code of ["DISK_FULL", "CLAIM_LOST"]) {
      const operations = complete(code, { state: "done" });
      expect(told(judge(world({ places: { t: "done" }, ledger, operations })))).toEqual([
        "refused: t",
      ]);
    }
  });

  test("not when another claim did it, or nothing had moved yet", () => {
    const places = { t: "done" };
    const ledger = [ended("2", "done", "done")];
    const operations = complete("CLAIM_LOST", { state: "done" });
    expect(judge(world({ places, ledger, operations }))).toEqual([]);
    const early = complete("DISK_FULL", { state: "claimed" });
    expect(
      judge(world({ places, ledger: [ended("1", "done", "done")], operations: early })),
    ).toEqual([]);
  });

  test("a decision that was made in that person's name", () => {
    const operations = [
      operation("cancel", { id: "t", by: "p1", status: 70, code: "BUG" }),
      operation("retry", { id: "t", by: "p2", status: 5, code: "DISK_FULL" }),
      operation("retry", { id: "t", by: "p3", status: 4, code: "WRONG_STATE" }),
    ];
    const ledger = [
      { event: "cancelled", task: "t", by: "p1" },
      { event: "retried", task: "t", by: "p2" },
    ];
    expect(told(judge(world({ places: { t: "failed" }, operations, ledger })))).toEqual([
      "refused: t",
      "refused: t",
      "bug: t",
    ]);
  });

  test("not one that was taken back, nor an end that an earlier, killed try has made", () => {
    const places = { t: "done" };
    const cancelled = { ...ended("1", "cancelled", "failed"), by: "p1" };
    const taken = { event: "void", task: "t", token: "1", outcome: "cancelled" };
    const cancel = operation("cancel", { id: "t", by: "p1", status: 4, code: "WRONG_STATE" });
    const ledger = [cancelled, taken];
    expect(judge(world({ places, ledger, operations: [cancel] }))).toEqual([]);
    expect(told(judge(world({ places, ledger: [cancelled], operations: [cancel] })))).toEqual([
      "refused: t",
    ]);
    const killed = operation("complete", { id: "t", token: "1", status: null });
    const operations = [killed, ...complete("DISK_FAULT", { state: "done" })];
    expect(judge(world({ places, ledger: [ended("1", "done", "done")], operations }))).toEqual([]);
  });

  test("a worker that loses, or voids, the claim whose end counts", () => {
    const places = { t: "done" };
    const ledger = [
      { event: "claimed", task: "t", worker: "w1", token: "1", attempt: 1 },
      ended("1", "done", "done"),
    ];
    const lostIt = [{ worker: "w1", id: "t", attempt: 1, outcome: "lost", at: 9 }];
    expect(told(judge(world({ places, ledger, acknowledged: lostIt })))).toEqual(["refused: t"]);
    const voided = [
      ...ledger,
      { event: "void", task: "t", worker: "w1", token: "1", outcome: "done" },
    ];
    expect(told(judge(world({ places, ledger: voided })))).toEqual(["refused: t"]);
  });
});

describe("charged to the task", () => {
  const places = { t: "failed" };

  test.each(["failed", "unproven", "rate_limited", "released"])("%s after exit 0", (outcome) => {
    const journal = [begin("1", 1), end("1", 2)];
    const ledger = [ended("1", outcome, "failed")];
    expect(told(judge(world({ places, journal, ledger })))).toEqual(["charged: t"]);
  });

  test("failed without having begun", () => {
    const failed = ended("1", "failed", "failed");
    const ledger = [{ event: "claimed", task: "t", token: "1" }, failed];
    expect(told(judge(world({ places, ledger })))).toEqual(["charged: t"]);
    // Its claim had another token: the file was touched since.
    expect(judge(world({ places, ledger: [failed] }))).toEqual([]);
    expect(judge(world({ places, ledger: [ended("1", "rate_limited", "waiting")] }))).toEqual([]);
  });

  test("not what failed by itself, was unproven, was voided or was said by the client", () => {
    const ledger = [ended("1", "failed", "failed")];
    expect(judge(world({ places, ledger, journal: [begin("1", 1), end("1", 2, 3)] }))).toEqual([]);
    const unproven = [
      begin("1", 1),
      end("1", 2),
      { what: "proof" as const, id: "t", token: "1", exit: 1 },
    ];
    const late = [ended("1", "unproven", "failed")];
    expect(judge(world({ places, ledger: late, journal: unproven }))).toEqual([]);
    const finished = [begin("1", 1), end("1", 2)];
    const voided = [...ledger, { event: "void", task: "t", token: "1", outcome: "failed" }];
    expect(judge(world({ places, ledger: voided, journal: finished }))).toEqual([]);
    const operations = [operation("fail", { id: "t", token: "1" })];
    expect(judge(world({ places, ledger, journal: finished, operations }))).toEqual([]);
  });

  test("finished work that is done again, unless its worker was struck or a person asked for it", () => {
    const journal = [begin("1", 1), end("1", 2), begin("2", 3), end("2", 4)];
    const ledger = [ended("2", "done", "done")];
    const done = { t: "done" };
    expect(told(judge(world({ places: done, journal, ledger })))).toEqual(["charged: t"]);
    const strikes = [{ worker: "w1", what: "kill", at: 2.5 }];
    expect(judge(world({ places: done, journal, ledger, strikes }))).toEqual([]);
    const operations = [operation("retry", { id: "t" })];
    expect(judge(world({ places: done, journal, ledger, operations }))).toEqual([]);
  });
});

describe("the rest", () => {
  test("asleep: pending after the drain, or waiting for what is done", () => {
    const tasks = new Map([
      ["b", { depends_on: ["a"] }],
      ["c", { depends_on: ["f"] }],
    ]);
    const places = { a: "done", b: "waiting", c: "waiting", d: "pending", f: "failed" };
    expect(told(judge(world({ places, tasks })))).toEqual(["asleep: b", "asleep: d"]);
  });

  test("hung commands and bugs; doctor and a proof may say no", () => {
    const operations = [
      operation("cancel", { id: "t", status: null, hung: { wchan: "flock" } }),
      operation("claim", { status: 70, code: "BUG", message: "Error: EIO" }),
      operation("enqueue-library", { status: 1, message: "Uncaught" }),
      operation("doctor", { status: 1 }),
      operation("complete", { status: 1, outcome: "unproven" }),
      operation("claim", { status: 5, code: "DISK_FULL" }),
    ];
    expect(told(judge(world({ operations })))).toEqual(["hung: t", "bug: -", "bug: -"]);
  });
});
